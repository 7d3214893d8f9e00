"""A small study runs from one file to its last figure, goes on where it was stopped, and names what
fails.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.cli import main
from core.plans import models
from core.store import Store
from tests.plans.worlds import N, write_models, write_study

DRAWN = {"trend", "pairs"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("study")
    return write_study(root, write_models(root))


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
        "trend.html",
        *("report.md", "models.csv", "published.csv"),
    }
    trend = pd.read_csv(whole / "out" / "trend.csv")
    assert len(trend) == 9
    assert trend["score"].notna().all()
    cards = [entry.card for entry in Store(whole).embeddings("photos")]
    assert {card.family for card in cards if card.modality == "language"} == {"Tiny"}
    assert {card.objective for card in cards if card.modality == "vision"} == {"random"}
    coded = [name for name in (whole / "results" / "photos").iterdir() if "texts" in name.name]
    assert len(coded) == 3


def test_a_report_says_what_is_missing_and_what_was_published(whole: Path) -> None:
    report = (whole / "out" / "report.md").read_text()
    assert "6 of 6 models" in report
    assert "Group absent is not complete: nobody names them" in report
    assert "Figure none is left out: no model of group absent is in the store" in report
    assert "Figure pairs is without absent." in report
    assert f"The study had 12 stimuli; photos has {N} here." in report
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
    known = models.open_encoder

    def open_counting(spec: str, **settings):
        opened.append(spec)
        if len(opened) == 2:
            raise KeyboardInterrupt
        return known(spec, **settings)

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
    assert "model 7 of 7: timm:resnet18@" in said.err
    assert "there is no checkpoint at" in said.err
    assert set(said.out.split()) >= DRAWN


def test_a_dry_run_says_what_a_study_takes_and_does_nothing(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert run(place, store, "--dry-run", "--only", "language") == 0
    said = capsys.readouterr()
    assert not store.exists()
    assert "hf:" in said.out
    assert "timm:" not in said.out
    assert "Embedded: 0 of 3 models." in said.err
    assert "Group absent: nobody names them" in said.err
