"""The Competence page: bins, scores, training, the table and the user's own scores."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.questions.competence.scores import CAPTIONS
from tests.pages.measured import measure
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, NASTY, VISION, PaintedDataset, build

MISTAKES = (
    (
        "model,task,value,unit\ngpt-2-s,HellaSwag,thirty,%\n",
        "line 2: value 'thirty' is not a plain number",
    ),
    (f"model,task,value\n{NASTY},a,1\n", "has no column 'unit'"),
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """Return a store whose five vision models were measured, with four language models."""
    return measure(
        build(
            tmp_path_factory.mktemp("measured"),
            PaintedDataset(40),
            vision=VISION[:5],
            language=LANGUAGE[1:5],
        )
    )


def texts(app) -> str:
    return " ".join(text.value for text in app.markdown).replace("\\", "")


def codes(app) -> list[str]:
    return [code.value for code in app.code]


def test_it_draws_bins_scores_and_training_and_says_what_is_seen(opened, measured):
    app = opened(measured, "trends/training")
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["competence-bins", "downstream", "training"]
    assert "ision models with a higher share of tasks solved agree more, all pairs" in texts(app)
    for command in ("bins", "downstream", "training", "list"):
        assert any(code.startswith(f"platoscope competence {command}") for code in codes(app))
    assert app.selectbox(key="target").value.startswith("vit-")


def test_any_score_is_set_against_alignment_with_any_target_and_the_bits_per_byte_are_named(
    opened, demo
):
    app = opened(demo, "trends/training")
    assert app.selectbox(key="score").value == f"{CAPTIONS} (measured)"
    assert "for each text its bits over its UTF-8 bytes" in " ".join(texts(app).split())
    app.selectbox(key="target").set_value("reality").run()
    assert not app.exception
    score = f"competence downstream --score '{CAPTIONS} (measured)' --target reality"
    assert any(score in code for code in codes(app))


@pytest.mark.slow
def test_the_table_has_every_value_with_its_origin_and_is_filtered(opened, measured):
    app = opened(measured, "trends/training")
    table = app.dataframe[0].value
    assert set(table["origin"]) == {"measured", "published"}
    assert table["source, or digest of the recipe"].str.len().min() > 0
    app.multiselect(key="task").set_value(["task 2"]).run()
    assert set(app.dataframe[0].value["task"]) == {"task 2"}
    app.multiselect(key="task").set_value([])
    app.toggle(key="embedded").set_value(True).run()
    assert app.dataframe[0].value["embedded here"].all()


def upload(app, text: str, name: str = "mine.csv"):
    app.file_uploader[0].set_value((name, text.encode(), "text/csv"))
    return next(button for button in app.button if button.label == "Import").click().run()


@pytest.mark.slow
def test_own_scores_are_imported_told_and_can_be_drawn(opened, measured, tmp_path):
    app = opened(Path(shutil.copytree(measured, tmp_path / "own")), "competence")
    rows = "".join(
        f"{model},HellaSwag,{30 + place},%\n"
        for place, model in enumerate(("gpt-2-s", "gpt-2-m", "llama-m", "gone"))
    )
    upload(app, f"model,task,value,unit\n{rows}")
    assert "Imported scores: 4, of models: 4; in place of earlier scores: 0." in " ".join(
        text.value for text in app.success
    ).replace("\\", "")
    assert "'gone' is not embedded" in said(app)
    assert "user" in set(app.dataframe[0].value["origin"])
    app.selectbox(key="score").set_value("HellaSwag (user)").run()
    assert not app.exception
    assert any("--score 'HellaSwag (user)'" in code for code in codes(app))
    assert "Unknown: more aligned models score better" in texts(app)  # three models


def test_a_table_with_a_mistake_is_answered_by_a_sentence_and_nothing_is_taken(opened, measured):
    app = opened(measured, "trends/training")
    for text, sentence in MISTAKES:
        upload(app, text)
        assert not app.exception
        assert sentence in said(app)
        assert "user" not in set(app.dataframe[0].value["origin"])
