"""The Competence page's figures from small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.figures.theme import hue
from core.questions.competence.bin_figures import bins
from core.questions.competence.figures import downstream, training
from core.questions.competence.points import bin_points, ranked
from core.statistics.emergence import compare_fits
from core.study.models import rank_within, skill_ranks

KINDS = {"all": "all pairs", "same": "both of one <objective>", "different": "across objectives"}
LABEL = "alignment (k = 5)"


def words(figure) -> str:
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def models() -> pd.DataFrame:
    rows = [
        ("mae", "MAE <m>", "vision", "MAE", 1e5),
        ("clip", "CLIP m", "vision", "CLIP", 1e6),
        ("gpt", "GPT", "language", "GPT-2", 1e5),
        ("bloom", "BLOOM", "language", "BLOOM", np.nan),
    ]
    return pd.DataFrame(rows, columns=["model", "title", "modality", "group", "parameters"])


def pairs_in_bins() -> pd.DataFrame:
    rows = [("clip", "mae", 0.3, 0.1, 0, False), ("gpt", "mae", 0.5, 0.15, 0, True)]
    points = pd.DataFrame(rows, columns=["model_x", "model_y", "score", "skill", "bin", "same"])
    return bin_points(points, models())


def binned(**changed: object) -> pd.DataFrame:
    rows = [
        (
            kind,
            bin,
            0.2 * bin,
            0.2 * bin + 0.2,
            2,
            1,
            0.4 + 0.1 * bin,
            0.05,
            -0.5,
            0.004,
            "",
            "shares",
        )
        for kind in KINDS
        for bin in (0, 1)
    ]
    names = [
        "pairs_of",
        "bin",
        "low",
        "high",
        "models",
        "pairs",
        "mean",
        "se",
        "slope",
        "p",
        "trend_reason",
        "basis",
    ]
    return pd.DataFrame(rows, columns=names).assign(**changed)


def drawn_bins(**changed: object):
    look = {"kinds": KINDS, "label": LABEL, "chance": 0.05, "mode": "light"}
    return bins(pairs_in_bins(), binned(), **{**look, **changed})


def test_bins_are_means_with_errors_at_the_middle_of_each_bin_in_a_panel_per_kind_of_pairs():
    figure = drawn_bins()
    means = [trace for trace in figure.data if trace.error_y.array is not None]
    assert len(means) == 3
    assert list(means[0].x) == pytest.approx([0.1, 0.3])
    assert list(means[0].y) == pytest.approx([0.4, 0.5])
    assert list(means[0].error_y.array) == [0.05, 0.05]
    assert list(means[0].error_x.array) == pytest.approx([0.1, 0.1])
    assert "2 models, 1 pair<br>mean alignment 0.400 ± 0.050" in means[0].hovertext[0]


def test_bins_know_chance_only_where_a_formula_tells_it():
    dotted = [trace for trace in drawn_bins().data if trace.line.dash == "dot"]
    assert [set(trace.y) for trace in dotted] == [{0.05}] * 3
    assert not [trace for trace in drawn_bins(chance=np.nan).data if trace.line.dash == "dot"]


def scored(**changed: object) -> pd.DataFrame:
    rows = [
        (
            f"m{i}",
            f"M <{i}>",
            "language",
            1e5 * 10**i,
            i / 10,
            0.01,
            0.1 if i < 4 else 0.3 * (i - 3),
            i / 7,
        )
        for i in range(8)
    ]
    names = ["model", "title", "modality", "parameters", "near", "chance", "value", "rank"]
    return pd.DataFrame(rows, columns=names).assign(**changed)


def drawn_scores(points: pd.DataFrame):
    fits = compare_fits(points["near"].to_numpy(), points["value"].to_numpy())
    return downstream(
        points,
        fits,
        label=LABEL,
        score="GSM8K (published), %",
        rank="1 - bits",
        note="Spearman 0.9",
        mode="light",
    )


def test_scores_are_dots_of_the_models_size_in_the_color_of_their_rank():
    dots = next(
        trace
        for trace in drawn_scores(scored()).data
        if trace.customdata is not None and len(trace.x)
    )
    assert list(dots.x) == pytest.approx([i / 10 for i in range(8)])
    assert list(dots.marker.size) == [max(26 / 10 ** (7 - i), 4.0) for i in range(8)]
    assert list(dots.marker.color) == pytest.approx([i / 7 for i in range(8)])
    assert "<b>M &lt;3&gt;</b>" in dots.hovertext[3]
    assert "alignment 0.300, chance 0.010<br>score 0.1<br>rank 43 %" in dots.hovertext[3]


def test_the_line_and_the_stick_are_drawn_with_their_errors_and_the_stick_bends_at_its_knot():
    figure = drawn_scores(scored())
    line, stick = (
        trace for trace in figure.data if trace.mode == "lines" and trace.x[0] is not None
    )
    assert line.name.startswith("line: error ")
    assert stick.name.startswith("broken stick: error ")
    assert list(stick.x) == pytest.approx([0.0, 1 / 3, 0.7], abs=0.04)
    assert stick.y[0] == pytest.approx(stick.y[1], abs=1e-9)  # flat, then steep
    assert "Spearman 0.9" in words(figure)
    assert figure.layout.yaxis.title.text == "GSM8K (published), %"


def steps() -> pd.DataFrame:
    runs = (("mae", "vision", "MAE"), ("gpt", "language", "GPT-2"))
    rows = [
        (
            f"{run}-{step}",
            run,
            float(step),
            modality,
            target,
            step / 1000,
            3,
            run.upper(),
            group,
            1e5,
        )
        for target in ("reality", "trained vision models")
        for run, modality, group in runs
        for step in (50, 500)
    ]
    names = [
        "model",
        "run",
        "step",
        "modality",
        "target",
        "score",
        "models",
        "title",
        "group",
        "parameters",
    ]
    return pd.DataFrame(rows, columns=names)


def test_training_has_a_panel_per_target_and_a_line_per_training_over_steps():
    figure = training(steps(), label=LABEL, chance=0.01, mode="dark")
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert "with reality" in words(figure)
    assert [list(trace.x) for trace in lines] == [[50.0, 500.0]] * 4
    assert lines[0].line.color != lines[1].line.color
    assert lines[0].marker.color == hue("MAE", "dark")
    assert [trace.marker.symbol for trace in lines[:2]] == ["square", "circle"]
    assert figure.layout.xaxis.type == "log"
    assert "after 500 steps<br>alignment 0.500, mean over 3" in lines[0].hovertext[1]


def test_ranks_are_within_a_modality_from_the_least_to_the_most_competent():
    competence = pd.DataFrame({"model": ["gpt", "bloom"], "value": [0.3, 0.2]})
    solved = pd.DataFrame({"model": ["mae", "clip"], "solved": [0.9, np.nan], "basis": "shares"})
    ranks = skill_ranks(models(), competence, solved)
    assert ranks[["gpt", "bloom"]].tolist() == [1.0, 0.0]
    assert ranks[["mae", "clip"]].isna().all()  # the only one that was measured has no rank


def test_equal_values_share_a_rank():
    ranks = rank_within(pd.Series([1.0, 1.0, 3.0]), pd.Series(["a"] * 3))
    assert ranks.tolist() == [0.25, 0.25, 1.0]


def test_points_of_a_score_are_ranked_among_those_that_have_an_alignment():
    points = models()[models()["modality"] == "language"].assign(near=[0.2, np.nan])
    skill = pd.Series({"gpt": 0.5, "bloom": 0.6})
    assert ranked(points, skill)["rank"].isna().all()  # the only one with an alignment has no rank
    both = ranked(points.assign(near=0.2), skill)
    assert both["rank"].tolist() == [0.0, 1.0]
