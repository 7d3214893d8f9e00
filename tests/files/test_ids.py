"""A dataset of ids and features of the same file agree on what names its rows."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from core.encoders.measured import read_content
from core.encoders.requests import ImportRequest
from core.files.ids import id_line
from core.stimuli.folder import read_ids

X = np.random.default_rng(0).normal(size=(4, 3))
IDS, NUMBERS = ["b.png", "a.png", "d.png", "c.png"], [7, 3, 21, 11]
FRAME = pd.DataFrame(X, columns=["f0", "f1", "f2"])


def h5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.update({"x": X, "image_names": np.array(IDS, "S")})


@pytest.mark.parametrize(
    ("name", "write", "ids"),
    [
        ("index.parquet", FRAME.set_axis(IDS).to_parquet, IDS),
        ("named.parquet", FRAME.set_axis(pd.Index(IDS, name="pic")).to_parquet, IDS),
        ("numbers.parquet", FRAME.set_axis(NUMBERS).to_parquet, NUMBERS),
        ("path.parquet", FRAME.assign(image_path=IDS).to_parquet, IDS),
        ("index.csv", FRAME.set_axis(IDS).to_csv, IDS),
        ("numbers.csv", FRAME.set_axis(NUMBERS).to_csv, NUMBERS),
        ("x.csv", lambda path: FRAME.assign(nsdId=NUMBERS).to_csv(path, index=False), NUMBERS),
        ("x.npz", lambda path: np.savez(path, feats=X, image_ids=IDS), IDS),
        ("n.npz", lambda path: np.savez(path, feats=X, image_ids=np.array(NUMBERS)), NUMBERS),
        ("x.h5", h5, IDS),
        ("plain.npz", lambda path: np.savez(path, feats=X), range(4)),
        ("plain.csv", lambda path: FRAME.to_csv(path, index=False), range(4)),
    ],
)
def test_ids_of_a_dataset_are_those_of_features(tmp_path, name, write, ids) -> None:
    write(tmp_path / name)
    found = [str(row["id"]) for row in read_ids(tmp_path / name).rows]
    assert found == [*map(str, ids)]
    content = read_content(ImportRequest(f"{tmp_path / name}", "d", "n", "vision"), found)
    assert content.layers[0] == pytest.approx(X, abs=1e-6)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ({"label": ["a", "b"], "id": [1, 2]}, "id"),
        ({"name": ["a", "a"], "id": [1, 2]}, "id"),
        ({"id": [0, 1], "image": ["x", "y"], "__index_level_0__": ["p", "q"]}, "image"),
        ({"__index_level_0__": ["p", "q"], "x": [0.5, 1]}, "__index_level_0__"),
        ({"word": ["lion", "cat"]}, "word"),
        ({"f0": [0.5, 1.5]}, None),
        ({"channel_descriptors/name": ["a", "b"], "x": [1, 2]}, None),
    ],
)
def test_what_names_rows(lines, name) -> None:
    assert id_line(lines) == name
