"""What is said of colors follows from the numbers, whichever way they go."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.questions.color.question import agreement_findings, model_findings


def agreement(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["x", "y", "value", "p_adjusted"])
    return table.assign(colors=16, low=np.nan, high=np.nan)


def test_sources_are_judged_against_perception_the_most_alike_first():
    table = agreement(
        ("perception", "pixels", 0.5, 0.01),
        ("words", "perception", 0.7, 0.01),
        ("perception", "noise", -0.1, 0.9),
    )
    found = agreement_findings(table)
    assert [(one.verdict, one.value, one.n) for one in found] == [
        ("supported", 0.7, 16),
        ("supported", 0.5, 16),
        ("open", -0.1, 16),
    ]
    assert found[0].claim.startswith("words and perception")


def test_of_the_others_the_most_similar_two_are_named():
    table = agreement(
        ("perception", "a", 0.9, 0.01),
        ("a", "b", 0.2, 0.2),
        ("a", "c", 0.6, 0.01),
        ("b", "c", 0.1, 0.4),
    )
    last = agreement_findings(table)[-1]
    assert (last.value, last.verdict) == (0.6, "")
    assert "of 3 pairs of other sources, 1 of them" in last.note
    assert len(agreement_findings(agreement(("perception", "a", 0.9, 0.01)))) == 1


def models(kendall: list[float], p: list[float], competence: list[float]) -> pd.DataFrame:
    names = [f"m{number}" for number in range(len(kendall))]
    table = pd.DataFrame({"kendall": kendall, "kendall_p": p, "competence": competence})
    return table.assign(
        model=names, group=names, copy=False, untrained=False, parameters=competence
    )


def test_false_discoveries_are_adjusted_over_all_models():
    many = models([0.1] * 20, [0.02, *np.linspace(0.1, 0.9, 19)], list(range(20)))
    share = model_findings(many.assign(untrained=True))[2]
    assert (share.value, share.n) == (0.0, 20)


@pytest.mark.parametrize(("sign", "verdict"), [(1, "supported"), (-1, "contradicted")])
def test_a_trend_is_supported_or_contradicted(sign, verdict):
    steps = np.linspace(0.1, 0.9, 9)
    found = model_findings(models(list(sign * steps), [0.01] * 9, list(steps)))
    assert found[0].value == pytest.approx(sign)
    assert found[0].verdict == verdict
    assert (found[2].value, found[2].n) == (1.0, 9)


def test_without_a_trend_the_claim_is_open_and_without_models_nothing_is_claimed():
    rng = np.random.default_rng(1)
    none = model_findings(models(list(rng.normal(size=9)), [0.5] * 9, list(rng.normal(size=9))))
    assert none[0].verdict == "open"
    silent = models([np.nan] * 3, [np.nan] * 3, [0.1, 0.2, 0.3])
    assert np.isnan(model_findings(silent)[0].value)
