"""The Captions page's figures and sentences from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import hue
from core.questions.captions.figures import by_words
from core.questions.captions.findings import facts_sentences, level_sentences
from core.questions.captions.level_figures import facts, levels
from core.questions.captions.points import facts_points, language_lines, level_points
from core.questions.captions.trends import by_level, level_trends, told_by_group

LEVELS = {"5": 6.0, "10": 11.0, "40": 41.0}
TARGETS = {
    "mae-s": ("MAE <s>", "MAE"),
    "mae-m": ("MAE m", "MAE"),
    "reality": ("Reality", "reality"),
}


def models() -> pd.DataFrame:
    rows = [(name, *about, "vision") for name, about in TARGETS.items()]
    rows += [("gpt", "GPT <x>", "GPT-2", "language"), ("bloom", "BLOOM", "BLOOM", "language")]
    return pd.DataFrame(rows, columns=["model", "title", "group", "modality"]).assign(
        parameters=1e5
    )


def rows() -> pd.DataFrame:
    """Alignment rises by a hundredth with each level, GPT's lies above BLOOM's; reality's does not
    move.
    """
    return pd.DataFrame(
        [
            {
                "model": model,
                "level": level,
                "words": words,
                "model_y": target,
                "chance": 0.02,
                "score": 0.1 + off + (0.01 * place if target != "reality" else 0.0),
            }
            for target in TARGETS
            for place, (level, words) in enumerate(LEVELS.items())
            for model, off in (("gpt", 0.02), ("bloom", 0.0))
        ]
    )


def told_points(table: pd.DataFrame, groups: dict[str, str]) -> pd.DataFrame:
    means = told_by_group(table, groups)
    return facts_points(means.assign(title=means["model_y"]))


def tell_levels(trends: pd.DataFrame, titles: dict[str, str], **said: bool) -> str:
    return " ".join(level_sentences(trends, titles, **said))


def tell_told(points: pd.DataFrame, titles: dict[str, str]) -> str:
    return " ".join(facts_sentences(points, titles))


def facets() -> dict[str, str]:
    return {name: group for name, (_, group) in TARGETS.items()}


def drawn(each: bool = True, **chosen):
    lines = language_lines(rows(), models(), facets())
    trends = level_trends(lines.rename(columns={"facet": "model_y"}), {})
    points = level_points(by_level(rows()), models(), facets())
    return by_words(
        points, lines if each else lines.head(0), trends, label="alignment", mode="light", **chosen
    )


def test_a_line_per_model_has_the_mean_and_the_deviation_over_language_models():
    figure = drawn(each=False)
    lines = [trace for trace in figure.data if trace.error_y.array is not None]
    assert len(lines) == 3
    assert list(lines[0].x) == [6.0, 11.0, 41.0]
    assert list(lines[0].y) == pytest.approx([0.11, 0.12, 0.13])
    assert list(lines[0].error_y.array) == pytest.approx([0.02 / 2**0.5] * 3)
    assert lines[0].marker.color == hue("MAE", "light")
    assert "<b>MAE m</b>" in lines[0].hovertext[0] or "MAE &lt;s&gt;" in lines[0].hovertext[0]
    assert "level 5, 6.0 words" in lines[0].hovertext[0]


def bins() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "model_y": target,
                "level": level,
                "facts": share,
                "score": score,
                "stimuli": count,
                "chance": 0.02,
            }
            for target, score in (("reality", 0.2), ("mae-s", 0.1), ("mae-m", 0.3))
            for level, share, count in (("5", 0.1, 100), ("5", 0.3, 25), ("40", 0.8, 16))
        ]
    )


def test_bins_are_means_over_a_panel_s_models_with_marks_by_their_stimuli():
    figure = facts(told_points(bins(), facets()), ["5", "40"], label="alignment", mode="light")
    lines = [trace for trace in figure.data if trace.legendgroup in ("5", "40") and len(trace.x)]
    assert [list(trace.x) for trace in lines] == [[0.1, 0.3], [0.8], [0.1, 0.3], [0.8]]
    assert list(lines[0].y) == pytest.approx([0.2, 0.2])  # of the two MAE, reality is the last
    assert lines[0].marker.size[0] > lines[0].marker.size[1]
    assert lines[0].line.color != lines[1].line.color


def test_levels_are_bars_and_what_is_unknown_has_no_panel():
    table = pd.DataFrame(
        {
            "level": ["5", "<40>"],
            "words": [5.6, 40.9],
            "bytes": [28.0, 211.0],
            "facts": [0.15, 0.72],
        }
    )
    figure = levels(table, mode="light")
    assert [list(bar.text) for bar in figure.data] == [
        ["5.6", "40.9"],
        ["28", "211"],
        ["15 %", "72 %"],
    ]
    assert list(figure.data[0].y) == ["level 5", "level &lt;40&gt;"]
    assert len(levels(table.assign(facts=np.nan), mode="dark", narrow=True).data) == 2


def trends(**changed) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "model_y": ["a", "b", "c"],
            "slope": [0.01, -0.02, 0.001],
            "low": [0.005, -0.03, -0.01],
            "high": [0.015, -0.01, 0.02],
            "rho": [0.9, -0.8, 0.1],
            "p_adjusted": [0.01, 0.02, 0.4],
            "reason": "",
        }
    )
    return table.assign(**changed)


NAMES = {"a": "A", "b": "B", "c": "C"}
UNDECIDED = (
    "it is undecided whether alignment rises or falls: the interval of the slope and the order of"
    " the levels disagree."
)


def test_the_verdict_tells_what_rises_falls_and_is_not_known():
    said = tell_levels(trends(), NAMES)
    assert "the better it aligns with A (+0.010 per doubling, 95 % +0.005 to +0.015)." in said
    assert (
        "The more words a caption has, the worse it aligns with B (−0.020 per doubling, 95 % −0.030"
        " to −0.010)."
    ) in said
    assert "The trend cannot be distinguished from chance for C" in said
    assert "undecided" not in said
    assert said.endswith("The published work found a rise throughout.")
    rising = trends(slope=0.1, low=0.05, high=0.15, rho=0.7, p_adjusted=0.001)
    assert tell_levels(rising, NAMES).endswith("The published work found a rise, too.")
    assert "fine\\-tuned (+0.010" in tell_levels(trends(), {**NAMES, "a": "fine\\-tuned"})
    assert (
        tell_levels(trends(p_adjusted=np.nan, reason="too few"), NAMES)
        == "No trend can be tested here: too few."
    )


def test_where_low_scores_are_aligned_a_falling_slope_is_a_rise():
    said = tell_levels(trends(), NAMES, low_is_aligned=True)
    assert "the better it aligns with B (−0.020 per doubling, 95 % −0.030 to −0.010)." in said
    assert "the worse it aligns with A (+0.010 per doubling, 95 % +0.005 to +0.015)." in said


def test_two_models_that_differ_in_their_slopes_have_a_p_but_no_verdict():
    scores = np.array(
        [[0.1, 0.11, 0.12, 0.13], [0.1, 0.2, 0.3, 0.4]]
    )  # both in order, so p = 2 / 24² below .05
    table = pd.DataFrame(
        [
            (f"m{model}", f"{words}", words, "a", scores[model, place])
            for model in range(2)
            for place, words in enumerate((5, 10, 20, 40))
        ],
        columns=["model", "level", "words", "model_y", "score"],
    )
    assert UNDECIDED in tell_levels(level_trends(table, {}), NAMES)


def ends(**scores: tuple[float, ...]) -> pd.DataFrame:
    """Return two bins of each of several levels, whose scores differ by this much."""
    rows = [
        (target, str(level), told, 0.25 + (gap if told > 0.5 else 0.0), 16)
        for target, gaps in scores.items()
        for level, gap in enumerate(gaps)
        for told in (0.75, 0.25)
    ]
    return pd.DataFrame(rows, columns=["model_y", "level", "facts", "score", "stimuli"])


def test_the_verdict_on_what_is_told_is_worded_from_the_data():
    said = tell_told(ends(a=(0.1, 0.2), b=(-0.1, -0.2), c=(0.1, -0.1)), NAMES)
    assert "align better at every level with A (better at 2 of 2);" in said
    assert "align worse at every level with B (better at 0 of 2);" in said
    assert (
        "show no consistent direction across levels with C (better at 1 of 2). This describes"
        in said
    )
    assert "worse" not in tell_told(ends(a=(0.1,)), NAMES)
    assert "better at every" not in tell_told(ends(b=(-0.1,)), NAMES)
    flat = tell_told(ends(a=(0.0,)), NAMES)
    assert "align neither better nor worse with A (better at 0 of 1). This describes" in flat
    assert "no consistent direction" in tell_told(ends(a=(0.1, 0.0)), NAMES)
    small = pd.concat(
        [ends(a=(0.1,)), pd.DataFrame([("a", "0", 0.9, 0.0, 1)], columns=ends(a=()).columns)]
    )
    assert "better at every level with A" in tell_told(
        small, NAMES
    )  # the last bin falls, and has one stimulus
    alone = ends(a=(0.1,)).query("facts > 0.5")
    assert "too few captions differ in how much they tell" in tell_told(alone, NAMES)


def test_a_level_without_words_is_not_drawn():
    table = rows().replace({"words": {6.0: 0.0}})
    lines = language_lines(table, models(), facets())
    trends = level_trends(lines.rename(columns={"facet": "model_y"}), {})
    figure = by_words(
        level_points(by_level(table), models(), facets()), lines, trends, label="a", mode="light"
    )
    assert list(figure.layout.xaxis.ticktext) == ["11", "41"]
    assert all(x > 0 for trace in figure.data for x in trace.x if x is not None)
