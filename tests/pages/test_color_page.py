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
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels
from core.questions.color.sources import LAB, color_words, to_lab
from core.questions.words import read_question
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

PLOTS = ["layouts", "knowledge", "agreement"]
PIXELS = "pixels:cifar10"


class Reader:
    """A model that knows where each color lies in CIELAB, and says it in its only layer."""

    device = "cpu"
    recipe: Mapping[str, object] = {}

    def __init__(self, card: ModelCard) -> None:
        self.card = replace(card, layers=("block 1",))

    def encode(self, items):
        if not isinstance(items[0], str):  # plain images
            means = [np.asarray(item, np.float64).reshape(-1, 3).mean(axis=0) for item in items]
            return Encoding((to_lab(np.stack(means)).astype(np.float32),))
        lab = color_words().set_index("word")[LAB]
        named = [lab.loc[item.rstrip(".").split()[-1]].to_numpy(np.float32) for item in items]
        return Encoding((np.stack(named),))


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


def test_the_page_draws_clouds_agreement_and_model_size(opened, store):
    app = opened(store, "color")
    assert not app.exception
    assert not said(app)
    assert charts(app) == PLOTS
    text = words(app)
    assert "GPT-2 M and perception arrange colors similarly (τ = 1.00" in text
    kinds = (ColorLayout, ColorModels, ColorAgreement)  # the last is that of the published values
    read = [
        read_question(kind, make_parser().parse_args(shlex.split(line)[1:]))
        for line, kind in zip(commands(app)[:-1], kinds, strict=True)
    ]
    every = ("perception", PIXELS, "gpt-2-m", "vit-mae-s", "captions", "gpt-2-s")
    assert [getattr(one, "source", ()) for one in read] == [every, (), every]


@pytest.mark.slow
def test_choices_reach_the_commands_and_the_numbers(opened, store):
    app = opened(store, "color")
    app.multiselect(key="source").set_value([PIXELS, "best"])
    app.selectbox(key="by").set_value("words")
    app.multiselect(key="words").set_value(["red", "orange", "yellow", "pink", "blue", "teal"])
    app.run()
    assert not app.exception
    assert "--words red orange yellow pink blue teal" in " ".join(commands(app))
    assert "n\u00a0=\u00a06 colors" in words(app)


@pytest.mark.slow
def test_a_store_without_language_models_and_color_words_draws_pixels(opened, tmp_path):
    build(tmp_path, PaintedDataset(6), vision=VISION[:1], language=(), reality=False)
    app = opened(tmp_path, "color")
    assert not app.exception
    assert "captions cannot be used: 0 colors were seen 20 times or more" in words(app).lower()
    assert not said(app)
    assert charts(app) == ["layouts", "agreement"]
