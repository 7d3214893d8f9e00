"""What an older version made is left out with a sentence and made again; no source file is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from store_fakes import CountedDataset, CountingEncoder

from core.competence.records import (
    keep_rows,
    kept_rows,
    measured_elsewhere,
    measured_name,
    result_name,
    row,
    suite_recipe,
    unmeasured,
)
from core.embedding.features import embed_world, import_features
from core.embedding.runner import embed
from core.embedding.summaries import summarize
from core.encoders.measured import Content
from core.recipe import Recipe
from core.spaces.neighbors import VERSION as NEIGHBORS
from core.store import Store, write_result
from core.store.schema import VERSIONS
from core.study.study import Study
from tests.embedding.test_summaries import Clerk

N = 12
KINDS = {"texts": "bits per byte", "probes": "probe"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a store that holds a dataset and one thing of every producer."""
    encoder = CountingEncoder()
    embed(tmp_path, CountedDataset(N), encoder)
    embed_world(tmp_path, CountedDataset(N))
    given = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    import_features(
        tmp_path, CountedDataset(N).card, Content([given]), name="foreign", modality="vision"
    )
    summarize(tmp_path, "counted", Clerk(), words=7)
    store = Store(tmp_path)
    entry = store.model("counted", "counting")
    Study(store, "counted").neighbors("counting")
    write_result(
        tmp_path,
        dataset=store.dataset("counted"),
        name=result_name("counting"),
        table=pd.DataFrame({"value": [0.5]}),
        recipe=suite_recipe(entry),
    )
    for short, kind in KINDS.items():
        recipe, name = measured_recipe(kind), measured_name(short, "counting")
        rows = [row(f"task of {short}", "own", unit="%", split="test", value=0.5)]
        keep_rows(store, "counted", name, entry, recipe, rows)
    return tmp_path


def measured_recipe(kind: str) -> Recipe:
    return Recipe.of(kind, version=VERSIONS[kind], weights="w1")


def fresh(root: Path) -> set[str]:
    """Return what the store shows, or takes in place of making it again."""
    store = Store(root)
    study = Study(store, "counted")
    shown = {entry.card.name for entry in store.embeddings("counted")}
    shown |= {f"level {level}" for level in store.summaries("counted")}
    shown |= {table["task"].iloc[0] for table in measured_elsewhere(store, "counted")}
    if "counting" in shown:
        shown |= {"suite"} - set(unmeasured(store, "counted") and ["suite"])
        entry = store.model("counted", "counting")
        for short, kind in KINDS.items():
            name = measured_name(short, "counting")
            kept = kept_rows(store, "counted", name, entry, measured_recipe(kind))
            assert (f"task of {short}" in shown) == (kept is not None)
        stored = store.result("counted", "neighbors-counting")
        recipe = study.recipe("neighbors", ["counting"], k=N - 1)
        shown |= {"neighbors"} if stored and stored[1] == recipe else set()
    return shown


ALL = {
    "counting",
    "reality",
    "foreign",
    "level 7-by-clerk",
    "task of texts",
    "task of probes",
    "suite",
    "neighbors",
}
OF_VECTORS = {"counting", "task of texts", "task of probes", "suite", "neighbors"}


@pytest.mark.parametrize(
    ("kind", "stale"),
    [
        ("embedding", OF_VECTORS),
        ("captions", {"level 7-by-clerk"}),
        ("competence", {"suite"}),
        ("probe", {"task of probes"}),
        ("bits per byte", {"task of texts"}),
    ],
)
def test_a_raised_version_makes_stale_what_depends_on_it_and_nothing_else(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: str, stale: set[str]
) -> None:
    assert fresh(root) == ALL
    assert Store(root).problems() == []
    was = VERSIONS[kind]
    monkeypatch.setitem(VERSIONS, kind, was + 1)
    assert fresh(root) == ALL - stale
    said = [problem for problem in Store(root).problems() if "is out of date" in problem]
    assert len(said) == 1
    now = f"this Platoscope has version {was + 1}; make it again"
    assert f"version {was} of {kind!r} made it, and {now}" in said[0]


def test_another_rule_of_neighbors_makes_stale_what_is_kept_of_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Study(Store(root), "counted").recipe("alignment", ["counting"])
    monkeypatch.setattr("core.study.study.NEIGHBORS", NEIGHBORS + 1)
    assert fresh(root) == ALL - {"neighbors"}
    assert Study(Store(root), "counted").recipe("alignment", ["counting"]) != before
    Study(Store(root), "counted").neighbors("counting")
    assert fresh(root) == ALL


def test_an_answer_is_of_the_embeddings_version(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Study(Store(root), "counted").recipe("alignment", ["counting", "foreign"])
    monkeypatch.setitem(VERSIONS, "embedding", 2)
    embed(root, CountedDataset(N), CountingEncoder())
    after = Study(Store(root), "counted").recipe("alignment", ["counting", "foreign"])
    assert before.choices["models"]["counting"] != after.choices["models"]["counting"]
    assert before.choices["models"]["foreign"] == after.choices["models"]["foreign"]


def test_an_outdated_embedding_gives_way_without_being_told_to(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERSIONS, "embedding", 2)
    embed(root, CountedDataset(N), CountingEncoder())
    assert Store(root).model("counted", "counting").recipe.choices["version"] == 2
