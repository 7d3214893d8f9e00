"""A question's link opens its page with the same question, whatever was chosen."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.cli import make_parser
from core.options import values_of
from core.questions.question import Question
from core.questions.words import read_question, to_query
from core.study.layers import ALL

NAMED = ["gpt-2-m", "vit-clip-m", "vit-mae-m"]
VIEWS: list[tuple[str, dict[str, Any]]] = [  # pages, each with an address that chooses much
    (
        "alignment",
        {
            "x": ["gpt-2-m", "gpt-2-s"],
            "y": ["vit-clip-m"],
            "metric": "cknna",
            "k": "7",
            "set": ["variant=released"],
            "layers": "last",
            "null": "100",
            "bootstrap": "200",
        },
    ),
    ("competence", {"unfinished": "true", "metric": "cka", "by": "size", "bins": "3"}),
    ("models", {"models": NAMED, "layout": "mds", "k": "5", "seed": "3", "layers": "last"}),
    ("metrics", {"k": "12", "a": "gpt-2-m", "layer_a": "2", "b": "vit-mae-m", "null": "200"}),
    (
        "dispersion",
        {"ranker": "others", "by": "median", "size": "20", "metric": "cka", "seed": "4"},
    ),
    ("dispersion", {"ranker": "language", "size": "16"}),
    ("stimuli", {"view": "map", "map": "pca"}),
    (
        "adapters",
        {"encoders": NAMED[:2], "layer": ["gpt-2-m=1"], "reference": "reality", "width": "8"},
    ),
    ("color", {"source": ["pixels:cave", "gpt-2-m"], "radius": "2.0", "dims": "2"}),
    ("stimuli", {"stimulus": "5", "k": "7", "a": "gpt-2-m", "layer_a": "1", "b": "vit-mae-m"}),
]


@pytest.mark.parametrize(("page", "address"), VIEWS)
def test_a_link_from_a_question_opens_its_page_with_the_same_question(opened, demo, page, address):
    first = opened(demo, page, **address)
    assert not first.exception
    chosen = plotted(first)
    assert chosen
    for question in (one for one in chosen if not of_all_layers(one)):
        links = {**marks(address), **to_query(question)}
        again = opened(demo, page, **links)
        assert not again.exception
        assert not again.warning
        assert question in plotted(again), links


@pytest.mark.parametrize(("page", "address"), VIEWS)
def test_an_address_says_what_was_chosen_and_nothing_else(opened, demo, page, address):
    app = opened(demo, page, **address)
    app.run()  # writes the address, from what the controls show
    written = {key: app.query_params[key] for key in app.query_params}
    texts = {key: one if isinstance(one, list) else [one] for key, one in address.items()}
    assert {key: one if isinstance(one, list) else [one] for key, one in written.items()} == texts


def plotted(app: AppTest) -> list[Question]:
    """Return the questions whose commands a page prints beside its plots."""
    lines = [code.value for code in app.code if code.value.startswith("platoscope ")]
    parsed = [make_parser().parse_args(shlex.split(line)[1:]) for line in lines]
    return [read_question(one.run.args[0], one) for one in parsed if isinstance(one.run, partial)]


def of_all_layers(question: Question) -> bool:
    """Return whether a question is of one pair's layers, for which its page has another control."""
    return values_of(question).get("layers") == ALL


def marks(address: dict[str, Any]) -> dict[str, Any]:
    """Return what of an address chooses a view of a page, which no question says."""
    return {key: address[key] for key in ("view", "map", "stimulus") if key in address}
