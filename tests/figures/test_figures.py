"""Figures from small tables: what is drawn, what is named, and what is said where nothing can be
drawn.
"""

import numpy as np
import pytest

from core.figures.marks import add_rings
from core.figures.theme import INK, hue, round_ticks
from core.metrics import METRICS
from core.questions.alignment.axes import AXES
from core.questions.alignment.figures import trend
from core.questions.alignment.layer_figures import LayerNoise, Layers, layer_grid, layer_profiles
from core.questions.alignment.points import calibrated_points, shared_points
from core.questions.stimuli.figures import agreement
from tests.figures.tables import (
    trend_fits,
    trend_points,
)

LABEL = "alignment (k = 5)"
KNN, ANGLE = METRICS["mutual_knn"].spec, METRICS["shape_angle"].spec


def words(figure):
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def chance_traces(figure):
    return [trace for trace in figure.data if getattr(trace.line, "dash", None) == "dot"]


def test_trend_has_a_panel_per_objective_and_a_line_per_vision_model():
    figure = trend(trend_points(), trend_fits(), label=LABEL, mode="light")
    runs = [trace for trace in figure.data if trace.legendgroup == "runs" and trace.x[0]]
    assert [list(run.x) for run in runs] == [[0.40, 0.45, 0.50]] * 3
    assert [run.xaxis for run in runs] == ["x", "x", "x2"]
    assert runs[1].line.width > runs[0].line.width


def test_a_ring_marks_the_chosen_pair_and_nothing_else():
    chosen, table = ("gpt-s", "mae-m"), trend_points()
    figure = trend(table, trend_fits(), label=LABEL, mode="light")
    unmarked = len(figure.data)
    add_rings(figure, chosen, "light")
    rings = [trace for trace in figure.data if trace.marker.symbol == "circle-open"]
    row = table[(table["model_x"] == chosen[0]) & (table["model_y"] == chosen[1])].iloc[0]
    assert [(ring.x, ring.y, ring.hoverinfo) for ring in rings] == [
        ((row["axis"],), (row["score"],), "skip")
    ]
    assert len(figure.data) == unmarked + 1


def test_trend_has_the_dots_of_a_panel_by_family_so_that_the_legend_hides_them():
    figure = trend(trend_points(), trend_fits(), label=LABEL, mode="light")
    dots = [trace for trace in figure.data if trace.customdata is not None]
    assert [(one.xaxis, one.legendgroup) for one in dots] == [
        ("x", "GPT-2"),
        ("x", "BLOOM"),
        ("x2", "GPT-2"),
        ("x2", "BLOOM"),
    ]
    assert [one.marker.color for one in dots] == [hue(one.legendgroup, "light") for one in dots]
    assert [list(pair) for pair in dots[0].customdata][:2] == [
        ["gpt-s", "mae-s"],
        ["gpt-s", "mae-m"],
    ]
    assert list(dots[0].x) == [0.40, 0.40, 0.50, 0.50]
    assert list(dots[1].x) == [0.45, 0.45]


def test_trend_prints_fit_reason_and_chance():
    figure = trend(trend_points(), trend_fits(), label=LABEL, mode="dark")
    assert "Spearman −0.50 · R² 0.80 · n = 3" in words(figure)
    assert "2 are too few for a line" in words(figure)
    assert {tuple(trace.y) for trace in chance_traces(figure) if trace.y[0]} == {(0.05, 0.05)}
    assert figure.layout.yaxis.title.text == LABEL
    assert "bits per byte" in figure.layout.xaxis.title.text


