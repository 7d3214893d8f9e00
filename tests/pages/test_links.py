"""A question's link opens its page with the same question, whatever was chosen."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.cli import make_parser
from core.questions.question import Question
from core.questions.words import read_question, to_query
from core.study.selections import encode

HALF = encode(range(0, 60, 2), 60)
NAMED = ["gpt-2-m", "vit-clip-m", "vit-mae-m"]
VIEWS: list[Any] = [  # pages, each with an address that chooses much
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
        },
    ),
    pytest.param(
        "alignment",
        {"x": ["gpt-2-m"], "y": ["vit-clip-m"], "layers": "last", "bootstrap": "200"},
        marks=pytest.mark.slow,
    ),
    ("convergence", {"by": "size", "k": "5", "layers": "last"}),
    ("competence", {"unfinished": "true", "metric": "cka", "by": "size", "bins": "3"}),
    (
        "models",
        {"models": NAMED, "layout": "mds", "k": "5", "seed": "3", "layers": "last", "q": "0.9"},
    ),
    ("models", {"view": "table", "targets": ["reality", "gpt-2-m"], "k": "5", "layers": "last"}),
    (
        "metrics",
        {
            "k": "12",
            "a": "gpt-2-m",
            "layer_a": "2",
            "b": "vit-mae-m",
            "null": "200",
            "where": ["scene=city", "scene=beach"],
            "q": "0.9",
        },
    ),
    (
        "dispersion",
        {"ranker": "others", "by": "median", "size": "20", "metric": "mutual_knn", "seed": "4"},
    ),
    pytest.param(
        "dispersion",
        {"ranker": "language", "size": "16", "stimuli": HALF},
        marks=pytest.mark.slow,
    ),
    ("stimuli", {"view": "map", "map": "pca"}),
    (
        "adapters",
        {"encoders": NAMED[:2], "layer": ["gpt-2-m=1"], "reference": "reality", "width": "8"},
    ),
    pytest.param(
        "color",
        {"source": ["pixels:cave", "gpt-2-m"], "radius": "2.0", "dims": "2"},
        marks=pytest.mark.slow,
    ),
    ("stimuli", {"stimulus": "5", "k": "7", "a": "gpt-2-m", "layer_a": "1", "b": "vit-mae-m"}),
]


@pytest.mark.parametrize(("page", "address"), VIEWS)
def test_a_link_from_a_question_opens_its_page_with_the_same_question(opened, demo, page, address):
    first = opened(demo, page, **address)
    assert not first.exception
    question = plotted(first)[0]
    assert scope_of(question) == scope_of(address)
    links = {**marks(address), **to_query(question)}
    again = opened(demo, page, **links)
    assert not again.exception
    assert not again.warning
    assert plotted(again)[0] == question


def scope_of(chosen: Question | dict[str, Any]) -> dict[str, Any]:
    """Return which stimuli a question, or an address, is about, and how features are clamped."""
    words = texts(chosen if isinstance(chosen, dict) else to_query(chosen))
    return {key: words[key] for key in ("where", "stimuli", "q") if key in words}


def test_an_address_says_what_was_chosen_and_nothing_else(opened, demo):
    page, address = VIEWS[0]
    app = opened(demo, page, **address, utm="foreign")
    app.number_input(key="k").set_value(8).run()
    assert texts(app.query_params) == texts({**address, "k": "8"})
    app.selectbox(key="null").set_value(0).run()
    left = {key: value for key, value in address.items() if key != "null"}
    assert texts(app.query_params) == texts({**left, "k": "8"})


def texts(address: Any) -> dict[str, list[str]]:
    """Return the texts of an address by key."""
    values = {key: address[key] for key in address}
    return {key: one if isinstance(one, list) else [one] for key, one in values.items()}


def test_a_choice_that_a_page_has_no_control_for_is_said(opened, demo):
    app = opened(
        demo, "competence", q="0.9", where="scene=city", set="variant=paper", utm="foreign"
    )
    said = [warning.value for warning in app.warning]
    assert [text.removeprefix("Not in this view: ") for text in said] == [
        "a control for q.",
        "a control for where.",
        "a control for set.",
    ]
    app.number_input(key="k").set_value(8).run()
    assert not app.warning


def plotted(app: AppTest) -> list[Question]:
    """Return the questions whose commands a page prints beside its plots."""
    lines = [code.value for code in app.code if code.value.startswith("platoscope ")]
    parsed = [make_parser().parse_args(shlex.split(line)[1:]) for line in lines]
    return [read_question(one.run.args[0], one) for one in parsed if isinstance(one.run, partial)]


def marks(address: dict[str, Any]) -> dict[str, Any]:
    """Return what of an address chooses a view of a page, which no question says."""
    return {key: address[key] for key in ("view", "map", "stimulus") if key in address}
