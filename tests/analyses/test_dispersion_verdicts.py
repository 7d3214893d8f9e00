"""Sentences from small tables: each says what holds, and what speaks against the published work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.analyses.dispersion_verdicts import tell_drop, tell_effect, tell_held_out, tell_parts, tell_predictors, tell_words

TITLES = {"a:1": "ViT A", "b:1": "DINO-v2 B", "c:1": "CLIP C"}


def ratios(*rows: tuple[float, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["score", "low", "high"]).assign(vision=list(TITLES)[: len(rows)], language="")
    single = table.assign(language="gpt", score=99.0)  # the ratio of one language model counts for nothing
    return pd.concat([table, single]).assign(set="low/high")


def test_ratios_above_below_and_about_one_are_told_apart():
    said = tell_effect(ratios((1.62, 1.3, 1.9), (0.7, 0.6, 0.9), (1.1, 0.9, 1.4)), TITLES)
    assert "better aligned than the high one for ViT A (ratio 1.62)." in said
    assert "other way round, against the published work, for DINO-v2 B (ratio 0.70)." in said
    assert "cannot be told apart for CLIP C (ratio 1.10)." in said
    assert said.endswith("The largest ratio is 1.62; the published work found up to 2 of CKNNA.")


def test_only_what_is_seen_is_said():
    said = tell_effect(ratios((1.6, 1.3, 1.9), (1.5, 1.2, 1.9), (1.4, 1.1, 1.9)), TITLES)
    assert "for ViT A (ratio 1.60), DINO-v2 B (ratio 1.50) and CLIP C (ratio 1.40)." in said
    assert "against" not in said
    assert "cannot" not in said


def test_of_a_distance_the_low_set_is_better_aligned_where_the_ratio_is_below_1():
    said = tell_effect(ratios((1.62, 1.3, 1.9), (0.7, 0.6, 0.9)), TITLES, higher_is_better=False)
    assert "better aligned than the high one for DINO-v2 B (ratio 0.70)." in said
    assert "other way round, against the published work, for ViT A (ratio 1.62)." in said
    assert said.endswith("a ratio below 1 speaks for the low set.")


def test_no_ratio_is_said_to_be_none():
    assert tell_effect(ratios((np.nan, np.nan, np.nan)), TITLES) == "No ratio can be told here."


def dropped(*scores: tuple[float, float, float]) -> pd.DataFrame:
    rows = [
        {"vision": vision, "language": "", "set": name, "score": score, "p": 0.04 if abs(score - three[1]) > 0.1 else 0.5}
        for vision, three in zip(TITLES, scores, strict=False)
        for name, score in zip(("without high", "without random", "without low"), three, strict=True)
    ]
    return pd.DataFrame(rows)


def test_leaving_out_agrees_with_the_published_work_where_every_model_does_both():
    said = tell_drop(dropped((0.4, 0.2, 0.15), (0.35, 0.3, 0.1)))
    assert "better than without as many at random in 2 of 2 models (beyond 95 % of the random sets in 1)" in said
    assert "worse in 2 of 2 (in 1): as in the published work." in said


def test_leaving_out_does_not_where_one_does_not():
    said = tell_drop(dropped((0.3, 0.2, 0.1), (0.1, 0.3, 0.2)))
    assert "in 1 of 2 models (beyond 95 % of the random sets in 0)" in said
    assert "worse in 2 of 2 (in 0): not as in the published work" in said


def test_a_distance_that_falls_is_better():
    said = tell_drop(dropped((0.1, 0.2, 0.3)), higher_is_better=False)
    assert "better than without as many at random in 1 of 1" in said
    assert "worse in 1 of 1" in said


def test_sets_without_scores_tell_nothing():
    assert "cannot be told" in tell_drop(dropped((np.nan, 0.2, 0.1)))


def parts(**scores: list[float]) -> pd.DataFrame:
    rows = [
        {"vision": f"{name}:1", "language": language, "set": str(part), "score": score + (language == "gpt")}
        for name, run in scores.items()
        for part, score in enumerate(run, start=1)
        for language in ("", "gpt")
    ]
    return pd.DataFrame([*rows, {"vision": "a:1", "language": "", "set": "full", "score": 9.0}])


def test_trends_along_the_parts_are_told_by_rank():
    said = tell_parts(parts(a=[0.9, 0.5, 0.4, 0.3, 0.2, 0.1], b=[1, 2, 3, 4, 5, 60], c=[1, 5, 2, 4, 3, 1.5]), TITLES)
    assert said == (
        "With dispersion the score falls for ViT A (ρ = −1.00). It rises for DINO-v2 B (ρ = 1.00). "
        "No trend is told from chance for CLIP C (ρ = 0.03)."
    )


def test_few_or_equal_parts_tell_no_trend():
    assert "No trend can be told" in tell_parts(parts(a=[0.4, 0.3, 0.2, 0.1]), TITLES)
    assert "No trend can be told" in tell_parts(parts(a=[0.1] * 9, b=[np.nan] * 9), TITLES)


def test_predictors_above_0_are_named_those_of_whole_kinds_left_out():
    table = pd.DataFrame({"predictor": ["x_1", "bright", "all together"], "covers": [1, 1, 5], "importance": [0.2, 0.1, 0.5],
                          "low": [0.1, -0.1, 0.4]})  # fmt: skip
    assert tell_predictors(table) == "Most is lost without x 1 (0.20)."
    assert tell_predictors(table.assign(low=np.nan)) == "No single predictor is needed beyond doubt."


def test_words_are_named_by_the_set_that_has_them():
    table = pd.DataFrame({"word": ["fog", "owl", "a"], "in_low": [9, 1, 5], "low": 10, "in_high": [1, 9, 6], "high": 10,
                          "p_adjusted": [0.01, 0.02, 0.9]})  # fmt: skip
    assert tell_words(table) == "Words that tell the two sets apart: 2 of 3, above all “fog” in the low set; “owl” in the high set."
    assert tell_words(table.head(1)).endswith("1 of 1, above all “fog” in the low set.")
    assert tell_words(table.assign(p_adjusted=1.0)) == "None of 3 words tells the two sets apart."


def fits(*rows: tuple[float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["pearson", "pearson_low"]).assign(space=list(TITLES)[: len(rows)])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (fits((0.5, 0.4), (0.2, 0.1)), "in every model: Pearson 0.20 to 0.50; the published work found 0.21 to 0.43."),
        (
            fits((0.5, 0.4), (-0.2, -0.3)),
            "does not tell that of DINO-v2 B, against the published work; over all models: Pearson −0.20",
        ),
        (fits((0.5, 0.4)), "Pearson 0.50; the"),
        (fits((np.nan, np.nan)), "No correlation can be told here."),
    ],
)
def test_correlations_are_told_beside_the_published_ones(given, said):
    assert said in tell_held_out(given, TITLES)
