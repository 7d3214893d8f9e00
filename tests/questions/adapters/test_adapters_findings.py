"""What is said of one training and of several, from tables whose numbers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.questions.adapters.findings import gains, kernel_findings, lead

BEFORE = [("reference", "world", np.nan), ("before", "a", 0.1), ("before", "b", 0.3)]


def kernels(*rows: tuple[str, str, float]) -> pd.DataFrame:
    """Return two cells of each kernel."""
    return pd.DataFrame([*rows, *rows], columns=["when", "what", "alignment"])


def test_kernels_tell_the_mean_of_the_encoders_and_what_one_training_made():
    before, after = kernel_findings(kernels(*BEFORE, ("after", "mean", 0.4)))
    assert (before.value, after.value) == pytest.approx((0.2, 0.4))
    (undefined,) = kernel_findings(kernels(BEFORE[0], ("before", "a", np.nan)))
    assert undefined.reason


def test_the_proposal_is_judged_by_the_interval_the_mean_of_all_encoders_first():
    columns = ["measure", "what", "reference", "value", "low", "high", "seeds"]
    rows = [
        ("gain", "a", "R", 0.5, 0.4, 0.6, 3),
        ("own_gain", "a", "R", 0.01, -0.02, 0.04, 3),
        ("gain", "mean", "R", 0.05, 0.01, 0.09, 3),
        ("own_gain", "mean", "R", -0.04, -0.06, -0.02, 3),
        ("gain", "mean", "S", 0.01, -0.01, 0.03, 3),
        ("untrained", "training", "", 1 / 3, np.nan, np.nan, 3),
    ]
    table = pd.DataFrame(rows, columns=columns)
    found = gains(table, "R", {"R": "DINOv2"})
    assert [(one.value, one.verdict) for one in found] == [
        (0.05, "supported"),
        (-0.04, "contradicted"),
    ]
    assert "DINOv2" in found[0].claim
    assert "In 1 of 3 trainings" in found[1].note
    assert [one.verdict for one in gains(table, "S", {})] == ["open"]


def leads(**each: float) -> pd.DataFrame:
    """Return recalls at 10 of sets of encoders: what adapters reach over 0.5, that of CCA."""
    rows = [
        (name, method, value)
        for name, lead in each.items()
        for method, value in (("adapters", 0.5 + lead), ("CCA", 0.5))
    ]
    table = pd.DataFrame(rows, columns=["encoders", "method", "value"])
    return table.assign(measure="recall_10")


def test_an_interval_over_sets_takes_sets_that_share_no_encoder():
    each = {"a:1 + b:2": 0.02, "c:1 + d:2": 0.0, "e + f": 0.01, "g + h": -0.04, "i + j": 0.03}
    (found,) = lead(leads(**each))
    spread = stats.t.ppf(0.975, 4) * stats.sem([*each.values()])
    assert (found.value, found.low, found.high) == pytest.approx(
        (0.004, 0.004 - spread, 0.004 + spread)
    )
    assert found.note == (
        "They reach at least as much in 4 of 5 sets; the lowest lead, −0.040, is that of g + h."
    )
    (shared,) = lead(leads(**each, **{"a:3 + k": 0.01}))
    assert np.isnan(shared.low)
    assert shared.reason
    assert shared.n == 6