@pytest.mark.parametrize(("level", "name"), [(0.2, "ceiling 0.2"), (0.9, "far above the plot")])
def test_trend_draws_the_ceiling_and_names_it_with_its_value(level, name):
    points = trend_points().assign(ceiling=level, share=0.25)
    figure = trend(points, trend_fits(), label=LABEL, mode="light")
    lines = [trace for trace in figure.data if trace.legendgroup == "ceiling" and trace.x[0]]
    assert {tuple(line.y) for line in lines} == {(level, level)}
    (entry,) = (trace for trace in figure.data if trace.legendgroup == "ceiling" and trace.name)
    assert name in entry.name
    assert (figure.layout.yaxis.range[1] > level) == ("far" not in name)
    card = next(trace for trace in figure.data if trace.customdata is not None).hovertext[0]
    assert "0.25 of the way from chance to the ceiling" in card


def test_the_share_of_the_way_may_stand_on_the_axis():
    points = shared_points(trend_points().assign(ceiling=0.55, share=0.25))
    figure = trend(points, trend_fits(), label=LABEL, mode="light")
    dots = [trace for trace in figure.data if trace.customdata is not None]
    assert {value for trace in dots for value in trace.y} == {0.25}
    assert {tuple(trace.y) for trace in chance_traces(figure) if trace.x[0]} == {(0, 0)}
    assert "alignment 0.100<br>0.25 of the way" in dots[0].hovertext[0]
    none = trend(shared_points(trend_points()), trend_fits(), label=LABEL, mode="light")
    assert "No ceiling is known here" in words(none)


def test_trend_draws_the_fit_with_its_band():
    figure = trend(trend_points(), trend_fits(), label=LABEL, mode="light")
    band = next(trace for trace in figure.data if trace.fill == "toself")
    assert max(band.y) == pytest.approx(0.5 / 4 + 0.01)
    line = next(trace for trace in figure.data if trace.line.dash == "dash" and len(trace.x) == 5)
    assert line.y[-1] == pytest.approx(0.125)


def test_trend_draws_the_means_that_the_fit_takes():
    figure = trend(trend_points(), trend_fits(), label=LABEL, mode="light")
    (means,) = [one for one in figure.data if one.marker.symbol == "diamond" and one.x[0]]
    assert [means.xaxis, *means.x, *means.y] == ["x", 0.40, 0.45, 0.50, 0.10, 0.1125, 0.125]
    assert means.hovertext[0] == "mean of the panel 0.100<br>competence 0.40"
    alone = trend_points()[lambda points: points["model_y"] != "mae-m"]
    figure = trend(alone, trend_fits(), label=LABEL, mode="light")  # its dots are the means
    assert not [one for one in figure.data if one.marker.symbol == "diamond"]


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ((7e4, 6e5), {"100k", "200k", "500k"}),
        ((1e5, 2e10), {"1M", "10M", "100M", "1B", "10B"}),
    ],
)
def test_counts_stand_whole_at_a_logarithmic_axis(sizes, named):
    points = trend_points()
    points["axis"] = [sizes[row % 2] for row in range(len(points))]
    drawn = trend(points, trend_fits(), label="a", mode="light", axis=AXES["parameters"])
    texts = {
        text
        for tick, text in zip(drawn.layout.xaxis.tickvals, drawn.layout.xaxis.ticktext, strict=True)
        if sizes[0] <= tick <= sizes[1]
    }
    assert named <= texts
    assert len(texts) <= 7
    assert drawn.layout.xaxis.type == "log"
    runs = points.groupby(["facet", "model_y", "group_x"]).size()
    lines = [trace.x for trace in drawn.data if trace.legendgroup == "runs"]
    assert sorted(len(x) for x in lines if x[0] is not None) == sorted(runs)


def test_trend_keeps_ids_in_the_hover_card_and_escapes_titles():
    figure = trend(trend_points(), trend_fits(), label=LABEL, mode="light")
    card = next(trace for trace in figure.data if trace.customdata is not None).hovertext[0]
    assert "<b>GPT &lt;s&gt;</b> (100k)" in card
    assert "gpt-s × mae-s" in card
    assert "gpt-s" not in words(figure)


