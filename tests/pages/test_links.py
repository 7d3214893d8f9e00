"""A page takes over what its address chooses, and an address says what was chosen."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from core.cli import make_parser
from core.questions.words import read_question, to_query
from core.settings import ROOT
from pages._shared import address
from tests.navigation import Query

NAMED = ["gpt-2-m", "vit-clip-m", "vit-mae-m"]
CHOSEN: Query = {
    "x": ["gpt-2-m", "gpt-2-s"],
    "y": ["vit-clip-m"],
    "metric": "cknna",
    "k": "7",
    "set": ["variant=released"],
    "layers": "last",
}
VIEWS = [  # pages, each with an address that chooses much
    ("trends/across", CHOSEN),
    ("models/map", {"models": NAMED, "color": "family", "k": "5", "seed": "3", "q": "0.9"}),
    pytest.param(
        "images/language",
        {"by": "pc1", "size": "20", "metric": "mutual_knn", "seed": "4"},
        marks=pytest.mark.slow,
    ),
    (
        "images/explore",
        {"stimulus": "5", "k": "7", "a": "gpt-2-m", "layer_a": "1", "b": "vit-mae-m"},
    ),
]


@pytest.mark.parametrize(("page", "address"), VIEWS)
def test_the_questions_of_a_page_are_those_of_its_address(opened, demo, page, address):
    app = opened(demo, page, **address)
    assert not app.exception
    assert not app.warning
    asked = texts({key: one for query in queries_of(app) for key, one in query.items()})
    chosen = texts(address)
    chosen.pop("stimulus", None)  # which no question is about
    assert {key: asked.get(key) for key in chosen} == chosen


def queries_of(app: AppTest) -> list[Query]:
    """Return the links of the questions whose commands a page prints, that of its first plot
    last.
    """
    lines = [code.value for code in app.code if code.value.startswith("platoscope ")]
    parsed = [make_parser().parse_args(shlex.split(line)[1:]) for line in reversed(lines)]
    asked = [one for one in parsed if isinstance(one.run, partial)]
    return [to_query(read_question(one.run.args[0], one)) for one in asked]


def texts(address: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    """Return the texts of an address by key."""
    values = {key: address[key] for key in address}
    return {key: one if isinstance(one, list) else [one] for key, one in values.items()}


def test_an_address_says_what_was_chosen_and_nothing_else(opened, demo):
    app = opened(demo, "trends/across", **CHOSEN, utm="foreign")
    app.number_input(key="k").set_value(8).run()
    assert texts(app.query_params) == texts({**CHOSEN, "k": "8"})
    app.selectbox(key="layers").set_value("best").run()
    left = {key: value for key, value in CHOSEN.items() if key != "layers"}
    assert texts(app.query_params) == texts({**left, "k": "8"})


def test_a_choice_that_a_page_has_no_control_for_is_said(opened, demo):
    app = opened(demo, "trends/across", set="variant=paper", utm="foreign")
    assert [one.value for one in app.warning] == ["Not in this view: a control for set."]
    app.number_input(key="k").set_value(8).run()
    assert not app.warning


def test_an_old_address_opens_the_present_page_with_its_query(tmp_path, monkeypatch):
    monkeypatch.setenv("PLATOSCOPE_STORE", str(tmp_path))
    monkeypatch.setattr(address, "MOVED", {"queue": "data?tab=jobs"})
    app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=180)
    app.query_params.update({"dataset": "d"})
    app._page_hash = calc_hash("queue")
    app.run()
    assert not app.exception
    assert app.segmented_control(key="tab").value == "jobs"
    assert texts(app.query_params) == {"dataset": ["d"], "tab": ["jobs"]}
