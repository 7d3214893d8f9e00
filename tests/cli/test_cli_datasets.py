"""`platoscope dataset list` names every level that a model can be made to read."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from store_fakes import CountedDataset

from core.cli import main
from core.recipe import Recipe
from core.store import Store, add_dataset, write_result
from core.store.schema import SUMMARY, VERSIONS
from tests.cli.photos import paint_photos


def test_written_levels_are_listed_behind_the_dataset_s_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = CountedDataset(3)
    add_dataset(tmp_path, dataset)
    table = pd.DataFrame({"index": range(3), "level": "7-by-clerk", "text": "short"})
    write_result(
        tmp_path,
        dataset=dataset.card,
        name=f"{SUMMARY}7-by-clerk",
        table=table,
        recipe=Recipe.of("captions", version=VERSIONS["captions"]),
    )
    assert main(["dataset", "list", "--json", "--store", str(tmp_path)]) == 0
    assert [row["levels"] for row in json.loads(capsys.readouterr().out)] == [
        " ".join([*dataset.card.levels, "7-by-clerk"])
    ]


def test_a_dataset_is_added_under_a_title(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    paint_photos(photos, 2)
    (photos / "captions.csv").write_text("image,caption\n0.png,one\n1.png,two\n")
    store = ["--store", str(tmp_path / "store")]
    words = ["dataset", "add", "p", "--folder", str(photos), *store]
    assert main([*words, "--title", "My *pictures*"]) == 0
    assert Store(tmp_path / "store").dataset("p").title == "My *pictures*"
    assert main(words) == 0
    assert Store(tmp_path / "store").dataset("p").title == "My *pictures*"


def test_the_only_dataset_is_meant_where_none_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path)]
    add_dataset(tmp_path, CountedDataset(3))
    for words in (["stimuli", "list", "--json", *store], [*store, "stimuli", "list", "--json"]):
        assert main(words) == 0
        assert len(json.loads(capsys.readouterr().out)) == 3
    (tmp_path / "ids.txt").write_text("a\nb\n")
    assert main(["dataset", "add", "mine", "--ids", str(tmp_path / "ids.txt"), *store]) == 0
    assert main(["stimuli", "list", *store]) == 2
    assert "2 datasets; name one: --dataset counted | mine" in capsys.readouterr().err
