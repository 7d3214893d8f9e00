"""Findings from small tables: each claim by its value and verdict."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from core.questions.dispersion.effect import LEAST_SETS, drop_findings, ratio_findings
from core.questions.dispersion.question import held_out_findings, predictor_findings

TITLES = {"a:1": "ViT A", "b:1": "DINO-v2 B", "c:1": "CLIP C"}


COUNT = re.compile(r"(\d+|None) of \d+ models |Models ")  # over all models


def each(findings) -> list:
    return [one for one in findings if not COUNT.match(one.claim)]


def verdicts(findings) -> list[str]:
    return [one.verdict for one in each(findings)]


def values(findings) -> list[float]:
    return [one.value for one in each(findings)]


def heads(findings) -> list[str]:
    return [one.claim.partition(" models ")[0] for one in findings if COUNT.match(one.claim)]


def ratios(*rows: tuple[float, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["score", "low", "high"]).assign(
        title=list(TITLES.values())[: len(rows)], language="", reason=""
    )
    single = table.assign(language="gpt", score=99.0)  # that of one language model counts nothing
    return pd.concat([table, single]).assign(set="low/high")


def test_ratios_above_below_and_about_one_are_told_apart():
    table = ratios((1.62, 1.3, 1.9), (0.7, 0.6, 0.9), (1.1, 0.9, 1.4))
    findings = ratio_findings(table)
    assert verdicts(findings) == ["supported", "contradicted", "open"]
    assert values(findings) == pytest.approx([0.62, -0.3, 0.1])
    assert (findings[0].claim[:6], findings[0].value) == ("1 of 3", pytest.approx(0.1))
    assert findings[0].note == "1 of them does the opposite."
    of_distances = ratio_findings(table, higher_is_better=False)
    assert verdicts(of_distances) == ["contradicted", "supported", "open"]


def test_an_interval_that_leaves_out_1_alone_does_not_among_several():
    """By hand: of two models the bounds are 2.2414 / 1.96 times as far, on the scale of
    logarithms.
    """
    one = (1.5, 1.5 * np.exp(-0.38), 1.5 * np.exp(0.38))  # log 1.5 = 0.405
    assert verdicts(ratio_findings(ratios(one))) == ["supported"]
    assert verdicts(ratio_findings(ratios(one, one))) == ["open", "open"]
    near = (1.5, 1.5 * np.exp(-0.35), 1.5 * np.exp(0.35))  # 0.35 · 1.1436 = 0.4003 < 0.405
    findings = ratio_findings(ratios(near, near))
    assert verdicts(findings) == ["supported", "supported"]
    assert findings[1].low == pytest.approx(1.5 * np.exp(-0.35 * 2.2414 / 1.96) - 1, abs=1e-4)


def test_without_a_ratio_or_an_interval_there_is_no_verdict():
    nan = float("nan")
    none = ratios((nan, nan, nan)).assign(reason="a ratio needs positive scores")
    assert verdicts(ratio_findings(none)) == ["unknown"]
    assert verdicts(ratio_findings(ratios((1.5, nan, nan)))) == ["open"]


def dropped(*scores: tuple[float, float, float]) -> pd.DataFrame:
    rows = [
        {
            "vision": title,
            "title": title,
            "language": "",
            "set": name,
            "score": score,
            "p": 0.04 if abs(score - three[1]) > 0.1 else 0.5,
        }
        for title, three in zip(TITLES.values(), scores, strict=False)
        for name, score in zip(
            ("without high", "without random", "without low"), three, strict=True
        )
    ]
    return pd.DataFrame(rows)


def test_each_end_that_is_left_out_is_compared_with_random_stimuli():
    findings = drop_findings(dropped((0.4, 0.2, 0.05), (0.1, 0.3, 0.25)), repeats=50)
    assert heads(findings) == ["1 of 2", "1 of 2"]
    assert verdicts(findings) == ["supported", "contradicted", "supported", "open"]
    assert values(findings) == pytest.approx([0.2, -0.2, -0.15, -0.05])


def test_too_few_random_sets_are_said_to_be_too_few():
    table = dropped((0.4, 0.2, 0.05))
    few = drop_findings(table.assign(p=2 / LEAST_SETS), repeats=LEAST_SETS - 1)
    assert verdicts(few) == ["open", "open"]
    assert [one.verdict for one in few[:2]] == ["unknown"] * 2  # no count of what was not tested
    enough = drop_findings(table.assign(p=2 / (LEAST_SETS + 1)), repeats=LEAST_SETS)
    assert verdicts(enough) == ["supported", "supported"]


def test_without_any_effect_both_claims_are_rarely_made():
    rng = np.random.default_rng(0)
    claimed = 0
    for _ in range(80):
        drawn, (high, low) = rng.normal(size=50), rng.normal(size=2)
        table = dropped((high, drawn.mean(), low))
        p = {
            "without high": tail_of(high, drawn),
            "without low": tail_of(low, drawn),
            "without random": np.nan,
        }
        said = drop_findings(table.assign(p=table["set"].map(p)), repeats=50)
        claimed += verdicts(said) == ["supported", "supported"]
    assert claimed <= 1


def tail_of(value: float, drawn: np.ndarray) -> float:
    return min(
        1.0, 2 * (1 + min((drawn >= value).sum(), (drawn <= value).sum())) / (len(drawn) + 1)
    )


def test_the_predictor_that_explains_most_is_named():
    table = pd.DataFrame(
        {"kind": "factor", "predictor": ["a", "b_c", "d"], "share": [0.5, 0.3, np.nan]}
    ).assign(p=[0.01, 0.2, np.nan], p_adjusted=[0.02, 0.2, np.nan], n=60)
    top, count = predictor_findings(table)
    assert (top.value, top.p) == (0.5, 0.02)
    assert count.claim.startswith("1 of 2")
    (none,) = predictor_findings(table.assign(p_adjusted=1.0))
    assert none.claim.startswith("None of 2")


def fits(*rows: tuple[float, float, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["pearson", "pearson_low", "pearson_high", "shuffled_p"])
    titles = list(TITLES.values())[: len(rows)]
    return table.assign(title=titles, shuffled=-0.1, n=100)


SURE, CHANCE, INVERSE = (0.5, 0.4, 0.6, 0.005), (0.2, 0.1, 0.3, 0.6), (-0.2, -0.3, -0.1, 1.0)


def test_p_alone_is_no_claim_if_the_interval_holds_0():
    assert verdicts(held_out_findings(fits((0.02, -0.04, 0.08, 0.005)))) == ["open"]


def test_an_inverse_relation_is_told_as_one():
    assert verdicts(held_out_findings(fits(SURE, INVERSE))) == ["supported", "contradicted"]
    # as low if nothing is shared
    assert verdicts(held_out_findings(fits((-0.2, -0.3, -0.1, 0.5)))) == ["open"]


def test_p_of_several_models_is_adjusted():
    unsure = (0.2, 0.1, 0.3, 0.03)
    assert verdicts(held_out_findings(fits(unsure))) == ["supported"]
    assert verdicts(held_out_findings(fits(unsure, CHANCE))) == ["open", "open"]
