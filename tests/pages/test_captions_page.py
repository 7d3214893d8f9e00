"""The Captions page: its plots follow its controls, and a store without levels says what to do."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from core.cli import make_parser
from core.embedding.summaries import summarize
from core.stimuli.dataset import DatasetCard
from tests.pages.levels import retell
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, NASTY, VISION, PaintedDataset, build

PLOTS = ["levels", "words", "facts"]


@pytest.fixture(scope="module")
def leveled(tmp_path_factory) -> Path:
    dataset = PaintedDataset(40)
    root = build(
        tmp_path_factory.mktemp("leveled"),
        dataset,
        vision=VISION[1:3],
        language=[*LANGUAGE[1:3], LANGUAGE[4]],
    )
    return retell(root, dataset, ("gpt-2-m", "llama-m"))


def words(app) -> str:
    return " ".join(text.value for text in app.markdown).replace("\\", "")


def codes(app) -> list[str]:
    return [code.value for code in app.code]


def test_it_draws_levels_what_they_tell_and_one_stimulus(opened, leveled):
    app = opened(leveled, "why/captions")
    assert not app.exception
    assert charts(app) == PLOTS
    assert not said(app)
    assert app.multiselect(key="x").options == ["GPT-2 M", "LLaMA M"]
    assert "longer captions align better with" in words(app)
    assert "Too few captions of one level differ" in words(app)  # these captions all tell the same
    for command in codes(app):
        make_parser().parse_args(shlex.split(command)[1:])
    assert [text.value for text in app.caption if text.value.startswith("**level")] == [
        f"**level {n}**" for n in (5, 10, 20, 40)
    ]


@pytest.mark.slow
def test_a_stimulus_is_shown_as_it_is_at_every_level_whichever_are_studied(opened, leveled):
    app = opened(leveled, "why/captions", stimulus="1", where="scene=city", q="0.9")
    assert not app.exception
    assert not app.warning
    assert all("--where scene=city" in code and "--q 0.9" in code for code in codes(app))
    assert sum(NASTY in text.value for text in app.text) == 4
    assert not any("onerror" in text.value for text in (*app.markdown, *app.caption))
    next(button for button in app.button if button.label == "Next").click().run()
    assert app.query_params["stimulus"] == "2"


def test_one_level_of_the_cave_names_the_demo(opened, small):
    app = opened(small(40), "why/captions")
    assert "at one caption level" in said(app)
    assert "adds the other levels of the Cave, in about a minute" in said(app)
    assert codes(app)[0].startswith("platoscope demo")


def test_levels_that_were_written_since_are_to_be_embedded_and_what_read_other_texts_is_named(
    opened, tmp_path
):
    class Photos(PaintedDataset):
        @property
        def card(self) -> DatasetCard:
            return replace(super().card, source={"kind": "folder"}, levels=("a",))

        @property
        def captions(self):
            return super().captions.query("level == '20'").assign(level="a")

    class Clerk:
        name, weights = "clerk", "w"

        def answer(self, _instruction, texts, **_):
            return [text[:9] for text in texts]

    photos = Photos(20, name="photos")
    root = build(tmp_path, photos, vision=VISION[:1], language=LANGUAGE[1:2], reality=False)
    summarize(root, "photos", Clerk(), words=3)
    retell(root, photos, ["gpt-2-s"], kept={"3-by-clerk": 1.0})  # of other texts, by its recipe
    app = opened(root, "why/captions")
    assert "--caption-level a 3-by-clerk" in codes(app)[0]
    assert "gpt-2-s~3-by-clerk is left out" in said(app)
