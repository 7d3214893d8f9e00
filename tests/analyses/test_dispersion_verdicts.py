"""Sentences from small tables: each says what holds, and what speaks against the published work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.analyses.dispersion_verdicts import tell_drop, tell_effect, tell_held_out

TITLES = {"a:1": "ViT A", "b:1": "DINO-v2 B", "c:1": "CLIP C"}


def ratios(*rows: tuple[float, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["score", "low", "high"]).assign(vision=list(TITLES)[: len(rows)], language="")
    single = table.assign(language="gpt", score=99.0)  # the ratio of one language model counts for nothing
    return pd.concat([table, single]).assign(set="low/high")


def test_ratios_above_below_and_about_one_are_told_apart():
    said = tell_effect(ratios((1.62, 1.3, 1.9), (0.7, 0.6, 0.9), (1.1, 0.9, 1.4)), TITLES)
    assert "better aligned than the high one for ViT A (1.62)." in said
    assert "other way round, against the published work, for DINO-v2 B (0.70)." in said
    assert "cannot be told from 1 for CLIP C (1.10)." in said
    assert said.endswith("The largest ratio is 1.62; the published work found up to 2.")


def test_only_what_is_seen_is_said():
    said = tell_effect(ratios((1.6, 1.3, 1.9), (1.5, 1.2, 1.9), (1.4, 1.1, 1.9)), TITLES)
    assert "for ViT A (1.60), DINO-v2 B (1.50) and CLIP C (1.40)." in said
    assert "against" not in said
    assert "cannot be told" not in said


def test_no_ratio_is_said_to_be_none():
    assert tell_effect(ratios((np.nan, np.nan, np.nan)), TITLES) == "No ratio can be told here."


def dropped(*scores: tuple[float, float, float]) -> pd.DataFrame:
    rows = [
        {"vision": vision, "language": "", "set": name, "score": score}
        for vision, three in zip(TITLES, scores, strict=False)
        for name, score in zip(("without high", "without random", "without low"), three, strict=True)
    ]
    return pd.DataFrame(rows)


def test_leaving_out_agrees_with_the_published_work_where_every_model_does_both():
    said = tell_drop(dropped((0.3, 0.2, 0.1), (0.4, 0.3, 0.2)))
    assert "higher than without as many at random in 2 of 2 models" in said
    assert "lower in 2 of 2: as in the published work." in said


def test_leaving_out_contradicts_it_where_one_does_not():
    said = tell_drop(dropped((0.3, 0.2, 0.1), (0.1, 0.3, 0.2)))
    assert "in 1 of 2 models" in said
    assert "lower in 2 of 2: against the published work" in said


def test_sets_without_scores_tell_nothing():
    assert "cannot be told" in tell_drop(dropped((np.nan, 0.2, 0.1)))


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
