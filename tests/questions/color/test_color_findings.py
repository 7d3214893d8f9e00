"""What is said of colors follows from the numbers, whichever way they go."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.questions.color.findings import (
    model_sentences,
    other_findings,
    perception_findings,
)
from core.statistics.correlations import Correlation

NAN = float("nan")


def agreement(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["x", "y", "value", "p_adjusted"]).assign(
        of="dissimilarities", measure="kendall", colors=16
    )
    other = table.assign(of="layouts", value=1.0, p_adjusted=0.001)  # is not read
    return pd.concat([table, other], ignore_index=True)


def test_sources_that_agree_with_perception_are_named_first_and_the_others_said_to_be_at_chance():
    table = agreement(
        ("perception", "pixels", 0.5, 0.01),
        ("words", "perception", 0.7, 0.01),
        ("perception", "noise", -0.1, 0.9),
    )
    assert perception_findings(table) == [
        "The 16 colors that all sources know are arranged as in perception, beyond chance, by"
        " words (τ 0.70) and pixels (τ 0.50).",
        "Agreement with perception is no better than by chance for noise (τ −0.10).",
    ]


def test_others_are_counted_and_the_most_similar_named():
    table = agreement(
        ("perception", "a", 0.9, 0.01),
        ("a", "b", 0.2, 0.2),
        ("a", "c", 0.6, 0.01),
        ("b", "c", 0.1, 0.4),
    )
    assert (
        other_findings(table)
        == "Of the 3 pairs without perception, 1 agree beyond chance; the most similar are a and c"
        " (τ 0.60)."
    )
    assert other_findings(agreement(("perception", "a", 0.9, 0.01))) == ""


def points() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kendall": [0.5, 0.6, 0.1, -0.1, np.nan],
            "kendall_p": [0.01, 0.01, 0.2, 0.8, np.nan],
            "copy": [False, False, True, False, False],
            "untrained": [False, False, False, True, False],
        }
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
    first = model_sentences(many, Correlation(NAN, NAN, NAN, NAN, 0, "none"))[0]
    assert first == (
        "0 of 20 untrained models order color differences as perception does (p < 0.05, adjusted"
        " for 20 models)."
    )


def test_a_trend_that_is_not_significant_is_said_to_be_none():
    def trend(*values: float, reason: str = "") -> str:
        return model_sentences(points(), Correlation(*values, n=9, reason=reason))[1]

    none = "competence and knowledge of color show no significant correlation"
    assert f"{none} (Spearman −0.20, −0.80 to 0.50, p = 0.6)" in trend(-0.2, -0.8, 0.5, 0.6)
    assert none in trend(0.5, 0.1, 0.8, 0.127)
    assert "cannot be tested: ties." in trend(0.5, NAN, NAN, 0.127, reason="ties")
    assert "know color worse" in trend(-0.9, -1.0, -0.5, 0.01)
    few = trend(NAN, NAN, NAN, NAN, reason="2 are too few")
    assert "cannot be tested: 2 are too few." in few
    silent = points().assign(kendall=np.nan)
    assert model_sentences(silent, Correlation(NAN, NAN, NAN, NAN, 0, "none")) == [
        "No language model here can be asked about colors."
    ]
