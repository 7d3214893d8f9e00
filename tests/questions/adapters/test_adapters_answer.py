"""Adapters over a study: from names in a store to a table, trained on other stimuli than they are
measured on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load

from core.errors import InputError, MetricError, UnknownNameError
from core.metrics import METRICS
from core.options import build as build_question
from core.questions import asking
from core.questions.adapters import lesson as lessons
from core.questions.adapters.findings import gains
from core.questions.adapters.kernels import kernel_table
from core.questions.adapters.lesson import prepare, read_reference, train_once
from core.questions.adapters.maps import Adapters, Parts, Settings, split
from core.questions.adapters.measures import score_views, summarize, views_after
from core.questions.adapters.question import Adaptation, adapters_file, measure_trainings
from core.questions.adapters.training import train
from core.spaces.choices import Clamping
from core.spaces.preprocess import clamp_outliers, normalize_rows
from core.store import Store
from core.study.parts import Measure
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

SPACES = ("vit-clip-m:2", "gpt-2-m:2")
REFERENCE = "reality:0"
QUICK = Settings(width=12)


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


USUAL = {"x": SPACES[:1], "y": SPACES[1:], "ref": (REFERENCE,), "width": 12, "k": 5}
FEW = {**USUAL, "seeds": 2, "bootstrap": 40}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train for a moment, whatever the question; what a file says of it stays."""

    def short(spaces: object, parts: Parts, settings: Settings, **how: object) -> Iterator[object]:
        quick = replace(settings, batch=64, epochs=12, rate=0.01)
        return train(spaces, parts, quick, **how)

    monkeypatch.setattr("core.questions.adapters.training.train", short)


def question(**choices: object) -> Adaptation:
    return build_question(Adaptation, {**FEW, **choices})


def ask(study: Study, **choices: object) -> pd.DataFrame:
    return asking.ask(question(**choices), study)


def curve(study: Study, **choices: object) -> pd.DataFrame:
    return asking.ask(question(seeds=1, halved=True, **choices), study)


def trained(study: Study, seed: int = 0) -> Adapters:
    lesson = prepare(study, SPACES, seed=seed)
    return train_once(lesson, QUICK, device="cpu")


def test_the_table_says_what_was_asked(study: Study) -> None:
    table = ask(study)
    found = table.set_index(["measure", "method", "what"])
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
    assert found.loc[("start_loss", "adapters", "training"), "value"] < np.log(len(parts.train) / 2)
    assert found.loc[("recall_10", "adapters", "vit-clip-m:2 → gpt-2-m:2"), "value"] > 10 / 30
    assert (table["pairs"] == len(parts.train)).all()
    first = gains(table, REFERENCE, {})[0]
    assert first.value == found.loc[("gain", "adapters", "mean"), "value"]
    rows = measure_trainings(question().complete(study), study)
    pd.testing.assert_frame_equal(summarize(rows), table.drop(columns="title"))
    titles = dict(zip(table["what"], table["title"], strict=True))
    assert titles["mean"] == "mean of all"
    assert titles[" → ".join(SPACES)] == "ViT M · CLIP → GPT-2 M"


