"""Clicks on dots, and what no browser sends: nothing is taken of it, and no page breaks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pages._parts.images import common, explore
from pages._shared import selection

ODD = [
    {},
    {"selection": 5},
    {"selection": {}},
    {"selection": {"points": 5}},
    {"selection": {"points": [5]}},
    {"selection": {"points": [{"customdata": 5}]}},
    {"selection": {"points": [{"customdata": [{}]}], "lasso": 5}},
    {"selection": {"points": [{"customdata": [7.5, "seven"]}], "lasso": [{}]}},
    {"selection": {"points": [{"customdata": [-1]}, {"customdata": [80]}], "box": [{}]}},
    5,
]


@pytest.fixture
def taken(monkeypatch):
    """Return a function that says what pages take of a chart's state: models, and stimuli."""

    def take(state: object) -> tuple[list, list]:
        models, stimuli = [], []
        held = SimpleNamespace(session_state={"map": state, explore.KEY: state})
        monkeypatch.setattr(selection, "st", held)
        monkeypatch.setattr(selection, "chosen", tuple)
        monkeypatch.setattr(selection, "choose", lambda names: models.extend(names))
        monkeypatch.setattr(common, "brush", lambda dots, _: stimuli.extend(dots))
        selection.by_click("map")()
        explore.brush(80)
        return models, stimuli

    return take


def chart(*dots: list, **areas: object) -> dict:
    return {"selection": {"points": [{"customdata": dot} for dot in dots], **areas}}


def test_a_click_takes_the_model_or_the_pair_of_the_first_dot(taken):
    assert taken(chart(["gpt-2-m"], ["vit-mae-m"])) == (["gpt-2-m"], [])
    assert taken(chart(["gpt-2-m", "vit-mae-m"])) == (["gpt-2-m", "vit-mae-m"], [])
    assert taken(chart()) == ([], [])


@pytest.mark.parametrize("area", ["lasso", "box"])
def test_an_area_takes_its_stimuli_in_order(taken, area):
    assert taken(chart([7], [3], **{area: [{"x": [0, 1]}]}))[1] == [3, 7]


@pytest.mark.parametrize("state", ODD)
def test_nothing_is_taken_of_what_no_browser_sends(taken, state):
    models, stimuli = taken(state)
    assert set(models) <= {"seven"}
    assert stimuli == []
