"""The Color page: its plots follow its controls, sources that cannot be asked say why, and the rest
is drawn all the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.cli import make_parser
from core.encoders.encoder import Encoding, ModelCard
from core.questions.color.perception import LAB, color_words
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels, ColorPixels
from core.questions.words import read_question
from pages._parts.color import hues
from tests.pages.seen import charts, said, seen
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

PLOTS = ["layouts", "overlay", "cloud", "agreement", "errors", "knowledge"]
PIXELS = "pixels:cifar10"


class Reader:
    """A language model that knows where each color lies in CIELAB, and says it in its only
    layer.
    """

    device = "cpu"
    recipe: Mapping[str, object] = {}

    def __init__(self, card: ModelCard) -> None:
        self.card = replace(card, layers=("block 1",))

    def encode(self, items):
        lab = color_words().set_index("word")[LAB]
        return Encoding(
            (
                np.stack(
                    [lab.loc[item.rstrip(".").split()[-1]].to_numpy(np.float32) for item in items]
                ),
            )
        )


@pytest.fixture(autouse=True)
def _readers(monkeypatch) -> None:
    monkeypatch.setattr("core.competence.opened.reopen", lambda entry, _: Reader(entry.card))


class ColorWords(PaintedDataset):
    """Captions of all color words but one, often enough to count them."""

    def _caption(self, index: int, _: str) -> str:
        every = [word for word in color_words()["word"] if word != "magenta"]
        return " ".join(every[(index + step) % len(every)] for step in (0, 1, 3, 7))


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return build(
        tmp_path_factory.mktemp("colors"),
        ColorWords(40),
        vision=VISION[:1],
        language=LANGUAGE[1:3],
        reality=False,
    )


def words(app) -> str:
    return " ".join(
        text.value for kind in ("markdown", "caption") for text in app.get(kind)
    ).replace("\\", "")


def commands(app) -> list[str]:
    return [code.value for code in app.code]


def panels(app) -> list[str]:
    """Return the sources that are drawn, by the options of what may be laid over what."""
    return list(app.selectbox(key="over-x").options)


def test_the_page_draws_layouts_agreement_errors_and_knowledge(opened, store):
    app = opened(store, "color")
    assert not app.exception
    assert not said(app)
    assert charts(app) == PLOTS
    assert panels(app) == [
        "perception",
        "pixels of CIFAR-10",
        "pixels of The Cave",
        "captions of The Cave",
        "GPT-2 M (best)",
        "GPT-2 S (worst)",
    ]
    text = words(app)
    assert seen(app) == 3  # of the pixels, other sources and models; the answer says the first
    assert "GPT-2 M arranges colors as perception does (τ = 1.00" in text
    assert "neither they nor their coordinates are public" in text.replace("\n", " ")
    assert "a pair that was never seen counts 1." in text
    lacks = app.dataframe[0].value.set_index("source")["missing words"]
    assert lacks["perception"] == ""
    assert "magenta" in lacks["captions of The Cave"]
    read = [
        read_question(kind, arguments)
        for arguments, kind in (
            (make_parser().parse_args(shlex.split(line)[1:]), kind)
            for line, kind in zip(
                commands(app)[:-1],  # the last is that of the published values
                (ColorLayout, ColorLayout, ColorPixels, ColorAgreement, ColorLayout, ColorModels),
                strict=True,
            )
        )
    ]
    every = ("perception", PIXELS, "pixels:cave", "captions", "gpt-2-m", "gpt-2-s")
    assert [getattr(one, "source", ()) for one in read] == [
        every,
        every[:2],
        (),
        every,
        every[1:],
        (),
    ]


@pytest.mark.slow
def test_choices_reach_the_commands_and_the_numbers(opened, store):
    app = opened(store, "color", dims="2")
    app.selectbox(key="survey").set_value("uw")
    app.multiselect(key="source").set_value([PIXELS, "best"])
    app.number_input(key="smoothing").set_value(2.5)
    app.multiselect(key="words").set_value(["red", "orange", "yellow", "pink", "blue", "teal"])
    app.run()
    assert not app.exception
    assert not app.slider
    assert (
        "--smoothing 2.5 --words red orange yellow pink blue teal --survey uw --dims 2"
        in " ".join(commands(app))
    )
    assert "over the 6 colors" in words(app)
    assert "a pair that was never seen counts 2.5" in words(app)


@pytest.mark.slow
def test_a_store_without_language_models_and_color_words_draws_pixels(opened, tmp_path):
    build(tmp_path, PaintedDataset(6), vision=VISION[:1], language=(), reality=False)
    app = opened(tmp_path, "color")
    assert not app.exception
    assert "Left out: captions of The Cave, 0 colors were seen 20 times or more" in words(app)
    assert "No language model is embedded" in said(app)
    assert charts(app) == PLOTS[:5]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("/a/shots", "pixels:/a/shots"),
        ("/a/mine.npz", "pixels:/a/mine.npz"),
        ("/a/mine.NPY", "vectors:/a/mine.NPY"),
        ("hf:me/mine", "hf:me/mine"),
        ("perception", "perception"),
    ],
)
def test_pictures_vectors_and_models_of_the_user_are_sources_by_what_is_typed(text, source):
    assert hues._read_typed(text) == source
