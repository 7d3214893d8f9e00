"""Colors of a study: each source gives dissimilarities, tables are turned onto perception and
kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.encoders.encoder import Encoding, ModelCard
from core.errors import FeatureError, InputError, MetricError, UnknownNameError
from core.options import build as build_question
from core.questions.asking import answer, ask
from core.questions.color.counts import count_colors
from core.questions.color.figures import clouds
from core.questions.color.question import ColorAgreement, ColorLayout, ColorModels
from core.questions.color.sources import (
    BEST,
    LAB,
    LARGEST,
    PERCEPTION,
    PIXELS,
    WORST,
    Reading,
    choose_model,
    color_words,
    from_counts,
    from_vectors,
    of_captions,
    of_model,
    of_pixels,
    to_lab,
)
from core.stimuli.images import load_image
from core.store import Store
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

QUICK = {"starts": 5, "permutations": 19}
CIFAR = f"{PIXELS}cifar10"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"),
        PaintedDataset(24),
        vision=[VISION[0]],
        language=LANGUAGE[1:3],
        reality=False,
    )


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


def lay_out(study: Study, *sources: str, **choices: object) -> pd.DataFrame:
    return ask(build_question(ColorLayout, {"source": sources, **QUICK, **choices}), study)


def compare(study: Study, *sources: str, **choices: object) -> pd.DataFrame:
    return ask(build_question(ColorAgreement, {"source": sources, **QUICK, **choices}), study)


def compare_models(study: Study, **choices: object) -> pd.DataFrame:
    return ask(build_question(ColorModels, {**QUICK, **choices}), study)


def test_perception_is_cielab_itself(study):
    table = lay_out(study, PERCEPTION)
    assert table[["x", "y", "z"]].to_numpy() == pytest.approx(table[LAB].to_numpy(), abs=1e-6)
    assert len(table) == 24
    first = table.iloc[0]
    assert (first["kendall"], first["kendall_p"]) == pytest.approx((1, 0.05))
    assert first["disparity_p"] == pytest.approx(0.05)
    exact = table[["error", "stress", "disparity"]].to_numpy()
    assert exact == pytest.approx(np.zeros((24, 3)), abs=1e-6)


def test_natural_images_know_something_of_color(study):
    table = lay_out(study, CIFAR)
    assert table["kendall"].iloc[0] > 0.3
    assert table["kendall_p"].iloc[0] == 0.05
    assert (table["seen"] >= 100).all()


def literal_pmi(counts: np.ndarray) -> list[list[float]]:
    """Return max PMI − PMI of a table of counts, each raised by 1, in loops; 0 on the diagonal."""
    n = len(counts)
    raised = [[float(counts[i, j]) + 1 for j in range(n)] for i in range(n)]
    total = sum(map(sum, raised))
    alone = [sum(row) / total for row in raised]
    information = [
        [math.log(raised[i][j] / total / (alone[i] * alone[j])) for j in range(n)] for i in range(n)
    ]
    largest = max(map(max, information))
    return [[0.0 if i == j else largest - information[i][j] for j in range(n)] for i in range(n)]


def test_the_grids_own_colors_of_a_dataset_are_laid_out_by_how_often_they_meet(study):
    choices = {"by": "cells", "grid": 3, "radius": 2.0, "pairs": 30_000}
    question = build_question(ColorLayout, {"source": (f"{PIXELS}cave",), **choices, **QUICK})
    found = answer(question, study)
    webps = study.store.thumbnails("cave", range(24))
    pictures = [np.asarray(load_image(webp, name="")) for webp in webps]
    counts = count_colors(pictures, radius=2.0, pairs=30_000, grid=3)
    often = np.flatnonzero(counts.sum(axis=1) >= 100)
    assert found.table["color"].tolist() == found.table["hex"].tolist()
    assert found.table["seen"].tolist() == counts.sum(axis=1)[often].tolist()
    gathered = of_pixels(study, "cave", question.reading, color_words())
    expected = literal_pmi(counts[np.ix_(often, often)])
    assert gathered.matrix == pytest.approx(np.array(expected))
    figure = clouds(found.table).draw("light")
    assert max(len(trace.x) for trace in figure.data if trace.mode == "markers") == len(often)


def test_pixels_count_for_the_nearest_word_and_of_a_part_only_its_own(study):
    some = Study(study.store, "cave", where={"scene": "forest"})
    reading = Reading(pairs=30_000)
    whole, part = (of_pixels(one, "cave", reading, color_words()) for one in (study, some))
    assert set(whole.colors) <= set(color_words()["word"])
    assert part.seen.sum() < 2 * 30_000 >= whole.seen.sum()
    assert whole.matrix.shape != part.matrix.shape or (whole.matrix != part.matrix).any()


def test_images_that_are_not_there_are_told(study):
    message = "no dataset named 'cifar'; did you mean cifar10"
    with pytest.raises(UnknownNameError, match=message):
        lay_out(study, f"{PIXELS}cifar")
    few = np.diag([5, 4])
    with pytest.raises(MetricError, match="1 colors were seen 5 times or more"):
        from_counts(few, ["a", "b"], np.zeros((2, 3)), least=5, most=2)


def test_captions_alone(study, monkeypatch):
    texts = [
        "a red and a maroon and an orange hat",
        "blue teal cyan",
        "red orange",
        "teal blue",
        "peach red orange blue",
    ] * 10
    table = pd.DataFrame({"index": range(50), "text": texts})
    monkeypatch.setattr(type(study.store), "captions", lambda *_: table)
    found = of_captions(study, color_words())
    assert set(found.colors) == {"red", "orange", "blue", "teal", "maroon", "cyan", "peach"}
    near = found.of(["red", "orange", "teal"]).matrix
    assert near[0, 1] < near[0, 2]


def test_the_best_and_the_worst_language_model_are_so_by_competence(study):
    values = study.competence().dropna(subset="value").set_index("model")["value"]
    assert choose_model(study, BEST) == values.idxmax()
    assert choose_model(study, WORST) == values.idxmin()
    assert choose_model(study, "hf:some/model") == "hf:some/model"
    with pytest.raises(
        UnknownNameError, match="no source of colors named 'simcze'; did you mean simcse"
    ):
        choose_model(study, "simcze")


class Rainbow:
    """A language model of CIELAB: its second layer is where a word's color lies, its first says
    nothing.
    """

    device = "cpu"
    recipe: Mapping[str, object] = {}

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def encode(self, items):
        lab = color_words().set_index("word")[LAB]
        found = [lab.loc[item.rstrip(".").split()[-1]].to_numpy(np.float32) for item in items]
        return Encoding((np.ones((len(items), 2), np.float32), np.stack(found)))


@pytest.fixture
def rainbow(monkeypatch: pytest.MonkeyPatch) -> None:
    def reopen(entry, _):
        return Rainbow(replace(entry.card, layers=("embedding", "block 1")))

    monkeypatch.setattr("core.competence.opened.reopen", reopen)


@pytest.mark.usefixtures("rainbow")
def test_language_models_are_asked_and_shown_beside_their_competence(study):
    table = compare_models(study, words=("red", "green", "blue", "yellow", "pink", "brown"))
    assert table["model"].tolist() == study.readers("caption")
    assert table["kendall"].tolist() == pytest.approx([1.0] * len(table))
    assert table["competence"].tolist() == pytest.approx(
        study.competence()["value"].tolist(), nan_ok=True
    )
    silent = compare_models(study, layer="embedding")
    assert silent["reason"].str.contains("not all 0").all()
    assert silent[["kendall", "disparity_p"]].isna().all(axis=None)


@pytest.mark.usefixtures("rainbow")
def test_a_model_of_the_cave_is_asked_for_its_colors_alone(study, monkeypatch):
    name = study.readers("caption")[0]
    assert len(of_model(study, name, None, color_words()).colors) in (18, 24)
    monkeypatch.setattr("core.questions.color.sources._in_the_cave", lambda words: words.head(7))
    trained = bool(study.entry(name).card.training.get("config"))
    assert len(of_model(study, name, None, color_words()).colors) == (7 if trained else 24)


def test_the_caves_colors_are_eighteen_of_the_words():
    from core.questions.color.sources import _in_the_cave

    left_out = set(color_words()["word"]) - set(_in_the_cave(color_words())["word"])
    assert left_out == {"brown", "black", "white", "gray", "tan", "beige"}


@pytest.mark.usefixtures("rainbow")
def test_sources_are_compared_over_the_colors_that_all_have(study):
    table = compare(study, PERCEPTION, CIFAR, "gpt-2-m", bootstrap=20)
    assert len(table) == 3
    words = of_pixels(study, "cifar10", Reading(), color_words()).colors
    known = of_model(study, "gpt-2-m", None, color_words()).colors
    assert table["colors"].unique().tolist() == [len({*words} & {*known})]
    assert table["value"].max() == pytest.approx(1, abs=1e-3)  # the model is perception itself
    assert (table["p_adjusted"] >= table["p"]).all()
    few = compare(
        study, PERCEPTION, CIFAR, words=("red", "green", "blue", "pink", "teal"), bootstrap=0
    )
    assert few["colors"].unique().tolist() == [5]


def test_what_cannot_be_compared_is_refused(study):
    with pytest.raises(InputError, match="expected at least two sources to compare"):
        compare(study, PERCEPTION)
    with pytest.raises(InputError, match="perception is named twice; leave one out"):
        compare(study, PERCEPTION, CIFAR, PERCEPTION)
    with pytest.raises(MetricError, match="no color in common"):
        compare(study, PERCEPTION, CIFAR, by="cells")
    with pytest.raises(UnknownNameError, match="no color word named 'rod'; did you mean red"):
        compare_models(study, words=("rod",))
    with pytest.raises(FeatureError, match="must be finite"):
        from_vectors(np.full((24, 3), np.nan), color_words())


def test_without_any_source_one_of_each_kind_is_meant(study):
    complete = ColorLayout().complete(study)
    best, worst, vision = (choose_model(study, one) for one in (BEST, WORST, LARGEST))
    assert complete.source == (PERCEPTION, CIFAR, best, vision, "captions", worst)
    assert study.entry(vision).card.modality == "vision"


class Eye(Rainbow):
    """A vision model whose last layer is the mean CIELAB color of an image."""

    def encode(self, items):
        means = [np.asarray(item, np.float64).reshape(-1, 3).mean(axis=0) for item in items]
        lab = to_lab(np.stack(means)).astype(np.float32)
        return Encoding((np.ones((len(items), 2), np.float32), lab))


def test_a_vision_model_sees_plain_images_of_each_color(study, monkeypatch):
    def reopen(entry, _):
        return Eye(replace(entry.card, layers=("embedding", "block 1")))

    monkeypatch.setattr("core.competence.opened.reopen", reopen)
    table = lay_out(study, LARGEST)
    assert len(table) == 24
    assert table["kendall"].iloc[0] > 0.98  # colors that a screen shows are whole numbers


@pytest.mark.usefixtures("rainbow")
def test_a_source_that_fails_is_left_out_with_its_reason(study):
    found = answer(
        build_question(ColorLayout, {"source": (PERCEPTION, "captions"), **QUICK}), study
    )
    assert found.table["source"].unique().tolist() == [PERCEPTION]
    assert "0 colors were seen 20 times or more" in found.findings[-1].reason
    with pytest.raises(MetricError, match="0 colors were seen"):
        lay_out(study, "captions")