def test_each_training_has_a_seed_and_pairs_of_its_own(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def spy(
        spaces: object, parts: Parts, settings: Settings, *, seed: int, device: object
    ) -> Iterator[object]:
        given.append((parts, seed))
        return train(spaces, parts, replace(settings, epochs=1), seed=seed, device=device)

    monkeypatch.setattr("core.questions.adapters.training.train", spy)
    ask(study, width=8, metric="cka", k=None)
    assert [seed for _, seed in given] == [0, 1]
    for draw, (parts, _) in enumerate(given):
        for found, expected in zip(
            asdict(parts).values(), asdict(split(study.size, draw=draw)).values(), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    assert {*given[0][0].train} != {*given[1][0].train}


def test_the_quantile_for_clamping_is_the_training_stimulis(study: Study) -> None:
    lesson = prepare(study, SPACES)
    seen = np.setdiff1d(np.arange(study.size), lesson.parts.test)
    layers = Study(study.store, "cave", Clamping(1.0)).spaces("gpt-2-m")
    clamped = clamp_outliers([layer[seen] for layer in layers], q=0.95)
    np.testing.assert_array_equal(lesson.spaces["gpt-2-m:2"][seen], clamped[2])
    bound = max(np.abs(layer).max() for layer in clamped)
    np.testing.assert_array_equal(lesson.spaces["gpt-2-m:2"], np.clip(layers[2], -bound, bound))
    whole = prepare(Study(study.store, "cave", Clamping(1.0)), SPACES)
    np.testing.assert_array_equal(whole.spaces["gpt-2-m:2"], layers[2])


def test_poisoned_test_stimuli_change_no_adapter(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = trained(study)
    test, real = prepare(study, SPACES).parts.test, Store.space

    def poisoned(self: Store, dataset: str, model: str, layer: int) -> np.ndarray:
        space = real(self, dataset, model, layer).copy()
        space[test] = 1e6
        return space

    monkeypatch.setattr(Store, "space", poisoned)
    dirty = trained(Study(study.store, "cave"))
    for name in SPACES:
        np.testing.assert_array_equal(clean.maps[name].weight, dirty.maps[name].weight)


def test_more_pairs_give_a_curve_over_the_same_test(study: Study) -> None:
    table = asking.ask(question(seeds=1, pairs=(30, 60)), study)
    assert table["pairs"].unique().tolist() == [30, 60]
    before = table.query("measure == 'alignment' and method == 'before' and what == 'average'")[
        "value"
    ]
    assert before.nunique() == 1
    whole = curve(study)
    assert whole["pairs"].unique().tolist() == [37, 75]  # of 120, 30 test and 15 validate


def test_the_file_of_adapters_holds_weights_and_the_recipe(study: Study) -> None:
    data = adapters_file(question(seed=1), study)
    length = int.from_bytes(data[:8], "little")
    said = json.loads(data[8 : 8 + length])["__metadata__"]
    recipe = json.loads(said["recipe"])
    expected = {"spaces": list(SPACES), "pairs": 75, "seed": 1, "settings": asdict(QUICK)}
    assert expected.items() <= recipe.items()
    assert json.loads(said["encoders"]) == list(SPACES)
    adapters, tensors = trained(study, seed=1), load(data)
    for number, one in enumerate(adapters.maps.values()):
        np.testing.assert_array_equal(tensors[f"weight_{number}"], one.weight)
        np.testing.assert_array_equal(tensors[f"offset_{number}"], one.offset)


def test_wrong_questions_are_refused(study: Study) -> None:
    with pytest.raises(UnknownNameError, match="no model named 'vit-clip-mm'"):
        ask(study, x=("vit-clip-mm",))
    with pytest.raises(MetricError, match="expected each space once"):
        ask(study, x=("gpt-2-m:2",))
    with pytest.raises(InputError, match="so 3 to 75 can train; got 76"):
        ask(study, pairs=(76,))
    with pytest.raises(InputError, match="name --x, --y and --ref together, or none of them"):
        ask(study, ref=())
    several = {**USUAL, "x": ("vit-clip-m:2", "vit-clip-m:1"), "y": ("gpt-2-m", "gpt-2-m")}
    with pytest.raises(InputError, match="asked of one --x, one --y and one --ref"):
        asking.ask(build_question(Adaptation, {**several, "of": "kernels"}), study)


def test_mistakes_are_refused_before_anything_is_trained(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "core.questions.adapters.training.train",
        lambda *_, **__: pytest.fail("it was trained"),
    )
    for choices, error, sentence in (
        (
            {"ref": (REFERENCE, "vit-clip-m:0")},
            InputError,
            "the reference has no part in the training, but vit-clip-m has an encoder's weights",
        ),
        ({"k": 30}, MetricError, "k must lie in 1 … 29 for 30 stimuli; got 30"),
        ({"metric": "ckaa"}, UnknownNameError, "no metric named 'ckaa'; did you mean cka"),
    ):
        with pytest.raises(error, match=sentence):
            ask(study, **choices)
    with pytest.raises(InputError, match="so 3 to 75 can train; got 76"):
        curve(study, pairs=(30, 76))


def test_several_references_share_their_trainings_and_get_a_verdict_each(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ask(study)
    begun, real = [], lessons.passes
    monkeypatch.setattr(
        "core.questions.adapters.question.passes",
        lambda *lesson, **how: begun.append(1) or real(*lesson, **how),
    )
    both = ask(study, ref=("vit-mae-m", REFERENCE))
    assert len(begun) == 2
    assert set(both["encoders"]) == {"vit-clip-m:2 + gpt-2-m:2"}
    measures = both.groupby("measure")["reference"].unique().map(set)
    assert measures["alignment"] == measures["gain"] == {"vit-mae-m:2", REFERENCE}
    assert measures["recall_1"] == measures["epochs"] == {""}
    again = both[both["reference"] != "vit-mae-m:2"].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, alone)
    for name in ("vit-mae-m:2", REFERENCE):
        rows = both[both["reference"] == name].set_index(["measure", "what"])
        found = gains(both, name, {})
        assert [one.value for one in found[:2]] == [
            rows.loc[("gain", "mean"), "value"],
            rows.loc[("own_gain", "mean"), "value"],
        ]


def test_kernels_are_cosines_of_test_stimuli_in_the_order_of_the_reference(study: Study) -> None:
    lesson, reference = prepare(study, SPACES), read_reference(study, REFERENCE)
    before, table = (
        asking.ask(build_question(Adaptation, {**USUAL, "of": of}), study)
        for of in ("before", "kernels")
    )
    pd.testing.assert_frame_equal(table[table["when"] != "after"], before)
    whats = [("reference", REFERENCE), *[("before", one) for one in SPACES]]
    whats += [("after", one) for one in ("mean", *SPACES)]
    shown = list(table[["when", "what"]].drop_duplicates().itertuples(index=False, name=None))
    assert shown == whats
    adapters = trained(study)
    views = views_after(adapters, lesson.spaces, lesson.parts)
    rows = table[(table["when"] == "after") & (table["what"] == "mean")]
    places = {stimulus: place for place, stimulus in enumerate(lesson.parts.test)}
    x, y = (views["mean"][rows[side].map(places)] for side in ("x", "y"))
    np.testing.assert_allclose(rows["product"], (x * y).sum(axis=1), atol=1e-5)
    truth = normalize_rows(reference[lesson.parts.test])
    assert rows["alignment"].iloc[0] == score_views(views, truth, Measure(k=5))["mean"]
    uneven = reference * np.linspace(1, 9, len(reference), dtype=reference.dtype)[:, None]
    unscaled = replace(adapters, products="raw")
    raw = kernel_table(lesson, REFERENCE, uneven, Measure(k=5), unscaled, "raw")
    assert raw["x"].unique().tolist() == table["x"].unique().tolist()  # ordered by cosines
