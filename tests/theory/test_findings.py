"""What is said of a run is what its table holds."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError
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
