"""Old names of commands lead to the present ones."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from store_fakes import CountedDataset

from core.cli import main, make_parser
from core.plans.reading import read_plan
from core.questions import moved
from core.questions.kept import list_results
from core.recipe import Recipe
from core.store import Store, add_dataset, write_result
from core.study.study import Study
from docs.reference import commands

STUDY = """title = "T"
[dataset]
name = "d"
[[group]]
name = "g"
modality = "vision"
[[figure]]
name = "f"
ask = "{}"
"""


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved, "MOVED", {"measures list": "metrics list", "agree": "align --k 3"})


def test_present_names_are_commands_and_old_ones_are_none() -> None:
    parsers = {words.strip(): parser for words, parser in commands(make_parser(), "")}
    for old, new in moved.MOVED.items():
        assert old not in parsers
        [words] = [words for words in parsers if f"{new} ".startswith(f"{words} ")]
        parsers[words].parse_args(new.removeprefix(words).split())


@pytest.mark.usefixtures("renamed")
def test_a_renamed_command_runs_after_saying_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "list", "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)) > 5
    assert err == "platoscope: `measures list --json` is now `metrics list --json`; running that\n"


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize("words", [["agree"], ["agree", "--x", "a"], ["jobs", "add", "agree"]])
def test_a_command_that_became_an_option_is_named(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--store", str(tmp_path), *words]) == 2
    expected = "platoscope: `agree` is now `align --k 3`; run that instead\n"
    assert capsys.readouterr() == ("", expected)


@pytest.mark.usefixtures("renamed")
def test_a_study_file_finds_the_present_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(moved.MOVED, "aligned", "align")
    place = tmp_path / "study.toml"
    place.write_text(STUDY.format("aligned --k 3"))
    assert read_plan(place).figures[0].ask == "aligned --k 3"
    place.write_text(STUDY.format("agree"))
    with pytest.raises(Exception, match="`agree` is now `align --k 3`"):
        read_plan(place)


def test_answers_of_a_former_question_are_listed_as_stale(tmp_path: Path) -> None:
    dataset = CountedDataset(3)
    add_dataset(tmp_path, dataset)
    table = pd.DataFrame({"score": [0.5]})
    recipe = Recipe.of("gone for good", dataset="counted", versions={"gone for good": 1})
    write_result(tmp_path, dataset=dataset.card, name="answer-1", table=table, recipe=recipe)
    row = list_results(Study(Store(tmp_path), "counted")).iloc[0]
    assert (row["holds"], row["state"]) == ("A former question (gone for good)", "stale")
