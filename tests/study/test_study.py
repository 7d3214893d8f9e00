"""A study over a real store: its answers equal the pure functions on the same spaces, and what it
keeps is never stale.
"""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

import core.study.layers
import core.study.study
from core.errors import (
    MetricError,
    StimuliError,
    StoreBusyError,
    StoreWriteError,
    UnknownNameError,
)
from core.spaces.neighbors import VERSION as NEIGHBORS
from core.store import Store, add_dataset, rename_model
from core.study.parts import Scope
from core.study.selections import encode
from core.study.study import Study, known_worlds, search
from tests.store_fakes import CountedDataset
from tests.study.stored import SIZE, layers_of, put


def test_neighbors_are_kept_in_the_store_and_read_again(filled, study, monkeypatch):
    before = study.neighbors("ape")
    assert before.shape == (2, SIZE, 16)
    assert not before.flags.writeable
    monkeypatch.setattr(core.study.study, "nearest", None)  # none may be found again
    after = Study(Store(filled), "counted").neighbors("ape")
    np.testing.assert_array_equal(after, before)
    kept, recipe = Store(filled).result("counted", "neighbors-ape")
    assert list(kept)[:3] == ["layer", "index", "rank_1"]
    assert recipe == study.recipe("neighbors", ["ape"], k=16)


def test_more_neighbors_than_are_kept_begin_with_those_and_are_held(filled, study, monkeypatch):
    few, many = study.neighbors("ape", k=16), study.neighbors("ape", k=17)
    assert many.shape == (2, SIZE, 100)
    np.testing.assert_array_equal(many[:, :, :16], few)
    monkeypatch.setattr(core.study.study, "nearest", None)  # none may be found again
    assert study.neighbors("ape", k=100) is study.neighbors("ape", k=5)
    assert Store(filled).result("counted", "neighbors-ape")[1].choices["k"] == 16


def test_a_model_that_is_embedded_again_while_it_is_searched_gives_no_mixed_answer(
    tmp_path, monkeypatch
):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", layers_of(1))
    before = Study(Store(tmp_path), "counted").neighbors("ape")
    Store(tmp_path).result("counted", "neighbors-ape")
    (tmp_path / "results" / "counted" / "neighbors-ape.parquet").unlink()
    find = core.study.study.nearest

    def replacing(space, *, k, report):
        put(tmp_path, "ape", layers_of(2), version=2)
        return find(space, k=k, report=report)

    running = Study(Store(tmp_path), "counted")
    monkeypatch.setattr(core.study.study, "nearest", replacing)
    np.testing.assert_array_equal(running.neighbors("ape"), before)
    monkeypatch.setattr(core.study.study, "nearest", find)
    after = Study(Store(tmp_path), "counted").neighbors("ape")
    assert (after != before).any()


