"""Titles, deletions and what is kept, from the command line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from core.metrics import METRICS
from core.questions.kept import list_results
from core.store import Store
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of three models each, with their neighbors and three kept answers."""
    root = build(tmp_path_factory.mktemp("library"), PaintedDataset(20), **SMALL)
    for words in (
        ["align"],
        ["align", "--null", "100", "--metric", "cka"],
        ["align", "--null", "100", "--k", "3", "--where", "scene=city", "scene=beach"],
        ["models", "pairs", "--models", "gpt-2-s", "gpt-2-m", "--q", "0.9"],
    ):
        assert main([*words, "--store", str(root)]) == 0
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    capsys.readouterr()
    return Path(shutil.copytree(made, tmp_path / "store"))


def results(root: Path) -> list[dict[str, Any]]:
    table = list_results(Study(Store(root), "cave"))
    return table.to_dict("records")  # type: ignore[return-value]


def test_titles_are_given(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(root)]
    assert main(["dataset", "rename", "cave", "My cave", *store]) == 0
    rename = ["model", "rename", "gpt-2-m", "--dataset", "cave", *store]
    assert main([*rename, "The best"]) == 0
    assert capsys.readouterr().out.splitlines() == ["cave: My cave", "gpt-2-m: The best"]
    assert main([*rename, "x" * 99]) == 2
    assert "a title has 1 to 80 characters" in capsys.readouterr().err


def test_a_deletion_says_what_goes_and_waits_for_yes(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    delete = ["model", "delete", "gpt-2-s", "--dataset", "cave", "--store", str(root)]
    assert main(delete) == 2
    said = capsys.readouterr()
    assert "Also deletes: kept answers (7), neighbors (1)." in said.out
    assert said.out.splitlines()[-1].startswith("9 files, ")
    assert "nothing was deleted; add --yes" in said.err
    assert len(Store(root).models("cave")) == 7
    assert main([*delete, "--yes"]) == 0
    assert len(Store(root).models("cave")) == 6
    assert not [row for row in results(root) if row["name"].startswith("answer-")]
    assert main(delete) == 2
    assert "no model named 'gpt-2-s'; did you mean" in capsys.readouterr().err
    assert main(["dataset", "delete", "cave", "--yes", "--store", str(root)]) == 0
    assert Store(root).datasets() == []


def test_results_are_listed_by_their_question_and_fresh_until_what_they_rest_on_changes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {row["name"]: row for row in results(root)}
    assert {row["state"] for row in rows.values()} == {"fresh"}
    answers = [row for name, row in rows.items() if name.startswith("answer-")]
    assert {row["holds"] for row in answers} == {
        "Do better language models align more with vision models?",
        "How aligned is each pair of models, and do models form groups?",
    }
    assert "metric cka, null 100" in {row["about"] for row in answers}
    neighbors = rows["neighbors-gpt-2-m"]
    assert (neighbors["holds"], neighbors["models"]) == ("Neighbors: gpt-2-m", 1)
    assert neighbors["bytes"] == (root / "results/cave/neighbors-gpt-2-m.parquet").stat().st_size

    monkeypatch.setitem(METRICS, "cka", replace(METRICS["cka"], version=99))
    stale = [row["about"] for row in results(root) if row["state"] == "stale"]
    assert len(stale) == 2
    assert all("metric cka" in about for about in stale)
