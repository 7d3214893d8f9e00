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


def test_effect_has_a_panel_per_model_with_the_ratio_and_its_interval():
    figure = effect(sets(**{"low/high": 1.5}), label=LABEL, chance=np.nan, mode="light")
    assert "<b>MAE &lt;m&gt;</b>" in words(figure)
    assert words(figure).count("low / high <b>1.50</b> (1.45 to 1.55)") == 2
    assert len(list(figure.select_xaxes())) == 2


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


def test_the_models_of_a_family_share_a_trace_and_are_joined_one_by_one():
    table = models()
    table.loc[table["model"] == "bloom", "group"] = "GPT-2"
    points = effect_points(effects(low=0.3, random=0.25, high=0.2), table)
    line, dots = effect(points, label=LABEL, chance=np.nan, mode="light").data[:2]
    assert list(line.x) == ["low", "random", "high", None, "low", "random", "high"]
    assert [line.y[at] for at in (0, 4)] == pytest.approx([0.31, 0.29])
    assert line.y[3] is None
    assert not line.connectgaps
    assert sorted(dots.y) == pytest.approx([0.19, 0.21, 0.24, 0.26, 0.29, 0.31])
    assert len(dots.hovertext) == len(dots.marker.size) == 6


def test_the_hover_card_tells_set_interval_p_and_ids():
    points = sets().assign(p=0.02)
    card = next(
        trace
        for trace in effect(points, label=LABEL, chance=np.nan, mode="dark").data
        if trace.hovertext
    ).hovertext[0]
    assert (
        "dispersion: low, 20 stimuli compared<br>alignment 0.310, 95 % interval 0.250 to 0.350<br>p"
        " = 0.02" in card
    )
    assert "gpt × mae:2" in card


def test_effect_says_why_a_ratio_is_missing_and_why_nothing_can_be_drawn():
    points = sets(**{"low/high": np.nan})
    points["reason"] = points["reason"].where(
        points["set"] != "low/high", "the high set has no alignment"
    )
    assert "no ratio: the high set has no alignment" in words(
        effect(points, label=LABEL, chance=np.nan, mode="light")
    )
    empty = sets().assign(score=np.nan, reason="k is too <large>")
    assert "k is too &lt;large&gt;" in words(
        effect(empty, label=LABEL, chance=np.nan, mode="light")
    ).replace("<br>", " ")


def test_a_known_chance_is_dotted_in_every_panel():
    figure = effect(sets(), label=LABEL, chance=0.1, mode="light")
    dotted = [trace for trace in figure.data if trace.line.dash == "dot" and trace.y[0]]
    assert [set(trace.y) for trace in dotted] == [{0.1}, {0.1}]


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


def test_a_mean_without_an_interval_tells_none():
    points = effect_points(effects(full=0.24, **{"without low": 0.2}), models()).assign(
        low=np.nan, high=np.nan
    )
    figure = drop(points, label=LABEL, chance=np.nan, mode="light")
    assert "interval" not in " ".join(
        card for trace in figure.data for card in trace.hovertext or ()
    )


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


def test_held_out_says_where_there_is_no_correlation():
    points, fits = held()
    assert (
        words(held_out(points, fits.assign(pearson=np.nan), mode="light")).count("does not vary")
        == 2
    )


def test_many_dots_are_drawn_by_the_graphics_card():
    points, fits = held()
    many = pd.concat([points] * 200, ignore_index=True)
    assert {trace.type for trace in held_out(many, fits, mode="light").data} == {"scattergl"}
    assert {trace.type for trace in held_out(points, fits, mode="light").data} == {"scatter"}


def test_two_spaces_of_one_model_are_told_apart_by_their_layers():
    titles = describe_spaces(["mae:1", "mae:2", "clip:0"], models())["title"].tolist()
    assert titles == ["MAE <m>, block 1", "MAE <m>, block 2", "CLIP m"]
