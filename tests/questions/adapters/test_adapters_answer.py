"""Adapters over a study: from names in a store to a table, trained on other stimuli than they are
measured on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from core.errors import FeatureError, InputError, MetricError, UnknownNameError
from core.metrics import METRICS
from core.questions.adapters import answer as adaptation
from core.questions.adapters.answer import (
    adapt,
    adapters_recipe,
    check_adapters,
    learning_curve,
    prepare,
    read_reference,
    train_adapters,
    watch,
)
from core.questions.adapters.maps.files import dump, load
from core.questions.adapters.maps.model import Adapters, Parts, Settings, split
from core.questions.adapters.maps.training import train
from core.questions.adapters.measures import summarize, verdict_text, verdicts
from core.recipe import Recipe
from core.spaces.preprocess import clamp_outliers, normalize_rows
from core.store import Store
from core.study import keeping as kept
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-clip-m:2", "gpt-2-m:2")
REFERENCE = "reality:0"
QUICK = Settings(width=12, batch=64, epochs=12, rate=0.01)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(
        tmp_path_factory.mktemp("store"),
        PaintedDataset(120),
        vision=[VISION[1], VISION[3]],
        language=[LANGUAGE[2]],
    )


@pytest.fixture
def study(root: Path) -> Iterator[Study]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Study(Store(root), "cave")
    torch.set_num_threads(before)


def ask(study: Study, **choices: object):
    return adapt(
        study,
        SPACES,
        references=[REFERENCE],
        settings=QUICK,
        **{"seeds": 2, "draws": 40, "k": 5, **choices},
    )


def test_the_table_says_what_was_asked(study: Study) -> None:
    table = ask(study)
    found = summarize(table).set_index(["measure", "method", "what"])
    parts = prepare(study, SPACES).parts
    truth = normalize_rows(study.spaces("reality")[0][parts.test])
    for name, (model, layer) in zip(SPACES, (("vit-clip-m", 2), ("gpt-2-m", 2)), strict=True):
        plain = METRICS["mutual_knn"](
            normalize_rows(study.spaces(model)[layer][parts.test]), truth, k=5
        )
        assert found.loc[("alignment", "before", name), "value"] == pytest.approx(
            plain, abs=0.05
        )  # but for the quantile
        assert found.loc[("gain", "adapters", name), "seeds"] == 2
    assert found.loc[("start_loss", "adapters", "training"), "value"] == pytest.approx(
        np.log(len(parts.train) / 2), abs=0.05
    )
    assert found.loc[("recall_10", "adapters", "vit-clip-m:2 → gpt-2-m:2"), "value"] > 10 / 30
    assert (table["pairs"] == len(parts.train)).all()
    assert verdict_text(table, reference="reality").startswith(
        "The common space by vit-clip-m:2 is "
    )


def test_an_answer_is_kept_and_another_question_is_another(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(study)
    monkeypatch.setattr(kept, "write_result", lambda *_, **__: pytest.fail("it was made again"))
    assert ask(study).equals(first)
    with pytest.raises(pytest.fail.Exception, match="it was made again"):
        ask(study, k=6)


@pytest.mark.parametrize(
    "other",
    [
        {"spaces": SPACES[::-1]},
        {"spaces": ("vit-clip-m:1", SPACES[1])},
        {"references": ["vit-mae-m"]},
        {"settings": Settings()},
        {"pairs": 40},
        {"seeds": 3},
        {"draws": 41},
        {"seed": 1},
        {"k": 6},
        {"metric": "cknna"},
    ],
)
def test_every_choice_is_in_the_recipe(
    study: Study, monkeypatch: pytest.MonkeyPatch, other: dict[str, object]
) -> None:
    monkeypatch.setattr(
        adaptation, "keep", lambda _, recipe, __: pd.DataFrame({"recipe": [recipe.digest]})
    )
    usual = {
        "spaces": SPACES,
        "references": [REFERENCE],
        "settings": QUICK,
        "seeds": 2,
        "draws": 40,
        "k": 5,
    }
    first, again, asked = (
        adapt(study, **{**usual, **choices})["recipe"][0]
        for choices in ({}, {"device": "cpu"}, other)
    )
    assert first == again != asked


def test_each_training_has_a_seed_and_pairs_of_its_own(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def spy(
        spaces: object, parts: Parts, *settings: object, seed: int, device: object
    ) -> Iterator[object]:
        given.append((parts, seed))
        return train(spaces, parts, *settings, seed=seed, device=device)

    monkeypatch.setattr("core.questions.adapters.maps.training.train", spy)
    adapt(
        study,
        SPACES,
        references=[REFERENCE],
        settings=Settings(width=8, epochs=1),
        seeds=2,
        draws=40,
        metric="cka",
    )
    assert [seed for _, seed in given] == [0, 1]
    for draw, (parts, _) in enumerate(given):
        for found, expected in zip(
            asdict(parts).values(), asdict(split(study.size, draw=draw)).values(), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    assert {*given[0][0].train} != {*given[1][0].train}


def test_while_training_validation_stimuli_are_looked_at(study: Study) -> None:
    adapters, _ = train_adapters(study, SPACES, settings=QUICK)
    lesson, truth = prepare(study, SPACES), read_reference(study, REFERENCE)
    rows = lesson.parts.validation
    views = [
        normalize_rows(lesson.spaces[name][rows] @ one.weight + one.offset)
        for name, one in adapters.maps.items()
    ]
    cosines = views[0] @ views[1].T
    hits = [(side > np.diag(side)[:, None]).sum(axis=1) < 10 for side in (cosines, cosines.T)]
    seen = watch(lesson, truth, adapters, k=3)
    assert seen["recall_10"] == pytest.approx(np.mean(hits))
    mean = normalize_rows(views[0] + views[1])
    assert seen["alignment"] == METRICS["mutual_knn"](mean, normalize_rows(truth[rows]), k=3)


def test_the_quantile_for_clamping_is_the_training_stimulis(study: Study) -> None:
    lesson = prepare(study, SPACES)
    seen = np.setdiff1d(np.arange(study.size), lesson.parts.test)
    layers = Study(study.store, "cave", q=None).spaces("gpt-2-m")
    clamped = clamp_outliers([layer[seen] for layer in layers], q=0.95)
    np.testing.assert_array_equal(lesson.spaces["gpt-2-m:2"][seen], clamped[2])
    bound = max(np.abs(layer).max() for layer in clamped)
    np.testing.assert_array_equal(lesson.spaces["gpt-2-m:2"], np.clip(layers[2], -bound, bound))
    whole = prepare(Study(study.store, "cave", q=None), SPACES)
    np.testing.assert_array_equal(whole.spaces["gpt-2-m:2"], layers[2])


def test_poisoned_test_stimuli_change_no_adapter(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean, _ = train_adapters(study, SPACES, settings=QUICK)
    test, real = prepare(study, SPACES).parts.test, Store.space

    def poisoned(self: Store, dataset: str, model: str, layer: int) -> np.ndarray:
        space = real(self, dataset, model, layer).copy()
        space[test] = 1e6
        return space

    monkeypatch.setattr(Store, "space", poisoned)
    dirty, _ = train_adapters(Study(study.store, "cave"), SPACES, settings=QUICK)
    for name in SPACES:
        np.testing.assert_array_equal(clean.maps[name].weight, dirty.maps[name].weight)


def test_more_pairs_give_a_curve_over_the_same_test(study: Study) -> None:
    table = learning_curve(
        study,
        SPACES,
        sizes=(30, 60),
        references=[REFERENCE],
        settings=QUICK,
        seeds=1,
        draws=40,
        k=5,
    )
    assert table["pairs"].unique().tolist() == [30, 60]
    before = table.query("measure == 'alignment' and method == 'before' and what == 'average'")[
        "value"
    ]
    assert before.nunique() == 1
    whole = learning_curve(
        study, SPACES, references=[REFERENCE], settings=QUICK, seeds=1, draws=40, k=5
    )
    assert whole["pairs"].unique().tolist() == [37, 75]  # of 120, 30 test and 15 validate


def test_trained_adapters_come_back_from_their_file(study: Study) -> None:
    adapters, recipe = train_adapters(study, SPACES, settings=QUICK, seed=1)
    lesson = prepare(study, SPACES, seed=1)
    assert recipe == adapters_recipe(study, SPACES, QUICK, pairs=75, seed=1)
    found, read = load(dump(adapters, recipe))
    assert check_adapters(study, found, read) == (SPACES, QUICK, 75, 1, None)
    truth = read_reference(study, REFERENCE, seed=1)
    assert watch(lesson, truth, found, k=3) == watch(lesson, truth, adapters, k=3)
    assert set(watch(lesson, truth, found, k=3)) == {"alignment", "recall_10"}


def test_three_encoders_train_together(study: Study) -> None:
    table = adapt(
        study,
        (*SPACES, "reality"),
        references=["vit-mae-m:3"],
        settings=QUICK,
        seeds=1,
        draws=40,
        k=5,
    )
    assert set(table.query("measure == 'gain'")["what"]) == {*SPACES, "reality:0", "mean"}
    assert table.query("measure == 'recall_1'")["what"].nunique() == 6


def test_wrong_questions_are_refused(study: Study) -> None:
    with pytest.raises(UnknownNameError, match="no model named 'vit-clip-mm'"):
        adapt(study, ("vit-clip-mm", "gpt-2-m"), references=[REFERENCE])
    with pytest.raises(MetricError, match="each space once expected"):
        adapt(study, ("gpt-2-m:2", "gpt-2-m:2"), references=[REFERENCE])
    with pytest.raises(InputError, match="so 2 to 75 can train; 76 were asked for"):
        ask(study, pairs=76)
    with pytest.raises(InputError, match="at least one training expected; given 0 seeds"):
        adapt(study, SPACES, references=[REFERENCE], seeds=0)


def test_mistakes_are_told_before_anything_is_trained(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "core.questions.adapters.maps.training.train",
        lambda *_, **__: pytest.fail("it was trained"),
    )
    with pytest.raises(
        InputError,
        match="the reference has no part in the training, but vit-clip-m has an encoder's weights",
    ):
        adapt(study, SPACES, references=[REFERENCE, "vit-clip-m:0"])
    with pytest.raises(
        MetricError,
        match=(
            "a 95 % interval needs 40 draws or more, so that one lies beyond each of its ends;"
            " given 39"
        ),
    ):
        adapt(study, SPACES, references=[REFERENCE], draws=39)
    with pytest.raises(MetricError, match="k must lie in 1 … 29 for 30 stimuli; given 30"):
        adapt(study, SPACES, references=[REFERENCE], k=30)
    with pytest.raises(UnknownNameError, match="no metric named 'ckaa'; did you mean cka"):
        adapt(study, SPACES, references=[REFERENCE], metric="ckaa")
    with pytest.raises(InputError, match="so 2 to 75 can train; 76 were asked for"):
        learning_curve(study, SPACES, sizes=(30, 76), references=[REFERENCE])


def test_several_references_share_their_trainings_and_get_a_verdict_each(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ask(study)
    trained, real = [], adaptation._trained
    monkeypatch.setattr(
        adaptation, "_trained", lambda *given, **how: trained.append(1) or real(*given, **how)
    )
    both = adapt(
        study, SPACES, references=["vit-mae-m", REFERENCE], settings=QUICK, seeds=2, draws=40, k=5
    )
    assert len(trained) == 2
    assert set(both["encoders"]) == {"vit-clip-m:2 + gpt-2-m:2"}
    measures = both.groupby("measure")["reference"].unique().map(set)
    assert measures["alignment"] == measures["gain"] == {"vit-mae-m:2", REFERENCE}
    assert measures["recall_1"] == measures["epochs"] == {""}
    again = both[both["reference"] != "vit-mae-m:2"].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, alone)
    assert [line.split(" on average")[0] for line in verdicts(both)] == [
        f"vit-clip-m:2 + gpt-2-m:2: {_first_words(both, name)}"
        for name in ("vit-mae-m:2", REFERENCE)
    ]


def test_a_curve_of_few_stimuli_has_one_size_and_sizes_are_taken_once(tmp_path: Path) -> None:
    few = Study(
        Store(build(tmp_path, PaintedDataset(40), vision=[VISION[3]], language=[LANGUAGE[2]])),
        "cave",
    )
    asked = {"references": [REFERENCE], "settings": QUICK, "seeds": 1, "draws": 40, "k": 2}
    assert learning_curve(few, SPACES, **asked)["pairs"].unique().tolist() == [25]
    table = learning_curve(few, SPACES, sizes=(20, 10, 20), **asked)
    assert not table.duplicated().any()
    assert table["pairs"].unique().tolist() == [10, 20]


def test_adapters_of_other_data_are_refused_by_what_differs(study: Study) -> None:
    adapters, recipe = train_adapters(study, SPACES, settings=QUICK)
    check_adapters(study, adapters, recipe)
    other = Recipe.of("adapters", **{**recipe.choices, "revision": "older"})
    with pytest.raises(
        FeatureError, match="trained on other data: revision differ from those of 'cave' here"
    ):
        check_adapters(study, adapters, other)
    with pytest.raises(FeatureError, match="other data: q differ"):
        check_adapters(Study(study.store, "cave", q=None), adapters, recipe)
    with pytest.raises(
        FeatureError, match="not those that their file tells of: widths or encoders differ"
    ):
        check_adapters(
            study, Adapters({"vit-clip-m:2": adapters.maps["vit-clip-m:2"]}, 0.07), recipe
        )
    with pytest.raises(UnknownNameError, match="no model named 'gone'"):
        check_adapters(
            study,
            adapters,
            Recipe.of("adapters", **{**recipe.choices, "spaces": ["gone:1", "gpt-2-m:2"]}),
        )
    with pytest.raises(InputError, match="so 2 to 75 can train; 7500 were asked for"):
        check_adapters(study, adapters, Recipe.of("adapters", **{**recipe.choices, "pairs": 7500}))


def test_adapters_of_a_stopped_training_are_not_taken_for_the_finished_ones(study: Study) -> None:
    adapters, recipe = train_adapters(study, SPACES, settings=QUICK)
    stopped = adapters_recipe(study, SPACES, QUICK, pairs=75, seed=0, stopped=5)
    assert stopped.digest != recipe.digest
    assert check_adapters(study, adapters, stopped).stopped == 5
    for passes in (None, -1, 2.5, "5", True, []):
        with pytest.raises(FeatureError, match="recipe is not one of adapters"):
            check_adapters(
                study, adapters, Recipe.of("adapters", **{**recipe.choices, "stopped": passes})
            )


def test_every_part_of_a_recipe_that_is_missing_or_of_another_kind_is_refused(study: Study) -> None:
    adapters, recipe = train_adapters(study, SPACES, settings=QUICK)
    whole = dict(recipe.choices)
    for name in whole:
        without = {key: value for key, value in whole.items() if key != name}
        for damaged in (
            without,
            *(
                {**whole, name: value}
                for value in (None, 1.5, -3, "x", [], ["x"], [1], {}, {"x": 1}, True)
            ),
        ):
            with pytest.raises(InputError):
                check_adapters(study, adapters, Recipe.of("adapters", **damaged))
    for name in whole["settings"]:
        for value in (None, "x", [], -1.5):
            with pytest.raises(FeatureError):
                check_adapters(
                    study,
                    adapters,
                    Recipe.of(
                        "adapters", **{**whole, "settings": {**whole["settings"], name: value}}
                    ),
                )
    with pytest.raises(FeatureError, match="recipe is not one of adapters"):
        check_adapters(study, adapters, Recipe.of("other", **whole))


def _first_words(both: pd.DataFrame, reference: str) -> str:
    rows = both[both["reference"] == reference]
    return verdict_text(rows, reference=reference).split(" on average")[0]