def test_a_study_shows_the_store_as_it_was_and_a_new_one_as_it_is(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", layers_of(1))
    running = Study(Store(tmp_path), "counted")
    asked = running.models()
    asked["title"] = "changed by whoever asked"
    rename_model(tmp_path, "counted", "ape", "Ape of the study")
    put(tmp_path, "bee", layers_of(2))
    new = Study(Store(tmp_path), "counted")
    assert list(new.models()["title"]) == ["Ape of the study", "Bee"]
    assert list(running.models()["model"]) == ["ape"]
    assert list(running.models()["title"]) == ["Ape"]


@pytest.mark.parametrize("error", [StoreWriteError, StoreBusyError])
def test_a_store_that_cannot_be_written_answers_all_the_same(tmp_path, monkeypatch, error):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", layers_of(0))

    def refuse(*_args, **_choices):
        raise error("no")

    monkeypatch.setattr(core.study.study, "write_result", refuse)
    assert Study(Store(tmp_path), "counted").neighbors("ape").shape == (2, SIZE, 16)
    assert Store(tmp_path).result("counted", "neighbors-ape") is None


def test_a_model_of_degenerate_layers_alone_is_refused(tmp_path):
    add_dataset(tmp_path, CountedDataset(SIZE))
    put(tmp_path, "ape", [np.ones((SIZE, 3), np.float32)])
    with pytest.raises(
        MetricError,
        match=f"model ape has no layer with neighbors: all {SIZE} stimuli have the same vector",
    ):
        Study(Store(tmp_path), "counted").neighbors("ape")


def test_a_set_of_other_stimuli_is_refused(filled):
    with pytest.raises(StimuliError, match=f"was chosen from {SIZE + 1} stimuli, here are {SIZE}"):
        Study(Store(filled), "counted", stimuli=encode([0], SIZE + 1))
    with pytest.raises(StimuliError, match="no stimulus of this set has scene = hill"):
        Study(Store(filled), "counted", where={"scene": "hill"}, stimuli=encode([0], SIZE))


def test_a_part_that_is_not_there_is_refused_by_name(filled):
    for where, message in (
        ({"scen": "sea"}, "no factor named 'scen'; did you mean scene"),
        ({"scene": "see"}, "no value of scene named 'see'; did you mean sea"),
    ):
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            Study(Store(filled), "counted", where=where)
    with pytest.raises(
        StimuliError, match="no stimulus has scene = sea and count = 1; ask for less"
    ):
        Study(Store(filled), "counted", where={"scene": "sea", "count": "1"})


def test_values_of_one_factor_are_alternatives(filled):
    both = Scope("counted", where=(("scene", "hill"), ("scene", "sea"))).open(Store(filled))
    assert both.size == sum(
        Scope("counted", where=(("scene", scene),)).open(Store(filled)).size
        for scene in ("hill", "sea")
    )
    assert json.loads(both.recipe("some", []).text)["where"] == {"scene": ["hill", "sea"]}
    with pytest.raises(UnknownNameError, match="no value of scene named 'see'"):
        Scope("counted", where=(("scene", "hill"), ("scene", "see"))).open(Store(filled))


def test_readers_read_images_and_worlds_are_known(study):
    assert study.readers("image") == ["bee", "cat"]
    assert known_worlds(study) == ["reality"]


def test_a_recipe_holds_all_that_an_answer_depends_on(filled, study):
    recipe = study.recipe("alignment", ["ape", "bee"], metric="mutual_knn", k=10)
    digests = {name: Store(filled).model("counted", name).digest for name in ("ape", "bee")}
    assert recipe.kind == "alignment"
    assert recipe.choices == {
        "dataset": "counted",
        "revision": "r1",
        "models": digests,
        "preprocessing": ["clamp", "normalize"],
        "q": 0.95,
        "neighbors": NEIGHBORS,
        "metric": "mutual_knn",
        "k": 10,
    }


@pytest.mark.parametrize(
    ("costs", "value", "reason"),
    [
        (None, math.nan, "this model does not predict text, so it has no bits per byte"),
        (([6.0, 8, 1], [12.0, 32, 2]), 1 - (1 / 2 + 1 / 4 + 1 / 2) / 3, ""),
        (
            ([6.0, math.nan, 1], [12.0, 32, 2]),
            0.5,
            "1 of 3 captions have one token and are left out",
        ),
        (
            ([math.nan] * 3, [1.0, 2, 3]),
            math.nan,
            "no caption is longer than one token, so none has bits per byte",
        ),
    ],
)
def test_competence_is_the_mean_of_each_caption_s_ratio(tmp_path, costs, value, reason):
    add_dataset(tmp_path, CountedDataset(3))
    put(tmp_path, "ape", layers_of(0, n=3), costs=costs, n=3)
    put(tmp_path, "bee", layers_of(1, n=3), n=3)
    table = Study(Store(tmp_path), "counted").competence()
    assert list(table) == ["model", "value", "unit", "reason"]
    assert table.loc[0, ["model", "unit", "reason"]].tolist() == [
        "ape",
        "1 - bits per byte",
        reason,
    ]
    assert table["value"].tolist() == pytest.approx([value], nan_ok=True)


def test_competence_of_a_part_of_the_stimuli_is_that_of_its_captions(tmp_path):
    add_dataset(tmp_path, CountedDataset(9))
    bits, bytes_ = np.arange(9.0), np.full(9, 16.0)
    bits[5] = math.nan
    put(tmp_path, "ape", layers_of(0, n=9), costs=(bits, bytes_), n=9)
    row = (
        Study(Store(tmp_path), "counted", where={"scene": "hill"}).competence().iloc[0]
    )  # of stimuli 2, 5 and 8
    assert row["value"] == 1 - (2 + 8) / 2 / 16
    assert row["reason"] == "1 of 3 captions have one token and are left out"


@pytest.mark.parametrize(
    ("device", "there", "many", "place"),
    [
        ("cuda", "cuda", 2, "torch"),
        ("auto", "cuda", 2, "torch"),
        ("auto", "cpu", 2, "numpy"),
        ("cpu", "cuda", 2, "numpy"),
        ("cuda", "cuda", SIZE + 1, "numpy"),  # few stimuli
    ],
)
def test_a_gpu_searches_among_many_stimuli_where_there_is_one(
    device, there, many, place, monkeypatch
):
    monkeypatch.setattr(core.study.study, "MANY", many)
    monkeypatch.setattr("core.settings._has_driver", lambda: True)
    monkeypatch.setattr("core.settings.choose_device", lambda _: SimpleNamespace(type=there))
    found = []

    def finder(name):
        def find(*_, k, **__):
            found.append(name)
            return np.zeros((SIZE, k), np.int32)

        return find

    monkeypatch.setattr(core.study.study, "nearest", finder("numpy"))
    monkeypatch.setattr("core.pairs.on_torch.nearest_on", finder("torch"))
    search([np.ones((SIZE, 3), np.float32)], 2, model="a", device=device)
    assert found == [place]
