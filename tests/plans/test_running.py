"""A small study runs from one file to its last figure, goes on where it was stopped, and names what
fails.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from huggingface_hub import close_session

from core.cli import main
from core.plans import run as models
from core.plans.plan import Finding
from core.plans.report import own_value
from core.store import Store
from tests.hub.online import turn_to
from tests.hub.server import LocalHub
from tests.plans.worlds import N, host_models, write_study

DRAWN = {"trend", "layers", "pairs"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the file of the study, whose models a hub of the tests hosts."""
    root, hub = tmp_path_factory.mktemp("study"), LocalHub()
    with pytest.MonkeyPatch.context() as patch:
        turn_to(hub, root / "cache", patch)
        yield write_study(root, host_models(hub, root))
    close_session()
    hub.close()


def run(place: Path, store: Path, *words: str) -> int:
    fixed = ("--store", str(store), "--device", "cpu", "--to", str(store / "out"))
    return main(["study", "run", str(place), *fixed, *words])


@pytest.fixture(scope="module")
def whole(place: Path) -> Path:
    """Return the store after one run without a stop."""
    store = place.parent / "whole"
    assert run(place, store) == 0
    return store


def tables(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store / "out").glob("*.csv")}


def test_a_study_ends_with_every_figure(whole: Path) -> None:
    files = {path.name for path in (whole / "out").iterdir()}
    assert files == {
        *(f"{name}.csv" for name in DRAWN),
        *("trend.html", "layers.html"),
        *("report.md", "models.csv", "published.csv"),
    }
    trend = pd.read_csv(whole / "out" / "trend.csv")
    assert len(trend) == 9
    assert trend["score"].notna().all()
    cards = [entry.card for entry in Store(whole).embeddings("photos")]
    assert {card.family for card in cards if card.modality == "language"} == {"Tiny"}
    assert {card.objective for card in cards if card.modality == "vision"} == {"random"}
    kept = [path.name for path in (whole / "results" / "photos").iterdir()]
    assert len([name for name in kept if "texts" in name]) == 3
    assert len([name for name in kept if "probes" in name]) == 3


def test_a_report_says_what_is_missing_and_what_was_published(whole: Path) -> None:
    report = (whole / "out" / "report.md").read_text()
    assert "6 of 6 models" in report
    missing = dict(re.findall(r"^\| (\S+ \S+) \| (.*) \|$", report, re.MULTILINE))
    assert missing.keys() == {"group absent", "figure none", "figure pairs", "dataset photos"}
    assert missing["figure none"] == "left out: no model of group absent is in the store"
    assert missing["dataset photos"] == f"the study had 12 stimuli, here are {N}"
    compared = pd.read_csv(whole / "out" / "published.csv")
    highest = pd.read_csv(whole / "out" / "trend.csv")["score"].max()
    assert compared["here"][0] == pytest.approx(highest)
    assert compared["published"][0] == 0.5
    assert pd.isna(compared["here"][1])
    assert compared["reason"][1] == "the source gives no number"


def test_a_stopped_study_goes_on_and_ends_the_same(
    place: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run opens no model that is there, and every table has the same bytes."""
    store, opened = place.parent / "stopped", list[str]()
    open_really = models.open_encoder

    def open_counting(spec: str, **settings):
        opened.append(spec)
        if len(opened) == 2:
            raise KeyboardInterrupt
        return open_really(spec, **settings)

    monkeypatch.setattr(models, "open_encoder", open_counting)
    assert run(place, store) == 130
    assert len(Store(store).embeddings("photos")) == 1
    assert run(place, store) == 0
    assert len(opened) == 7  # the second model twice, all others once
    assert tables(store) == tables(whole)
    assert run(place, store) == 0
    assert len(opened) == 7
    assert tables(store) == tables(whole)


def test_a_model_that_fails_is_named_and_the_others_go_on(
    place: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(place, whole, "--models", f"absent=timm:resnet18@{place.parent / 'gone.pt'}") == 2
    said = capsys.readouterr()
    assert "\nplatoscope: model 7 of 7: timm:resnet18@" in said.err
    assert "there is no checkpoint at" in said.err
    assert set(said.out.split()) >= DRAWN


def test_a_report_that_is_stopped_leaves_each_file_whole(
    place: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(new: Path, target: Path) -> None:
        if target.name == "report.md":
            raise KeyboardInterrupt
        replace_really(new, target)

    report, replace_really = whole / "out" / "report.md", os.replace
    before, names = report.read_bytes(), sorted(report.parent.iterdir())
    monkeypatch.setattr("os.replace", stop)
    assert run(place, whole, "--only", "language") == 130
    assert report.read_bytes() == before
    assert sorted(report.parent.iterdir()) == names


class Clerk:
    """A writer that always says the same."""

    name, weights = "clerk", "w"

    def answer(self, instruction: str, texts: Sequence[str], *, limit: int) -> list[str]:
        return [f"{text.split()[-3]} {limit} {len(instruction)}" for text in texts]


def test_language_models_read_captions_in_fewer_words(
    place: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = place.with_name("told.toml")
    told.write_text(f"{place.read_text()}\n[summaries]\nwords = [1]\nmissing = 'who?'\n")
    monkeypatch.setattr("core.encoders.language.chat.open_chat", lambda *_, **__: Clerk())
    assert run(told, whole, "--only", "language", "--writer", "hf:clerk") == 0
    levels = [entry.level for entry in Store(whole).embeddings("photos")]
    assert levels.count("1-by-clerk") == 3
    assert levels.count("0") == 3


def test_a_value_of_one_s_own_is_that_of_the_rows_that_fit() -> None:
    table = pd.DataFrame({"space": ["a:1", "b:1", "c:1"], "r": [0.1, 0.2, 0.3]})
    names = {"g": ["b"], "all": ["a", "b", "c"]}

    def value(**choices: Any) -> tuple[float, str]:
        return own_value(Finding("f", "what", "source", **choices), table, names)

    assert value(column="r", where={"space": "@g"}) == (0.2, "")
    assert value(column="r", pick="max") == (0.3, "")
    assert value(column="r", where={"space": "@all"}, pick="mean")[0] == pytest.approx(0.2)
    assert value(column="r", where={"space": "a:1"}) == (0.1, "")
    assert value(column="r")[1] == "3 rows of f fit"
    assert value(column="space")[1] == "column space of f holds no numbers"
    assert value(column="s")[1] == "the table of f has no column s"


def test_show_says_what_a_study_takes_and_does_nothing(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert main(["study", "show", str(place), "--store", str(store), "--only", "language"]) == 0
    said = capsys.readouterr()
    assert not store.exists()
    assert "hf:" in said.out
    assert "timm:" not in said.out
    assert "Embedded: 0 of 3 models." in said.err
    assert "Group absent: nobody names them" in said.err


def test_a_folder_of_other_files_is_not_written_into(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trend.csv").write_text("mine")
    assert run(place, tmp_path) == 2
    assert "holds other files" in capsys.readouterr().err
    assert (tmp_path / "out" / "trend.csv").read_text() == "mine"
