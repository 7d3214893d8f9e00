"""Adapters over a study: from names in a store to a table, trained on other stimuli than they are measured on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from core import kept
from core.adaptation import adapt, adapters_recipe, check_adapters, learning_curve, prepare, train_adapters, watch
from core.adapters.files import dump, load
from core.adapters.model import Settings
from core.analyses.adapters import summarize, verdict_text
from core.errors import FeatureError, InputError, MetricError, UnknownNameError
from core.metrics import METRICS
from core.metrics.preprocess import clamp_outliers, normalize_rows
from core.recipe import Recipe
from core.store import Store
from core.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-clip-m:2", "gpt-2-m:2")
REFERENCE = "reality:0"
QUICK = Settings(width=12, batch=64, epochs=12, rate=0.01)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("store"), PaintedDataset(120), vision=[VISION[3]], language=[LANGUAGE[2]])


@pytest.fixture
def study(root: Path) -> Iterator[Study]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Study(Store(root), "cave")
    torch.set_num_threads(before)


def ask(study: Study, **choices: object):
    return adapt(study, SPACES, reference=REFERENCE, settings=QUICK, seeds=2, draws=4, **{"k": 5, **choices})


def test_the_table_says_what_was_asked(study: Study) -> None:
    table = ask(study)
    found = summarize(table).set_index(["measure", "method", "what"])
    parts = prepare(study, SPACES, reference=REFERENCE).parts
    truth = normalize_rows(study.spaces("reality")[0][parts.test])
    for name, (model, layer) in zip(SPACES, (("vit-clip-m", 2), ("gpt-2-m", 2)), strict=True):
        plain = METRICS["mutual_knn"](normalize_rows(study.spaces(model)[layer][parts.test]), truth, k=5)
        assert found.loc[("alignment", "before", name), "value"] == pytest.approx(plain, abs=0.05)  # but for the quantile
        assert found.loc[("gain", "adapters", name), "seeds"] == 2
    assert found.loc[("start_loss", "adapters", "training"), "value"] == pytest.approx(np.log(len(parts.train) / 2), abs=0.05)
    assert found.loc[("recall_10", "adapters", "vit-clip-m:2 → gpt-2-m:2"), "value"] > 10 / 30
    assert (table["pairs"] == len(parts.train)).all()
    assert verdict_text(table, reference="reality").startswith("The common space by vit-clip-m:2 is ")


def test_an_answer_is_kept_and_another_question_is_another(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ask(study)
    monkeypatch.setattr(kept, "write_result", lambda *_, **__: pytest.fail("it was made again"))
    assert ask(study).equals(first)
    with pytest.raises(pytest.fail.Exception, match="it was made again"):
        ask(study, k=6)


def test_the_quantile_for_clamping_is_the_training_stimulis(study: Study) -> None:
    lesson = prepare(study, SPACES, reference=REFERENCE)
    seen = np.setdiff1d(np.arange(study.size), lesson.parts.test)
    layers = Study(study.store, "cave", q=None).spaces("gpt-2-m")
    clamped = clamp_outliers([layer[seen] for layer in layers], q=0.95)
    np.testing.assert_array_equal(lesson.spaces["gpt-2-m:2"][seen], clamped[2])
    bound = max(np.abs(layer).max() for layer in clamped)
    np.testing.assert_array_equal(lesson.spaces["gpt-2-m:2"], np.clip(layers[2], -bound, bound))
    whole = prepare(Study(study.store, "cave", q=None), SPACES, reference=REFERENCE)
    np.testing.assert_array_equal(whole.spaces["gpt-2-m:2"], layers[2])


def test_poisoned_test_stimuli_change_no_adapter(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    clean, _ = train_adapters(study, SPACES, settings=QUICK)
    test, real = prepare(study, SPACES, reference=REFERENCE).parts.test, Store.space

    def poisoned(self: Store, dataset: str, model: str, layer: int) -> np.ndarray:
        space = real(self, dataset, model, layer).copy()
        space[test] = 1e6
        return space

    monkeypatch.setattr(Store, "space", poisoned)
    dirty, _ = train_adapters(Study(study.store, "cave"), SPACES, settings=QUICK)
    for name in SPACES:
        np.testing.assert_array_equal(clean.maps[name].weight, dirty.maps[name].weight)


def test_more_pairs_give_a_curve_over_the_same_test(study: Study) -> None:
    table = learning_curve(study, SPACES, sizes=(30, 60), reference=REFERENCE, settings=QUICK, seeds=1, draws=2, k=5)
    assert table["pairs"].unique().tolist() == [30, 60]
    before = table.query("measure == 'alignment' and method == 'before' and what == 'average'")["value"]
    assert before.nunique() == 1
    whole = learning_curve(study, SPACES, reference=REFERENCE, settings=QUICK, seeds=1, draws=2, k=5)
    assert whole["pairs"].unique().tolist() == [37, 75]  # of 120, 30 test and 15 validate


def test_trained_adapters_come_back_from_their_file(study: Study) -> None:
    adapters, recipe = train_adapters(study, SPACES, settings=QUICK, seed=1)
    lesson = prepare(study, SPACES, reference=REFERENCE, seed=1)
    assert recipe == adapters_recipe(study, lesson, QUICK, seed=1)
    found, read = load(dump(adapters, recipe))
    assert read.choices["spaces"] == list(SPACES)
    assert watch(lesson, found, k=3) == watch(lesson, adapters, k=3)
    assert set(watch(lesson, found, k=3)) == {"alignment", "recall_10"}


def test_three_encoders_train_together(study: Study) -> None:
    table = adapt(study, (*SPACES, "reality"), reference="vit-clip-m:3", settings=QUICK, seeds=1, draws=2, k=5)
    assert set(table.query("measure == 'gain'")["what"]) == {*SPACES, "reality:0", "mean"}
    assert table.query("measure == 'recall_1'")["what"].nunique() == 6


def test_wrong_questions_are_refused(study: Study) -> None:
    with pytest.raises(UnknownNameError, match="no model named 'vit-clip-mm'"):
        adapt(study, ("vit-clip-mm", "gpt-2-m"), reference=REFERENCE)
    with pytest.raises(MetricError, match="each space once expected"):
        adapt(study, ("gpt-2-m:2", "gpt-2-m:2"), reference=REFERENCE)
    with pytest.raises(InputError, match="so 2 to 75 can train; 76 were asked for"):
        ask(study, pairs=76)
    with pytest.raises(InputError, match="at least one training expected; given 0 seeds"):
        adapt(study, SPACES, reference=REFERENCE, seeds=0)


def test_adapters_of_other_data_are_refused_by_what_differs(study: Study) -> None:
    _, recipe = train_adapters(study, SPACES, settings=QUICK)
    check_adapters(study, recipe)
    other = Recipe.of("adapters", **{**recipe.choices, "revision": "older"})
    with pytest.raises(FeatureError, match="trained on other data: revision differ from those of 'cave' here"):
        check_adapters(study, other)
    with pytest.raises(FeatureError, match="other data: q differ"):
        check_adapters(Study(study.store, "cave", q=None), recipe)
    with pytest.raises(UnknownNameError, match="gone"):
        check_adapters(study, Recipe.of("adapters", **{**recipe.choices, "models": {"gone": "a"}}))
