"""A title changes what is shown and nothing else; a deletion takes what depends on it alone."""

from __future__ import annotations

import errno
import os
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from store_fakes import CountedDataset, CountingEncoder

from core.embedding.runner import embed
from core.errors import (
    InputError,
    StoreBusyError,
    StoreWriteError,
    UnknownNameError,
)
from core.store import (
    Store,
    View,
    add_dataset,
    carry_out,
    delete_results,
    locked,
    plan_dataset_deletion,
    plan_model_deletion,
    rename_dataset,
    rename_model,
    write_result,
)
from core.store.editing import results_over
from core.study.study import Study


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of three models, one at two caption levels, their neighbors and an answer."""
    root, dataset = tmp_path_factory.mktemp("store"), CountedDataset()
    plain, tuned = (CountingEncoder(name=name, weights=name) for name in ("plain", "tuned"))
    embed(root, dataset, plain)
    embed(root, dataset, plain, level="5")
    embed(root, dataset, tuned)
    embed(root, dataset, CountingEncoder(name="other", weights="w3"), name="other")
    study = Study(Store(root), "counted")
    for model in ("plain", "tuned"):
        study.neighbors(model)
    for name, about in (("answer-1", ["plain~5", "other"]), ("answer-2", ["other"])):
        table, recipe = pd.DataFrame({"score": [1.0]}), study.recipe("models pairs", about)
        write_result(root, dataset=dataset.card, name=name, table=table, recipe=recipe)
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*.*") if path.is_file()}


def test_a_title_is_shown_at_once_and_changes_no_recipe(root: Path) -> None:
    store, before = Store(root), Store(root).digest("counted")
    recipe = Study(store, "counted").recipe("models pairs", ["plain"])
    space = store.space("counted", "plain", 0).copy()
    rename_dataset(root, "counted", "Größe & 大")
    assert store.digest("counted") != before  # what pages hold is made again
    named = store.digest("counted")
    rename_model(root, "counted", "plain", "The <first>")
    assert store.digest("counted") != named
    assert store.dataset("counted").title == "Größe & 大"
    titles = {entry.card.name: entry.card.title for entry in store.embeddings("counted")}
    assert titles == {
        "plain": "The <first>",
        "plain~5": "The <first>",
        "tuned": "Counting",
        "other": "Counting",
    }
    assert Study(store, "counted").recipe("models pairs", ["plain"]) == recipe
    np.testing.assert_array_equal(store.space("counted", "plain", 0), space)
    add_dataset(root, CountedDataset())  # the same, which keeps its title
    assert store.dataset("counted").title == "Größe & 大"


@pytest.mark.parametrize("title", ["", " a", "two\nlines", "x" * 81, "\u202egnp.a"])
def test_a_title_is_one_short_line(root: Path, title: str) -> None:
    with pytest.raises(InputError, match="has 1 to 80 characters on one line, not"):
        rename_model(root, "counted", "plain", title)


def test_what_is_not_there_has_no_title(root: Path) -> None:
    with pytest.raises(UnknownNameError, match="no model named 'plane'; did you mean plain"):
        rename_model(root, "counted", "plane", "A plane")
    with pytest.raises(UnknownNameError, match="no dataset named 'cave'"):
        rename_dataset(root, "cave", "A cave")


def test_a_model_goes_with_all_that_depends_on_it_and_nothing_else(root: Path) -> None:
    plan, before = plan_model_deletion(root, "counted", "plain"), files(root)
    assert plan.goes == (
        "its embeddings at other caption levels (plain~5)",
        "kept answers (1)",
        "neighbors (1)",
    )
    assert plan.size == sum(path.stat().st_size for path in plan.files)
    assert files(root) == before  # nothing yet
    carry_out(root, plan)
    assert before - files(root) == {
        "embeddings/counted/plain.duckdb",
        "embeddings/counted/plain~5.duckdb",
        "results/counted/answer-1.parquet",
        "results/counted/neighbors-plain.parquet",
    }
    assert files(root) - before == set()
    assert [entry.card.name for entry in Store(root).models("counted")] == ["other", "tuned"]
    with pytest.raises(UnknownNameError):
        plan_model_deletion(root, "counted", "plain")


def test_one_caption_level_of_a_model_can_go_alone(root: Path) -> None:
    carry_out(root, plan_model_deletion(root, "counted", "plain~5"))
    assert [entry.card.name for entry in Store(root).embeddings("counted")] == [
        "other",
        "plain",
        "tuned",
    ]
    assert "results/counted/answer-1.parquet" not in files(root)
    assert "results/counted/neighbors-plain.parquet" in files(root)


def test_a_dataset_goes_with_all_that_was_made_over_it(root: Path) -> None:
    (root / "embeddings" / "counted" / "half.parts").mkdir()
    damaged = root / "results" / "counted" / "answer-3.parquet"
    damaged.write_text("no database")
    plan = plan_dataset_deletion(root, "counted")
    assert plan.goes == (
        "embeddings (4)",
        "kept answers (2)",
        "neighbors (2)",
        "results that cannot be used (1)",
    )
    carry_out(root, plan)
    assert files(root) == set()
    assert Store(root).datasets() == []
    assert Store(root).problems() == []
    assert not (root / "embeddings" / "counted").exists()


@pytest.mark.parametrize(
    "plan_deletion", [plan_dataset_deletion, partial(plan_model_deletion, model="plain")]
)
def test_a_deletion_that_was_cut_short_is_repeated(
    root: Path, monkeypatch: pytest.MonkeyPatch, plan_deletion
) -> None:
    """What is deleted goes last: as long as it is there, the same command does the rest."""
    removed, unlink = list[str](), Path.unlink

    def stop_after_one(path: Path, **options: bool) -> None:
        if path.suffix == ".duckdb" and ".new" not in path.name:
            if removed:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            removed.append(path.name)
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", stop_after_one)
    with pytest.raises(StoreWriteError, match="is read-only; choose another store"):
        carry_out(root, plan_deletion(root, "counted"))
    monkeypatch.undo()
    carry_out(root, plan_deletion(root, "counted"))
    assert Store(root).problems() == []


def test_further_captions_stand_for_no_model_that_is_damaged(root: Path) -> None:
    def names() -> set[str]:
        return {entry.card.name for entry in Store(root).models("counted")}

    file = root / "embeddings" / "counted" / "plain.duckdb"
    file.write_bytes(file.read_bytes()[:3000])
    assert names() & {"plain", "plain~5"} == set()
    damaged = View(root).current("models:counted")
    file.unlink()
    assert "plain~5" in names()
    assert View(root).current("models:counted") != damaged  # else an answer would be stale


@pytest.mark.parametrize("name", ["plain", "plain~5", "plain~new"])
def test_what_is_being_written_is_not_deleted(root: Path, name: str) -> None:
    before = files(root)
    for plan in (
        plan_model_deletion(root, "counted", "plain"),
        plan_dataset_deletion(root, "counted"),
    ):
        with (
            locked(root / "embeddings" / "counted" / f"{name}.duckdb"),
            pytest.raises(StoreBusyError, match="writ"),
        ):
            carry_out(root, plan)
    assert files(root) == before


def test_what_is_being_written_of_others_hinders_no_deletion(root: Path) -> None:
    with locked(root / "embeddings" / "counted" / "tuned.duckdb"):
        carry_out(root, plan_model_deletion(root, "counted", "plain"))
    with locked(root / "datasets" / "large.duckdb"):  # which takes an hour to be added
        carry_out(root, plan_dataset_deletion(root, "counted"))
    assert Store(root).datasets() == []


def test_what_came_since_a_person_looked_goes_too(root: Path) -> None:
    plan = plan_model_deletion(root, "counted", "plain")
    study = Study(Store(root), "counted")
    table, recipe = pd.DataFrame({"score": [1.0]}), study.recipe("models pairs", ["plain"])
    write_result(root, dataset=study.dataset, name="answer-9", table=table, recipe=recipe)
    carry_out(root, plan)
    assert "results/counted/answer-9.parquet" not in files(root)
    with pytest.raises(UnknownNameError, match="no model named 'plain'"):
        carry_out(root, plan)


def test_results_go_by_name(root: Path) -> None:
    results = {one.name: one for one in results_over(root, "counted")}
    assert delete_results(root, "counted", ["answer-2"]) == results["answer-2"].size
    assert {one.name for one in results_over(root, "counted")} == set(results) - {"answer-2"}
    with pytest.raises(UnknownNameError, match="no result named 'answer-2'; did you mean answer-1"):
        delete_results(root, "counted", ["answer-1", "answer-2"])
    assert "results/counted/answer-1.parquet" in files(root)
    (root / "results" / "counted" / "answer-1.parquet").write_text("no database")
    delete_results(root, "counted", ["answer-1"])
    assert "results/counted/answer-1.parquet" not in files(root)
