"""What is said of a run is what its table holds."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError
from core.theory.attention.findings import findings as attention_findings
from core.theory.attention.question import Attention
from core.theory.contrastive.findings import fit_findings, view_findings, world_finding
from core.theory.contrastive.runs import Kernel
from core.theory.contrastive.setups import Setup
from core.theory.deep_linear.findings import findings
from core.theory.deep_linear.presets import start
from core.theory.deep_linear.question import DeepLinear, Networks
from core.theory.looks import Look, Run, in_one_thread, tabulate, watch

NAN = float("nan")


def verdict(preset: str, table: pd.DataFrame) -> str:
    return " ".join(findings(DeepLinear(preset), table))


def test_a_breaker_is_told_with_its_prediction_and_what_diverged() -> None:
    table = pd.DataFrame(
        {"strength": [0.0, 1.0], "measured": [1 - 1e-6, 0.8], "predicted": [1.0, 0.79]}
    )
    assert (
        verdict("labels", table)
        == "The least alignment of the two networks is 1 − 10⁻⁶ at strength 0, 0.800 at"
        " strength 1. "
        "Where the theory predicts a number, the measured one is at most 0.01 away."
    )
    lost = verdict("edge-of-stability", table.assign(measured=[0.9, NAN], predicted=NAN))
    assert "Descent diverged at strength 1." in lost
    assert "gives no number" in lost


def test_a_prediction_that_nothing_was_measured_for_is_told_as_such() -> None:
    lost = pd.DataFrame({"strength": [0.0, 1.0], "measured": [NAN, NAN], "predicted": [NAN, 0.9]})
    assert verdict("labels", lost).endswith(
        "Nothing was measured where the theory predicts a number."
    )


def test_a_value_that_is_none_is_not_told_as_one() -> None:
    looks = pd.DataFrame({"at": [0, 10], "min_alignment": [0.5, NAN]})
    assert verdict("tanh", looks).startswith(
        "The least alignment of any two hidden layers went from 0.500 to nan."
    )
    measured = {f"{name}_b": [0.1, 0.1] for name in ("excess_loss", "entropy", "distance")}
    lost = looks.assign(**measured, **{name.replace("_b", "_a"): NAN for name in measured})
    assert "no layer is farther than nan from the closed form" in verdict("theorem-1", lost)


def test_limits_and_what_layers_depend_on_are_told() -> None:
    looks = pd.DataFrame(
        {
            "step": [0.0, 0.0, 0.1, 0.2],
            "time": [1.0, 10.0, 10.0, 10.0],
            "min_alignment": [0.3, 0.4, 0.9, NAN],
        }
    )
    told = verdict("limits", looks)
    assert "a least alignment of 0.400 at time 10, and was 0.300 at a tenth of it." in told
    assert "SGD reaches 0.900 with steps of 0.1 (time 10)." in told
    assert "It diverges with steps of 0.2." in told
    cells = pd.DataFrame(
        {
            "preset": "sgd",
            "differs": ["samples", "view", "labels"],
            "same_layer": [0.98, 0.975, 0.8],
            "within_a": [0.5, 0.9, 0.9],
            "within_b": [0.9, 0.9, 0.9],
        }
    )
    assert (
        verdict("hierarchy", cells)
        == "By SGD alone: the same layers of two networks agree least, 0.800, where they differ in"
        " labels; with other samples alone 0.980. Every run of SGD sees samples of its own, so"
        " read its values beside that of samples alone."
    )


def test_a_value_beyond_one_is_told_as_it_is() -> None:
    for value, said in (
        (1.5, "1.500"),
        (1 + 1e-6, "1 + 10⁻⁶"),
        (1 + 1e-15, "1."),
        (1 - 4e-10, "1 − 4\u202f×\u202f10⁻¹⁰"),
    ):
        looks = pd.DataFrame({"at": [0], "min_alignment": [value]})
        assert f"went from {value:.3f} to {said}" in verdict("tanh", looks)


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
    text = " ".join(view_findings(views))
    assert "lossy nan" in text
    assert "at most nan away from" in text


def test_minima_and_activations_are_told() -> None:
    minima = pd.DataFrame(
        {
            "by": ["SGD", "chance", "chance"],
            "min_alignment": [0.97, 0.5, 0.7],
            "excess_loss": [0.02, 1e-14, -3e-14],
        }
    )
    noise = (
        "SGD ends at an alignment of 0.970, its loss 0.02 above that of the noise. Theorem 1"
        " predicts 1 only for the minimum of least entropy."
    )
    drawn = (
        "2 other minima are aligned to at most 0.700 (median 0.600), their loss within"
        " 3\u202f×\u202f10⁻¹⁴ of"
        " that of the noise."
    )
    assert verdict("minima", minima) == f"{drawn} {noise}"
    assert verdict("minima", minima[:1]) == noise
    assert verdict("minima", minima[1:]).startswith(drawn)
    assert "their loss within 0.5 of" in verdict("minima", minima.assign(excess_loss=0.5))
    bent = verdict("relu", pd.DataFrame({"min_alignment": [0.2, 0.6]}))
    assert bent.startswith("The least alignment of any two hidden layers went from 0.200 to 0.600.")
    assert "predicts nothing here" in bent


def kernel(least: float, *, smallest: float = 0.1, offset: float = NAN) -> Kernel:
    return Kernel(least, smallest, "", True, 1.0, 1.0, 1.0, offset)


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (kernel(NAN, smallest=-1.0), "no offset makes the kernel"),
        (kernel(0.1), "InfoNCE takes what it needs"),
        (kernel(0.1, offset=0.4), "the share of positive pairs gives 0.4."),
        (kernel(0.1, offset=-0.4), "gives only -0.4; raise"),
    ],
)
def test_a_kernel_is_told_against_what_the_loss_gives(about, expected) -> None:
    assert expected in world_finding(about)


@pytest.mark.parametrize(
    ("loss", "predicted"), [("infonce", "slope 1 where"), ("nce", "slope 1 and offset 0.405")]
)
def test_a_fit_is_told_against_what_can_be(loss, predicted) -> None:
    looks = pd.DataFrame({"at": [1200], "slope": [0.99], "offset": [0.4], "r2": [0.98]})
    measured, theory = fit_findings(Setup(loss=loss), looks)
    assert (
        measured == "After 1,200 steps the products follow the PMI kernel with slope 0.990,"
        " offset 0.4 and R² = 0.980."
    )
    assert f"predicts {predicted}" in theory


def test_presets_know_how_many_looks_there_are() -> None:

    def begin(preset: str, *strength: float) -> Run:
        return start(DeepLinear(preset, strength, Networks(a=(3,), b=(3,))))

    assert (begin("theorem-1").total, begin("theorem-1").ends) == (0, True)
    assert begin("saddle").total == 3
    assert begin("saddle", 1.0).total == 1
    with pytest.raises(InputError, match="theorem-1 has no strength; name a breaker: weight-decay"):
        begin("theorem-1", 1.0)
    many = Networks(step=tuple(0.001 * place for place in range(1, 8)))
    with pytest.raises(InputError, match="expected up to 6 sizes of steps, not 7"):
        start(DeepLinear("limits", networks=many))


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


def test_watching_a_run_reports_every_look_where_their_number_is_known() -> None:
    reports: list[tuple[int, int, str]] = []
    looks = [Look({"at": number}) for number in range(2)]
    table = watch(Run(iter(looks), total=2), lambda *report: reports.append(report))
    assert table["at"].tolist() == [0, 1]
    assert reports == [(1, 2, "looks"), (2, 2, "looks")]
    watch(Run(iter(looks)), lambda *report: reports.append(report))
    assert len(reports) == 2


def test_the_latest_queries_and_keys_of_each_family_are_told() -> None:
    rows = [("A", "x", 1.0, 0.1), ("A2", "x", 2.0, -0.2), ("B", "y", 3.0, NAN)]
    heads = pd.DataFrame(rows, columns=["title", "family", "step", "gradients_alike"])
    heads = heads.assign(model=heads["title"], gradients_alike_initial=0.0)
    heads["gradients_alike_chance"], heads["weights_alike"] = -0.001, 0.5
    heads[["weights_alike_initial", "weights_alike_chance"]] = 0.1
    first, second, _ = attention_findings(Attention(), heads)
    assert first == (
        "The gradients of queries and keys have a median cosine of −0.20 in A2; fresh weights have"
        " 0.00, chance 0.00."
    )
    assert "0.50 in A2, 0.50 in B;" in second
    heads["weights_alike_initial"] = [NAN, 0.1, 0.3]
    told = attention_findings(Attention(), heads)[1]
    assert "fresh weights have 0.10 to 0.30, chance 0.10." in told
    assert attention_findings(Attention(), heads[2:])[0].startswith("No model here predicts")
