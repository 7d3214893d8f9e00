"""Rows are matched to stimuli by id, layers keep their order and names, in all kinds of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from core.encoders.measured.content import Content, read_content
from core.encoders.requests import ImportRequest
from core.encoders.rows import rows_of
from core.errors import FeatureError

N, D = 8, 5
STIMULI = [f"photos/{place:03d}.jpg" for place in range(N)]
RIGHT = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
ORDER = np.random.default_rng(1).permutation(N)
MIXED, IDS = RIGHT[ORDER], [STIMULI[row] for row in ORDER]
DIMS = [f"f{dim}" for dim in range(D)]
FRAME = pd.DataFrame(MIXED, columns=DIMS)
LISTS = pd.DataFrame({"image": IDS, "embedding": list(MIXED)})

Write = Callable[[Path], object]
TABLES: dict[str, tuple[str, Write]] = {
    "index of texts": (".parquet", FRAME.set_axis(IDS).to_parquet),
    "index of places": (".parquet", FRAME.set_axis(ORDER).to_parquet),
    "index with a name": (".parquet", FRAME.set_axis(ORDER).rename_axis("row").to_parquet),
    "column of texts": (".parquet", FRAME.assign(image=IDS).to_parquet),
    "column of numbers": (".parquet", FRAME.assign(id=ORDER).to_parquet),
    "stems": (".parquet", FRAME.assign(file=[f"{row:03d}" for row in ORDER]).to_parquet),
    "ids without zeros": (".parquet", FRAME.assign(id=[f"{row}" for row in ORDER]).to_parquet),
    "a column of lists": (".parquet", LISTS.to_parquet),
    "labels, too": (".parquet", FRAME.assign(id=IDS, label=7 * ORDER).to_parquet),
    "csv": (".csv", lambda path: FRAME.assign(image=IDS).to_csv(path, index=False)),
    "csv with an index": (".csv", FRAME.set_axis(IDS).to_csv),
    "csv of Excel": (".csv", lambda path: FRAME.assign(id=IDS).to_csv(path, sep=";", index=False)),
    "tsv": (".tsv", lambda path: FRAME.assign(id=IDS).to_csv(path, sep="\t", index=False)),
    "npz": (".npz", lambda path: np.savez(path, feats=MIXED, ids=np.array(IDS))),
    "npz of bytes": (".npz", lambda path: np.savez(path, a=MIXED, ids=np.array(IDS, "S"))),
    "npz and labels": (".npz", lambda path: np.savez(path, x=MIXED, stimuli=IDS, labels=ORDER)),
    "pt": (".pt", lambda path: torch.save({"x": torch.from_numpy(MIXED), "ids": IDS}, path)),
    "pth of arrays": (".pth", lambda path: torch.save({"x": MIXED, "id": ORDER, "n": 3}, path)),
    "nested": (".pt", lambda path: torch.save({"m": {"x": torch.tensor(MIXED)}, "ids": IDS}, path)),
}


def opened(path: Path, **how: object) -> Content:
    return read_content(ImportRequest(f"{path}", "d", "n", "vision", **how), STIMULI)


@pytest.mark.parametrize("name", TABLES)
def test_rows_come_into_the_dataset_s_order(tmp_path: Path, name: str) -> None:
    ending, write = TABLES[name]
    write(path := tmp_path / f"x{ending}")
    (layer,) = opened(path).layers
    assert layer == pytest.approx(RIGHT, abs=1e-6)


def test_ids_that_do_not_fit_are_named_and_rows_of_no_stimulus_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    FRAME.assign(id=[*IDS[:-1], "other.jpg"]).to_parquet(path)
    with pytest.raises(FeatureError, match=rf"1 stimuli have no row \({IDS[-1]}\); 1 rows are of"):
        opened(path)
    FRAME.assign(id=[*IDS[:-1], IDS[0]]).to_parquet(path)
    with pytest.raises(FeatureError, match="1 ids name several rows"):
        opened(path)
    more = pd.concat([FRAME.assign(id=IDS), FRAME[:1].assign(id="other.jpg")])
    more.to_parquet(path, index=False)
    content = opened(path)
    assert content.layers[0] == pytest.approx(RIGHT)
    assert "1 rows of no stimulus" in content.notes[1]


def test_a_person_names_ids_features_and_what_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    FRAME.assign(which=IDS, id=0.5, more=1.0).to_parquet(path)
    (layer,) = opened(path, id_column="which", feature_column=("f3", "f0")).layers
    assert layer == pytest.approx(RIGHT[:, [3, 0]])
    (layer,) = opened(path, id_column="which", drop=("id", "more")).layers
    assert layer == pytest.approx(RIGHT)
    for name, written in (("index", FRAME.set_axis(IDS)), ("image", FRAME.assign(image=IDS))):
        written.to_parquet(path)
        assert opened(path).notes == (f"Rows are matched to stimuli by {name}.",)
        assert opened(path, drop=(name,)).layers[0] == pytest.approx(MIXED)
    FRAME.assign(which=IDS).to_parquet(path)
    with pytest.raises(FeatureError, match="has no column 'gone'; it has 'f0'"):
        opened(path, id_column="gone")


@pytest.mark.parametrize("kind", ["npz", "pt"])
def test_layers_keep_the_order_and_names_of_the_file(tmp_path: Path, kind: str) -> None:
    names = ("conv1", "layer1", "layer10", "layer4", "avgpool", "fc")
    arrays = {name: np.full((N, 2), place, np.float32) for place, name in enumerate(names)}
    path = tmp_path / f"x.{kind}"
    np.savez(path, **arrays) if kind == "npz" else torch.save(arrays, path)
    content = opened(path)
    assert content.names == names
    assert [layer[0, 0] for layer in content.layers] == list(range(len(names)))
    assert opened(path, feature_column=("fc", "conv1")).names == ("fc", "conv1")


def test_rows_and_batches_in_a_list_are_one_layer(tmp_path: Path) -> None:
    for parts in (list(torch.from_numpy(RIGHT)), [*torch.from_numpy(RIGHT).split(3)]):
        torch.save(parts, tmp_path / "x.pt")
        (layer,) = opened(tmp_path / "x.pt").layers
        assert layer == pytest.approx(RIGHT)


@pytest.mark.parametrize(("scale", "offset"), [(1, 1e8), (1e-60, 0), (1e200, 0)])
def test_wide_numbers_keep_their_geometry(tmp_path: Path, scale: float, offset: float) -> None:
    wide = np.random.default_rng(2).normal(size=(N, D))
    np.save(tmp_path / "x.npy", wide * scale + offset)
    content = opened(tmp_path / "x.npy")
    (layer,) = content.layers
    assert ("centered" if offset else "rescaled") in content.notes[1]
    kept, true = (space - space.mean(0) for space in (layer.astype(float), wide))
    assert np.corrcoef(kept.ravel(), true.ravel())[0, 1] == pytest.approx(1, abs=1e-9)
    near = np.random.default_rng(3).normal(size=(N, D)) + 2
    np.save(tmp_path / "y.npy", near)  # in float32's range: as it is
    assert opened(tmp_path / "y.npy").layers[0] == pytest.approx(near.astype(np.float32))


def test_the_strictest_way_of_naming_that_fits_best_counts() -> None:
    folders = ["a/1.png", "b/1.png", "b/2.png"]
    rows, _ = rows_of(["b/2.png", "a/1.png", "b/1.png"], folders, file="f", by="id")
    assert rows.tolist() == [1, 2, 0]
    rows, strange = rows_of(["2", "0", "1", "9"], ["x", "y", "z"], file="f", by="id")
    assert rows.tolist() == [1, 2, 0]
    assert strange == ["9"]
