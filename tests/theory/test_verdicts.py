"""What is said of a run is what its table holds."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError, UnknownNameError
from core.theory.contrastive.setups import Setup
from core.theory.deep_linear.nets import make_nets
from core.theory.deep_linear.presets import start
from core.theory.looks import Look, Run, in_one_thread, tabulate
from core.theory.verdicts import tell_contrastive, tell_deep_linear

NAN = float("nan")


def test_a_breaker_is_told_with_its_prediction_and_what_diverged() -> None:
    told = pd.DataFrame(
        {"strength": [0.0, 1.0], "measured": [1 - 1e-6, 0.8], "predicted": [1.0, 0.79]}
    )
    assert (
        tell_deep_linear("labels", told)
        == "The least alignment of the two networks is 1 − 1e-06 at strength 0, 0.800 at"
        " strength 1. "
        "Where the theory predicts a number, the measured one is at most 0.01 away."
    )
    lost = tell_deep_linear("edge-of-stability", told.assign(measured=[0.9, NAN], predicted=NAN))
    assert "Descent diverged at strength 1." in lost
    assert "names no number" in lost


def test_a_prediction_that_nothing_was_measured_for_is_told_as_such() -> None:
    lost = pd.DataFrame({"strength": [0.0, 1.0], "measured": [NAN, NAN], "predicted": [NAN, 0.9]})
    assert tell_deep_linear("labels", lost).endswith(
        "Nothing was measured where the theory predicts a number."
    )


def test_a_value_that_is_none_is_not_told_as_one() -> None:
    looks = pd.DataFrame({"at": [0, 10], "min_alignment": [0.5, NAN]})
    assert tell_deep_linear("tanh", looks).startswith(
        "The least alignment of any two hidden layers went from 0.500 to nan."
    )
    measured = {f"{name}_b": [0.1, 0.1] for name in ("excess_loss", "entropy", "distance")}
    lost = looks.assign(**measured, **{name.replace("_b", "_a"): NAN for name in measured})
    assert "no layer is farther than nan from the closed form" in tell_deep_linear(
        "theorem-1", lost
    )


def test_a_value_beyond_one_is_told_as_it_is() -> None:
    for value, said in (
        (1.5, "1.500"),
        (1 + 1e-6, "1 + 1e-06"),
        (1 + 1e-15, "1."),
        (1 - 4e-10, "1 − 4e-10"),
    ):
        looks = pd.DataFrame({"at": [0], "min_alignment": [value]})
        assert f"went from {value:.3f} to {said}" in tell_deep_linear("tanh", looks)


def test_the_last_view_is_told_whatever_it_holds() -> None:
    views = pd.DataFrame(
        {
            "view": "lossy",
            "share": [0.0, 0.5],
            "cka": [1.0, NAN],
            "chance_cka": 0.1,
            "predicted": [1.0, 0.4],
        }
    )
    text = tell_contrastive(Setup(experiment="modalities"), {}, views)
    assert "lossy nan" in text
    assert "farther than nan from" in text


def test_minima_and_activations_are_told() -> None:
    minima = pd.DataFrame(
        {
            "by": ["SGD", "chance", "chance"],
            "min_alignment": [0.97, 0.5, 0.7],
            "excess_loss": [0.02, 1e-14, -3e-14],
        }
    )
    noise = (
        "SGD ends aligned to 0.970, its loss 0.02 above the noise's. Theorem 1 says 1 of the"
        " minimum of least entropy alone."
    )
    drawn = (
        "2 other minima: aligned to 0.700 at most, 0.600 in the middle, their loss within 3e-14 of"
        " the noise's."
    )
    assert tell_deep_linear("minima", minima) == f"{drawn} {noise}"
    assert tell_deep_linear("minima", minima[:1]) == noise
    assert tell_deep_linear("minima", minima[1:]).startswith(drawn)
    assert "their loss within 0.5 of" in tell_deep_linear("minima", minima.assign(excess_loss=0.5))
    bent = tell_deep_linear("relu", pd.DataFrame({"min_alignment": [0.2, 0.6]}))
    assert bent.startswith("The least alignment of any two hidden layers went from 0.200 to 0.600.")
    assert "predicts nothing here" in bent


@pytest.mark.parametrize(
    ("loss", "known", "said"),
    [
        (
            "infonce",
            {"least_offset": NAN, "smallest_eigenvalue": -1.0, "given_offset": NAN},
            "no offset makes the kernel",
        ),
        ("infonce", {"least_offset": 0.1, "given_offset": NAN}, "InfoNCE takes what it needs"),
        (
            "nce",
            {"least_offset": 0.1, "given_offset": 0.4},
            "the share of positive pairs gives 0.4.",
        ),
        ("nce", {"least_offset": 0.1, "given_offset": -0.4}, "gives only -0.4; take more"),
    ],
)
def test_a_fit_is_told_against_what_can_be(loss, known, said) -> None:
    looks = pd.DataFrame({"at": [1200], "slope": [0.99], "offset": [0.4], "r2": [0.98]})
    text = tell_contrastive(Setup(loss=loss), known, looks)
    assert said in text
    assert (
        "After 1,200 steps the products follow the PMI kernel with slope 0.990, offset 0.4 and R² ="
        " 0.980." in text
    )
    assert ("slope 1 and offset 0.405" if loss == "nce" else "says slope 1 where") in text


def test_presets_know_how_many_looks_there_are() -> None:
    nets = make_nets(widths=((3,), (3,)))
    assert (start("theorem-1", nets).total, start("theorem-1", nets).ends) == (0, True)
    assert start("saddle", nets).total == 3
    assert start("saddle", nets, strengths=[1.0]).total == 1
    with pytest.raises(UnknownNameError, match="no preset named 'theorem'; did you mean theorem-1"):
        start("theorem", nets)
    with pytest.raises(InputError, match="theorem-1 has no strength; name a breaker: weight-decay"):
        start("theorem-1", nets, strengths=[1.0])


def test_looks_come_as_they_are_asked_for() -> None:
    asked = []

    def looks():
        for number in range(3):
            asked.append(number)
            yield Look({"at": number})

    run = Run(in_one_thread(looks()))
    assert next(run.looks).figures == {"at": 0}
    assert asked == [0]
    assert tabulate(run.looks)["at"].tolist() == [1, 2]