def test_layer_grid_frames_the_best_pair():
    scores = np.array([[0.1, 0.2, 0.1], [0.0, 0.1, 0.4]])
    figure = layer_grid(
        scores,
        Layers("GPT <s>", ["in", "b0"]),
        Layers("MAE s", ["p", "b0", "b1"]),
        spec=KNN,
        chance=0.05,
        mode="dark",
    )
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)
    assert "b0 × b1" in words(figure)
    assert "0.400" in words(figure)
    assert figure.layout.yaxis.title.text == "layer of GPT &lt;s&gt;"
    assert figure.data[0].zmin == 0.0


def test_layer_grid_marks_the_least_where_lower_is_aligned_and_tells_no_unknown_chance():
    figure = layer_grid(
        np.array([[0.9, 0.2], [0.5, 0.7]]),
        Layers("a", ["0", "1"]),
        Layers("b", ["0", "1"]),
        spec=ANGLE,
        chance=np.nan,
        mode="light",
    )
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].y0) == (0.5, -0.5)
    assert "chance" not in words(figure)
    assert "chance" not in figure.data[0].hovertemplate


def test_layers_tell_how_far_noise_lets_them_come():
    scores, noise = np.array([[0.2], [0.4]]), LayerNoise(np.array([[np.nan], [0.6]]), "at least ")
    layers = Layers("a", ["in", "b0"]), Layers("V1", ["voxels"])
    look = {"spec": KNN, "chance": 0.05, "mode": "light", "noise": noise}
    grid = layer_grid(scores, *layers, **look)
    assert "0.400</b>, chance 0.050, noise ceiling at least 0.600" in words(grid)
    assert np.asarray(grid.data[0].customdata).tolist() == [
        [""],
        [", noise ceiling at least 0.600"],
    ]
    (line,) = [one for one in layer_profiles(scores, *layers, **look).data if one.y[0] == 0.6]
    assert (line.name, line.showlegend, line.line.dash) == ("noise ceiling", True, "longdash")


def first_card(figure):
    return next(trace for trace in figure.data if trace.customdata is not None).hovertext[0]


def test_a_hover_card_tells_chance_and_interval_of_a_score():
    card = first_card(
        trend(trend_points().assign(low=0.08, high=0.12), trend_fits(), label=LABEL, mode="light")
    )
    assert "alignment 0.100, chance 0.050<br>95 % interval over stimuli 0.080 to 0.120" in card


def test_a_hover_card_of_a_calibrated_score_keeps_the_raw_one_apart():
    points = calibrated_points(
        trend_points().assign(calibrated=0.03, p=0.01, p_adjusted=0.02, low=0.08, high=0.12)
    )
    card = first_card(trend(points, trend_fits(), label=LABEL, mode="light"))
    assert (
        "alignment 0.030<br>raw score 0.100, chance 0.050<br>95 % interval over stimuli 0.080 "
        "to 0.120" in card
    )
    assert "p = 0.01, adjusted for all pairs p = 0.02" in card


def test_trend_draws_no_chance_line_where_every_pair_has_its_own():
    points = trend_points()
    points["chance"] = np.linspace(0.01, 0.02, len(points))
    assert not chance_traces(trend(points, trend_fits(), label=LABEL, mode="light"))


def test_agreement_marks_the_chosen_stimulus_its_mean_and_chance():
    shared = np.array([0, 1, 1, 2, 1, 1])
    figure = agreement(shared, chosen=3, k=2, title_x="a", title_y="b", mode="light")
    assert list(figure.data[0].y) == [1, 4, 1]
    assert figure.data[0].marker.color[2] == INK["light"].ember != figure.data[0].marker.color[1]
    levels = {shape.name: shape.x0 for shape in figure.layout.shapes if shape.showlegend}
    assert levels == {"mean 1.00: alignment 0.500": 1, "chance 0.80": 0.8}
    assert "stimulus 3" in words(figure)


def test_round_ticks_are_one_two_and_five():
    assert round_ticks(40.0, 1200.0) == [50, 100, 200, 500, 1000]
