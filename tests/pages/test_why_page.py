"""The page Why: the predictions over stores that have more and less, and captions at all levels."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from core.cli import make_parser
from tests.pages.levels import retell
from tests.pages.seen import charts, said
from tests.pages.world import LANGUAGE, NASTY, VISION, PaintedDataset, build
from tests.questions.test_imports_only import import_only


@pytest.fixture(scope="module")
def leveled(tmp_path_factory) -> Path:
    dataset = PaintedDataset(40)
    root = build(
        tmp_path_factory.mktemp("leveled"),
        dataset,
        vision=VISION[1:3],
        language=[*LANGUAGE[1:3], LANGUAGE[4]],
    )
    return retell(root, dataset, ("gpt-2-m", "llama-m"))


def words(app) -> str:
    return " ".join(text.value for text in app.markdown).replace("\\", "")


def codes(app) -> list[str]:
    return [code.value for code in app.code]


def test_it_opens_with_the_predictions_and_what_is_not_testable_is_counted_apart(opened, demo):
    app = opened(demo, "why")
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["claims", "convergence-levels"]
    assert "Of 6 predictions: 0 supported, 0 contradicted" in words(app)
    assert "not testable here" in words(app)
    assert len(app.dataframe[0].value) == 6
    assert any(code.startswith("platoscope convergence summary") for code in codes(app))


def test_captions_at_their_levels_and_one_image_at_each(opened, leveled):
    app = opened(leveled, "why/captions")
    assert not app.exception
    assert charts(app) == ["levels", "facts"]
    assert not said(app)
    assert app.multiselect(key="x").options == ["GPT-2 M", "LLaMA M"]
    assert "longer captions align better with" in words(app)
    for command in codes(app):
        make_parser().parse_args(shlex.split(command)[1:])
    assert [text.value for text in app.caption if text.value.startswith("**level")] == [
        f"**level {n}**" for n in (5, 10, 20, 40)
    ]


@pytest.mark.slow
def test_an_image_is_shown_as_it_is_at_every_level_whichever_are_studied(opened, leveled):
    app = opened(leveled, "why/captions", stimulus="1", where="scene=city", q="0.9")
    assert not app.exception
    assert not app.warning
    assert all("--where scene=city" in code and "--q 0.9" in code for code in codes(app))
    assert sum(NASTY in text.value for text in app.text) == 4
    assert not any("onerror" in text.value for text in (*app.markdown, *app.caption))
    next(button for button in app.button if button.label == "Next").click().run()
    assert app.query_params["stimulus"] == "2"


def test_captions_of_one_level_are_no_tab(opened, small):
    app = opened(small(40), "why")
    assert not app.exception
    assert charts(app)[0] == "claims"
    assert "caption" not in words(app).lower()


def test_without_sizes_and_scores_it_says_what_would_be_tested_and_how_to_bring_it(
    opened, tmp_path
):
    app = opened(import_only(tmp_path), "why")
    assert not app.exception
    assert "No prediction is testable here: they need two families" in words(app)
    assert charts(app)[0] == "claims"
    (how,) = [code for code in codes(app) if code.startswith("platoscope import MODELS.csv")]
    assert make_parser().parse_args(shlex.split(how)[1:])
