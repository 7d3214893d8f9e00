"""What is said of one training and of several, from tables whose numbers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from core.questions.adapters.findings import kernel_findings, lead_finding, proposal_findings
from core.questions.adapters.question import Kernels

BEFORE = [("reference", "world", np.nan), ("before", "a", 0.1), ("before", "b", 0.3)]


def kernels(*rows: tuple[str, str, float]) -> pd.DataFrame:
    """Return two cells of each kernel."""
    return pd.DataFrame([*rows, *rows], columns=["when", "what", "alignment"])


def test_encoders_are_averaged_before_any_training():
    assert kernel_findings(Kernels(before=True), kernels(*BEFORE)) == [
        "The encoders' alignment with the reference is 0.200 on average, before any training.",
        "Train adapters to see what they change.",
    ]


def test_the_proposal_is_judged_by_the_mean_of_all_encoders_for_each_reference():
    columns = ["measure", "what", "reference", "value", "low", "high", "holds", "seeds"]
    rows = [
        ("gain", "mean", "R", 0.05, 0.01, 0.09, "yes", 3),
        ("own_gain", "mean", "R", -0.04, -0.06, -0.02, "no", 3),
        ("gain", "a", "R", 0.5, 0.4, 0.6, "yes", 3),
        ("own_gain", "a", "R", 0.5, 0.4, 0.6, "yes", 3),
        ("gain", "mean", "S", 0.01, -0.01, 0.03, "undecided", 3),
        ("own_gain", "mean", "S", 0.01, -0.01, 0.03, "undecided", 3),
    ]
    first, second, covered = proposal_findings(pd.DataFrame(rows, columns=columns))
    assert first == (
        "The common space by the mean of all encoders is nearer to R than the encoders are on"
        " average (+0.050, 95 % interval +0.010 to +0.090), and is farther from it than the best"
        " encoder alone (−0.040, 95 % interval −0.060 to −0.020)."
    )
    assert second.startswith(
        "The common space by the mean of all encoders is neither significantly nearer to nor"
        " farther from S"
    )
    assert covered == (
        "These intervals cover other test stimuli and, from 3 runs, other trainings, but not other"
        " encoders."
    )


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
    lead = {"a:1 + b:2": 0.02, "c:1 + d:2": 0.0, "e + f": 0.01, "g + h": -0.04, "i + j": 0.03}
    (said,) = lead_finding(leads(**lead))
    spread = stats.t.ppf(0.975, 4) * stats.sem([*lead.values()])
    low, high = 0.004 - spread, 0.004 + spread
    assert said == (
        "By recall at 10 over 5 sets of encoders, the adapters reach +0.004 over canonical"
        f" correlation on average, 95 % interval over sets {low:+.3f} to {high:+.3f}. They reach at"
        " least as much in 4 of 5 sets; the lowest difference, −0.040, is that of g + h."
    ).replace("-", "−")
    (shared,) = lead_finding(leads(**lead, **{"a:3 + k": 0.01}))
    assert "on average. They reach at least as much in 5 of 6 sets" in shared
