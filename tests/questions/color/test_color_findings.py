"""What is said of colors follows from the numbers, whichever way they go."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.questions.color.findings import tell_models, tell_others, tell_perception
from core.statistics.correlations import DEPENDENT, Correlation

NAN = float("nan")


def agreement(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["x", "y", "value", "p_adjusted"]).assign(
        of="dissimilarities", measure="kendall"
    )
    other = table.assign(of="layouts", value=1.0, p_adjusted=0.001)  # is not read
    return pd.concat([table, other], ignore_index=True)


def test_sources_that_agree_with_perception_are_named_first_and_the_others_said_to_be_at_chance():
    table = agreement(
        ("perception", "pixels", 0.5, 0.01),
        ("words", "perception", 0.7, 0.01),
        ("perception", "noise", -0.1, 0.9),
    )
    assert (
        tell_perception(table, "perception")
        == "Colors lie as perception has them, by more than chance, for words (τ 0.70) and pixels"
        " (τ 0.50). No perceptual geometry can be told from shuffled colors for noise (τ −0.10)."
    )


def test_where_nothing_agrees_it_is_said():
    assert (
        tell_perception(agreement(("perception", "captions", 0.1, 0.2)), "perception")
        == "No perceptual geometry can be told from shuffled colors for captions (τ 0.10)."
    )
    assert (
        tell_perception(agreement(("a", "b", 0.1, 0.2)), "perception")
        == "Nothing could be compared with perception."
    )


def test_pairs_without_a_value_or_a_p_are_left_out():
    table = agreement(
        ("perception", "a", NAN, NAN), ("perception", "b", 0.5, 0.01), ("a", "b", NAN, NAN)
    )
    assert (
        tell_perception(table, "perception")
        == "Colors lie as perception has them, by more than chance, for b (τ 0.50)."
    )
    assert tell_others(table, "perception") == ""


def test_others_are_counted_and_the_most_alike_named():
    table = agreement(
        ("perception", "a", 0.9, 0.01),
        ("a", "b", 0.2, 0.2),
        ("a", "c", 0.6, 0.01),
        ("b", "c", 0.1, 0.4),
    )
    assert (
        tell_others(table, "perception")
        == "Without perception, 1 of 3 pairs agree by more than chance; most alike are a and c (τ"
        " 0.60)."
    )
    assert tell_others(agreement(("perception", "a", 0.9, 0.01)), "perception") == ""


def points() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kendall": [0.5, 0.6, 0.1, -0.1, np.nan],
            "kendall_p": [0.01, 0.01, 0.2, 0.8, np.nan],
            "copy": [False, False, True, False, False],
            "untrained": [False, False, False, True, False],
        }
    )


def test_models_are_counted_by_kind():
    told = tell_models(points(), Correlation(0.8, 0.3, 0.95, 0.01, 9))
    assert (
        "in 2 of 2 finished models, 0 of 1 unfinished models and 0 of 1 untrained models." in told
    )
    assert told.endswith(
        "Among 9 finished models more competent ones know it better (Spearman 0.80, 0.30 to 0.95,"
        f" p = 0.01). {DEPENDENT}"
    )


def test_the_share_of_false_discoveries_is_held_over_all_models():
    many = pd.DataFrame(
        {
            "kendall": 0.1,
            "kendall_p": [0.02, *np.linspace(0.1, 0.9, 19)],
            "copy": False,
            "untrained": True,
        }
    )
    told = tell_models(many, Correlation(NAN, NAN, NAN, NAN, 0, "none"))
    assert told.startswith(
        "Perception's order of color differences is found (p < 0.05, adjusted for 20 models) in 0"
        " of 20 untrained"
    )


def test_a_trend_that_cannot_be_told_from_none_is_no_trend():
    assert "they do not tell apart (Spearman −0.20, −0.80 to 0.50, p = 0.6)" in tell_models(
        points(), Correlation(-0.2, -0.8, 0.5, 0.6, 9)
    )
    assert "they do not tell apart" in tell_models(points(), Correlation(0.5, 0.1, 0.8, 0.127, 9))
    assert "cannot be told: ties." in tell_models(
        points(), Correlation(0.5, NAN, NAN, 0.127, 9, "ties")
    )
    assert "know it worse" in tell_models(points(), Correlation(-0.9, -1.0, -0.5, 0.01, 9))
    assert "cannot be told: 2 are too few." in tell_models(
        points(), Correlation(NAN, NAN, NAN, NAN, 2, "2 are too few")
    )
    assert (
        tell_models(points().assign(kendall=np.nan), Correlation(NAN, NAN, NAN, NAN, 0, "none"))
        == "No language model here can be asked for colors."
    )
