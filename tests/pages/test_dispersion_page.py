"""The Dispersion page: its plots follow its controls, and what cannot be drawn says why while the
rest is drawn.
"""

from __future__ import annotations

import json
import shlex

import pytest

from core.cli import make_parser
from tests.pages.seen import charts, said

PLOTS = ["effect", "predictors", "drop", "rankings", "residual-space", "held-out"]


def words(app) -> str:
    text = " ".join(text.value for text in app.markdown).replace("\\", "")
    return " ".join(text.split())


def commands(app) -> list[str]:
    return [code.value for code in app.code]


@pytest.mark.slow
def test_the_page_draws_figure_two_its_supplements_and_what_explains_them(opened, three):
    app = opened(three, "images/language")
    assert not app.exception
    assert charts(app) == PLOTS
    assert not said(app)
    assert app.multiselect(key="spaces").value == [
        "vit-mae-m:2",
        "vit-clip-m:2",
        "vit-supervised-s:2",
    ]
    assert app.selectbox(key="metric").value == "cknna"
    assert "the 15 least and the 15 most dispersed of 60" in words(app)
    assert len(commands(app)) == len(PLOTS) + 1  # and that of the published values
    for command in commands(app):
        make_parser().parse_args(shlex.split(command)[1:])
    assert "Published: up to +100% with CKNNA" in words(app)
    assert "Published: r = 0.21 to 0.43" in words(app)
    assert "3 random sets are too few to judge chance" in words(app)


@pytest.mark.slow
def test_set_size_summary_ranking_and_metric_are_followed(opened, three):
    app = opened(three, "images/language")
    app.number_input(key="size").set_value(20)
    app.selectbox(key="by").set_value("pc1")
    app.selectbox(key="centering").set_value("stimuli")
    app.selectbox(key="metric").set_value("mutual_knn")
    app.number_input(key="k").set_value(4).run()
    assert not app.exception
    assert "the 20 least and the 20 most" in words(app)
    assert charts(app) == PLOTS
    chosen = "--centering stimuli --by pc1 --repeats 3 --draws 4 --metric mutual_knn --k 4"
    effect, _, drop, rankings = commands(app)[:4]
    assert " vit-supervised-s:2 --centering stimuli --rank --size 20" in rankings
    assert effect.startswith("platoscope dispersion effect --spaces vit-mae-m:2 ")
    assert f"{chosen} --size 20" in effect
    assert "--sets drop" in drop
    assert chosen in drop


@pytest.mark.slow
def test_language_models_alone_are_not_aligned_with_themselves(opened, small):
    app = opened(small(40), "images/language")
    app.multiselect(key="spaces").set_value(["gpt-2-m:2", "gpt-2-s:2", "gpt-2-xs:2"]).run()
    assert not app.exception
    assert charts(app) == PLOTS  # the vision models are aligned on what language models agree on
    assert "predict" in " ".join(commands(app))


@pytest.mark.slow
def test_a_plot_of_many_stimuli_shows_a_sample_and_says_so(opened, demo, monkeypatch):
    monkeypatch.setattr("core.questions.dispersion.question.DRAWN", 20)
    monkeypatch.setattr("pages._parts.images.language.DRAWN", 20)
    app = opened(demo, "images/language")
    assert not app.exception
    said_so = [one.value for one in app.caption if one.value.startswith("A random")]
    assert set(said_so) == {"A random sample of 20 of 60."}
    (chart,) = [one for one in app.get("plotly_chart") if one.key == "held-out"]
    dots = [one for one in json.loads(chart.proto.spec)["data"] if one.get("hovertext")]
    assert {len(one["hovertext"]) for one in dots} == {20}
