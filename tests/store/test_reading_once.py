"""Small tables are read once for as long as their file stays the same."""

from pathlib import Path

import pandas as pd
import pytest
from store_fakes import CountedDataset

from core.errors import StoreError
from core.recipe import Recipe
from core.store import Store, add_dataset, files, write_result

RECIPE = Recipe.of("near", k=3)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the paths of the tables that are read from the disk."""
    paths, query = [], files._read
    files._read_once.cache_clear()
    monkeypatch.setattr(files, "_read", lambda path, text: paths.append(path) or query(path, text))
    return paths


def keep(root: Path, values: list[float]) -> Store:
    card = CountedDataset().card
    write_result(root, dataset=card, name="near", table=pd.DataFrame({"v": values}), recipe=RECIPE)
    return Store(root)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    add_dataset(tmp_path, CountedDataset())
    return keep(tmp_path, [1.0, 2.0])


def test_a_table_is_read_once_until_its_file_is_another(store, counted):
    for _ in range(3):
        assert store.result("counted", "near")[0]["v"].tolist() == [1.0, 2.0]
    assert len(counted) == 1
    assert keep(store.root, [3.0]).result("counted", "near")[0]["v"].tolist() == [3.0]
    assert len(counted) == 2


def test_what_is_done_to_a_table_stays_with_who_did_it(store, counted):
    mine = store.result("counted", "near")[0]
    mine.loc[0, "v"] = 9.0
    mine["w"] = 0
    theirs = store.result("counted", "near")[0]
    assert theirs.columns.tolist() == ["v"]
    assert theirs["v"].tolist() == [1.0, 2.0]
    assert len(counted) == 1


def test_a_large_file_is_read_each_time(store, counted, monkeypatch):
    monkeypatch.setattr(files, "SMALL", 100)
    store.result("counted", "near"), store.result("counted", "near")
    assert len(counted) == 2


def test_a_table_that_was_removed_is_said_to_be(store):
    path = store.root / "results" / "counted" / "near.parquet"
    path.unlink()
    with pytest.raises(StoreError, match="was removed while it was read; list the store again"):
        files.read_frame(path, "result")
