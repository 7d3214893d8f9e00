"""Ids of a dataset come from a table; features name their rows by the same column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.encoders.measured import read_content
from core.encoders.requests import ImportRequest
from core.stimuli.table import read_table

X = np.random.default_rng(0).normal(size=(4, 3))
IDS, NUMBERS = ["b.png", "a.png", "d.png", "c.png"], [7, 3, 21, 11]
FRAME = pd.DataFrame(X, columns=["f0", "f1", "f2"])


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
    ],
)
def test_ids_of_a_dataset_are_those_of_features(tmp_path, name, write, ids) -> None:
    write(tmp_path / name)
    found = [str(row["id"]) for row in read_table(tmp_path / name, wanted=("id",)).rows]
    assert found == [*map(str, ids)]
    content = read_content(ImportRequest(f"{tmp_path / name}", "d", "n", "vision"), found)
    assert content.layers[0] == pytest.approx(X, abs=1e-6)


@pytest.mark.parametrize(
    ("columns", "ids"),
    [
        ({"name": ["a", "b"], "id": [1, 2]}, ["1", "2"]),
        ({"name": ["a", "a"], "key": [1, 2]}, ["1", "2"]),
        ({"number": [0, 1], "key": ["x", "y"]}, ["x", "y"]),
        ({"word": ["lion", "cat"]}, ["lion", "cat"]),
    ],
)
def test_what_names_rows(tmp_path, columns, ids) -> None:
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    rows = read_table(tmp_path / "t.csv", wanted=("id",)).rows
    assert [row["id"] for row in rows] == ids
