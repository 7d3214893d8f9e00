"""Each way to break the theorem leaves both networks aligned at strength 0, and lowers alignment by
a margin above it.
"""

from __future__ import annotations

import math

import pytest

from core.errors import InputError, UnknownNameError
from core.theory.deep_linear.breaking import training
from core.theory.deep_linear.breaking.breakers import BREAKERS, break_alignment, usual_strengths
from core.theory.deep_linear.descent.sgd import Descent
from core.theory.deep_linear.nets import make_nets
from core.theory.deep_linear.runs import sweep
from core.theory.looks import tabulate

# a strength, how far below 1 the alignment falls at least, and how near the prediction lies where
# there is one
HARD = {
    "weight-decay": (1.0, 0.1, 1e-3),
    "gradient-flow": (0.5, 0.1, None),
    "labels": (0.5, 0.1, 5e-3),
    "saddle": (2.0, 0.05, None),
    "private-data": (0.5, 0.2, 5e-3),
    "edge-of-stability": (2.0, 0.05, None),
    "nonlinear-labels": (1.0, 5e-4, None),
    "quiet-labels": (4.0, 0.05, None),
    "unrelated-data": (1.0, 0.99, 1e-3),
    "two-saddles": (2.0, 0.99, 5e-3),
}

EDGE = Descent(0.02, batch=16)
SHALLOW = (
    "labels",
    "saddle",
    "private-data",
    "nonlinear-labels",
    "quiet-labels",
    "unrelated-data",
    "two-saddles",
)  # break networks of one hidden layer, too, which are trained sooner


@pytest.fixture(autouse=True)
def _shorter(monkeypatch) -> None:
    monkeypatch.setattr(training, "STEPS", 10_000)
    monkeypatch.setattr(training, "FLOW_TIME", 30.0)


@pytest.mark.parametrize(
    "name",
    [name if name == "labels" else pytest.param(name, marks=pytest.mark.slow) for name in BREAKERS],
)
def test_alignment_is_perfect_without_a_breaker_and_falls_with_it(name) -> None:
    strength, margin, near = HARD[name]
    shallow = (
        {"d": 4, "c": 4, "widths": ((3,), (4,))} if name in SHALLOW else {"widths": ((4,), (5, 4))}
    )
    table = tabulate(sweep(name, make_nets(**shallow), strengths=(0.0, strength), descent=EDGE))
    none, hard = table["measured"]
    assert none > (
        0.9 if name == "edge-of-stability" else 1 - 1e-4
    )  # at a finite step noise never settles
    assert hard < none - margin
    if near:
        assert table["predicted"].tolist() == pytest.approx([none, hard], abs=near)


def test_where_the_theory_is_silent_nothing_is_predicted() -> None:
    (look,) = sweep("gradient-flow", make_nets(widths=((4,), (4,))), strengths=(0.25,))
    assert math.isnan(look.figures["predicted"])
    assert look.figures["drift of the conserved"] < 1e-4


def test_what_is_no_breaker_or_no_strength_is_refused() -> None:
    nets = make_nets(widths=((4,), (4,)))
    with pytest.raises(
        UnknownNameError, match="no breaker named 'weight'; did you mean weight-decay"
    ):
        break_alignment("weight", nets, 0.5)
    with pytest.raises(
        InputError, match=r"strength of labels lies in 0 … 1 \(spread of log Φ\), not 3"
    ):
        break_alignment("labels", nets, 3.0)
    with pytest.raises(
        InputError, match=r"saddle is a whole number \(modes that one network lacks"
    ):
        break_alignment("saddle", nets, 0.5)
    with pytest.raises(InputError, match="strength of quiet-labels lies in 0 … 5"):
        break_alignment("quiet-labels", nets, 6.0)


def test_no_solution_is_asked_to_lack_all_modes() -> None:
    assert [usual_strengths("saddle", modes=modes, labels=1) for modes in (1, 2, 3, 5)] == [
        (0.0,),
        (0.0, 1.0),
        (0.0, 1.0, 2.0),
        (0.0, 1.0, 2.0),
    ]
    assert usual_strengths("labels", modes=1, labels=1) == BREAKERS["labels"].strengths
    assert usual_strengths("quiet-labels", modes=1, labels=2) == (0.0, 1.0, 2.0)
    with pytest.raises(UnknownNameError, match="no breaker named 'label'; did you mean labels"):
        usual_strengths("label", modes=3, labels=3)
