"""The Dispersion page's figures from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import INK, hue
from core.questions.dispersion.figures import deciles, drop, effect
from core.questions.dispersion.held_out_figures import held_out
from core.questions.dispersion.points import effect_points
from core.study.models import MODEL_COLUMNS
from core.study.spaces import describe_spaces

LABEL = "alignment (CKNNA, k = 10)"
SPACES = ("mae:2", "clip:1")


def models() -> pd.DataFrame:
    rows = [
        ("mae", "MAE <m>", "vision", "MAE"),
        ("clip", "CLIP m", "vision", "CLIP"),
        ("gpt", "GPT", "language", "GPT-2"),
        ("bloom", "BLOOM", "language", "BLOOM"),
    ]
    table = pd.DataFrame(rows, columns=["model", "title", "modality", "group"]).assign(
        parameters=1e5
    )
    table["layers"] = [("patches", "block 1", "block 2")] * 4
    return table.reindex(columns=list(MODEL_COLUMNS))


def effects(**changed: dict) -> pd.DataFrame:
    """Return a table like that of `platoscope dispersion effect`, by set and score of the mean;
    language models lie 0.01 off it.
    """
    rows = [
        {
            "vision": vision,
            "language": name,
            "layer": 1,
            "set": chosen,
            "size": 20,
            "score": score + off,
            "low": score - 0.05,
            "high": score + 0.05,
            "p": np.nan,
            "reason": "",
        }
        for vision in SPACES
        for chosen, score in changed.items()
        for name, off in (("gpt", 0.01), ("bloom", -0.01), ("", 0.0))
    ]
    return pd.DataFrame(rows)


def sets(**more: float) -> pd.DataFrame:
    return effect_points(effects(low=0.3, high=0.2, random=0.25, full=0.24, **more), models())


def words(figure) -> str:
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def test_effect_joins_the_sets_of_each_language_model_and_draws_the_mean_with_its_interval():
    figure = effect(sets(), label=LABEL, chance=np.nan, mode="light")
    drawn = [trace for trace in figure.data if len(trace.x) == 3]
    assert {tuple(trace.x) for trace in drawn} == {("low", "random", "high")}
    line, dots = drawn[:2]
    assert list(line.y) == list(dots.y) == pytest.approx([0.31, 0.26, 0.21])
    assert dots.marker.color == hue("GPT-2", "light")
    mean = next(trace for trace in drawn if trace.marker.symbol == "diamond")
    assert list(mean.y) == pytest.approx([0.3, 0.25, 0.2])
    assert list(mean.error_y.array) == pytest.approx([0.05] * 3)
    assert mean.marker.color == INK["light"].text
    assert "mean over the language models" in mean.hovertext[0]


@pytest.mark.parametrize("narrow", [False, True])
def test_drop_joins_the_sets_of_one_size_and_leaves_the_full_one_apart(narrow):
    points = effect_points(
        effects(**{"full": 0.24, "without high": 0.3, "without low": 0.2, "without random": 0.25}),
        models(),
    )
    figure = drop(points, label=LABEL, chance=np.nan, mode="light", narrow=narrow)
    line, dots = figure.data[:2]
    assert list(line.x) == ["lowest", "random", "highest"]
    assert list(dots.x) == ["none", *line.x]
    assert list(dots.y) == pytest.approx([0.25, 0.21, 0.26, 0.31])
    assert (figure.layout.xaxis.domain == (0.0, 1.0)) == narrow


def test_deciles_are_a_line_of_means_per_model_from_the_least_dispersed_part():
    points = effect_points(
        effects(**{str(part): part / 100 for part in (10, 1, 2)}, full=0.9), models()
    )
    figure = deciles(points, label=LABEL, chance=0.05, mode="light")
    lines = [trace for trace in figure.data if trace.name in ("MAE &lt;m&gt;", "CLIP m")]
    assert [list(line.y) for line in lines] == [pytest.approx([0.01, 0.02, 0.1])] * 2
    assert [round(x) for x in lines[0].x] == [1, 2, 10]
    assert lines[1].line.color == hue("CLIP", "light")


def held() -> tuple[pd.DataFrame, pd.DataFrame]:
    points = pd.DataFrame(
        {
            "space": ["mae:2"] * 3 + ["clip:1"] * 3,
            "index": [0, 1, 2] * 2,
            "stimulus": "a",
            "dispersion": [1.0, 2, 3] * 2,
            "deviation": [2.0, 4, 6] * 2,
        }
    )
    fits = pd.DataFrame(
        [
            {
                "space": space,
                "n": 3,
                "pearson": -0.3,
                "pearson_low": -0.4,
                "pearson_high": -0.2,
                "shuffled": -0.1,
                "shuffled_p": 0.005,
                "spearman": 0.5,
                "slope": 2.0,
                "intercept": 0.0,
            }
            for space in SPACES
        ]
    )
    return (
        points.merge(describe_spaces(SPACES, models())[["space", "title", "group"]], on="space"),
        fits,
    )


def test_held_out_draws_dots_and_the_fit_with_its_figures():
    figure = held_out(*held(), mode="light")
    assert "Pearson −0.30 (−0.40 to −0.20), p = 0.005<br>shuffled −0.10, Spearman 0.50" in words(
        figure
    )
    line = next(trace for trace in figure.data if trace.name == "least-squares fit")
    assert list(line.y) == [2.0, 6.0]


def test_two_spaces_of_one_model_are_told_apart_by_their_layers():
    titles = describe_spaces(["mae:1", "mae:2", "clip:0"], models())["title"].tolist()
    assert titles == ["MAE <m>, block 1", "MAE <m>, block 2", "CLIP m"]
