"""The page Trends: its tabs over stores that have more and less; scores and their import."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from core.questions.competence.scores import CAPTIONS
from core.study.selections import encode
from tests.pages.measured import measure
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, NASTY, VISION, PaintedDataset, add_features, build

MISTAKES = (
    (
        "model,task,value,unit\ngpt-2-s,HellaSwag,thirty,%\n",
        "row 1: value is not a plain number",
    ),
    (f"model,task,value\n{NASTY},a,1\n", "has no column 'unit'"),
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """Return a store whose five vision models were measured, with four language models."""
    dataset = PaintedDataset(40)
    root = tmp_path_factory.mktemp("measured")
    return measure(build(root, dataset, vision=VISION[:5], language=LANGUAGE[1:5]))


def spec(app, key: str) -> dict:
    return json.loads(next(one for one in app.get("plotly_chart") if one.key == key).proto.spec)


def heads(app, key: str) -> list[str]:
    """Return the headings of a figure's panels."""
    texts = [note["text"] for note in spec(app, key)["layout"].get("annotations", [])]
    return [text.partition("</b>")[0].removeprefix("<b>") for text in texts if "<b>" in text]


def codes(app) -> list[str]:
    return [code.value for code in app.code]


def text_of(app) -> str:
    shown = (*app.markdown, *app.caption, *app.header, *app.title)
    return " ".join(each.value for each in shown).replace("\\", "")


def table(app, column: str):
    """Return the table that has a column."""
    return next(one.value for one in app.dataframe if column in one.value)


def test_it_opens_with_one_scatter_of_means_and_panels_are_a_toggle(opened, demo):
    app = opened(demo, "trends/across")
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["trend", "downstream"]
    assert heads(app, "trend") == []
    assert "etter language models align more with vision models" in text_of(app)
    assert app.number_input(key="k").max == 59
    app.toggle(key="panels").set_value(True).run()
    assert set(heads(app, "trend")) == {"MAE", "CLIP", "Supervised", "Reality"}
    assert any("--panels" in code for code in codes(app))


def test_the_axis_may_be_parameters_and_its_models_vision(opened, demo):
    chosen = {"axis_models": "vision", "axis": "parameters", "y": ["gpt-2-m", "gpt-2-s"]}
    app = opened(demo, "trends/across", panels="true", **chosen)
    assert not app.exception
    assert heads(app, "trend") == ["GPT-2"]
    assert spec(app, "trend")["layout"]["xaxis"]["type"] == "log"
    (line,) = (code for code in codes(app) if code.startswith("platoscope align --y"))
    assert "--axis-models vision --axis parameters" in line


def test_reality_is_one_of_the_models_to_compare_with(opened, demo):
    app = opened(demo, "trends/across")
    assert "Reality" in app.multiselect(key="y").options
    app.multiselect(key="y").set_value(["reality"]).run()
    assert set(table(app, "model y")["model y"]) == {"Reality"}
    assert any("--y reality" in code for code in codes(app))


def test_a_set_of_stimuli_from_a_link_can_be_left(opened, demo):
    app = opened(demo, "trends/across", stimuli=encode(range(25), 60))
    assert (table(app, "model y")["n"] == 25).all()
    assert f"--stimuli {encode(range(25), 60)}" in codes(app)[0]
    app.button(key="drop-stimuli").click().run()
    assert (table(app, "model y")["n"] == 60).all()


@pytest.mark.slow
def test_any_metric_on_a_part_of_the_stimuli_calibrated(opened, demo):
    app = opened(demo, "trends/across", metric="cka", null="100", where="scene=forest")
    assert not app.exception
    for word in ("--metric cka", "--null 100", "--where scene=forest"):
        assert word in codes(app)[0]
    assert table(app, "model y")["p"].between(1 / 101, 1).all()


def test_over_texts_alone_nothing_is_said_of_vision(opened, tmp_path):
    dataset = PaintedDataset(40, name="own", title="Own")
    app = opened(build(tmp_path, dataset, vision=(), reality=False), "trends")
    assert not app.exception
    assert charts(app) == ["convergence"]
    assert heads(app, "convergence") == ["Language"]
    shown = text_of(app) + json.dumps(spec(app, "convergence"))
    assert "vision" not in shown.lower()
    assert "Cave" not in shown


def test_without_any_axis_models_are_ranked_by_their_mean_alignment(opened, tmp_path):
    dataset = PaintedDataset(40)
    build(tmp_path, dataset, vision=(), language=(), reality=False)
    for place in range(5):
        features = dataset.reality + place
        add_features(tmp_path, dataset, features, title=f"Own {place}", name=f"own-{place}")
    app = opened(tmp_path, "trends")
    assert not app.exception
    assert charts(app) == ["ranking"]


@pytest.mark.parametrize("modality", [pytest.param("vision", marks=pytest.mark.slow), "language"])
def test_a_model_of_one_vector_is_left_out_once_with_its_reason(opened, small, tmp_path, modality):
    shutil.copytree(small(40), tmp_path, dirs_exist_ok=True)
    dataset = PaintedDataset(40)
    flat = dataset.reality * 0 + 1
    add_features(tmp_path, dataset, flat, title="Flat", name="flat", modality=modality)
    app = opened(tmp_path, "trends/across")
    assert not app.exception
    reasons = [one.value for one in app.caption if "flat" in one.value]
    assert ["this space has no neighbors" in reason for reason in reasons] == [True]


def test_levels_have_bins_and_all_values_with_their_origins(opened, measured):
    app = opened(measured, "trends/within")
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["convergence", "competence-bins"]
    assert any(code.startswith("platoscope competence bins") for code in codes(app))
    values = table(app, "origin")
    assert set(values["origin"]) == {"measured", "published"}


def upload(app, text: str):
    app.file_uploader[0].set_value(("mine.csv", text.encode(), "text/csv"))
    return next(button for button in app.button if button.label == "Import").click().run()


@pytest.mark.slow
def test_own_scores_are_imported_and_predicted(opened, measured, tmp_path):
    app = opened(Path(shutil.copytree(measured, tmp_path / "own")), "trends/across")
    assert app.selectbox(key="score").value == f"{CAPTIONS} (measured)"
    named = enumerate(("gpt-2-s", "gpt-2-m", "llama-m", "gone"))
    rows = "".join(f"{model},HellaSwag,{30 + place},%\n" for place, model in named)
    upload(app, f"model,task,value,unit\n{rows}")
    done = " ".join(text.value for text in app.success).replace("\\", "")
    assert "Scores imported: 4; models: 4" in done
    assert "'gone' is not embedded" in said(app)
    app.selectbox(key="score").set_value("HellaSwag (user)").run()
    assert not app.exception
    assert any("--score 'HellaSwag (user)'" in code for code in codes(app))


def test_a_table_with_a_mistake_is_answered_by_a_sentence_and_nothing_is_taken(opened, measured):
    app = opened(measured, "trends/across")
    for text, sentence in MISTAKES:
        upload(app, text)
        assert not app.exception
        assert sentence in said(app)
        assert "user" not in set(table(app, "origin")["origin"])
