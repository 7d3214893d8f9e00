"""Translation over sizes and pairs of models, and what is said of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import DeviceError, InputError, MetricError, UnknownNameError
from core.questions.asking import answer, ask
from core.questions.translation.question import (
    Matching,
    Translation,
    alignment_and_rank,
    check_sizes,
    draw_sets,
    measure_pairs,
    pair_findings,
    usual_models,
)
from core.store import Store
from core.study.parts import Scope
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

MATCHING = Matching(starts=1, draws=2, k=3)
SCOPE = Scope()


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    root = tmp_path_factory.mktemp("translated")
    return Study(Store(build(root, PaintedDataset(30), **SMALL, seeds=2)), "cave")


@pytest.fixture(scope="module")
def pairs(study) -> pd.DataFrame:
    return ask(Translation(SCOPE, sizes=(12,), matching=MATCHING), study)


def test_sets_of_stimuli_have_none_in_common() -> None:
    sets = list(draw_sets(30, 7, draws=9, seed=1))
    assert [len(one) for one in sets] == [7] * 4
    assert len(set(np.concatenate(sets).tolist())) == 28


def test_copies_are_translated_whole_and_every_number_follows() -> None:
    spaces = [np.random.default_rng(seed).normal(size=(12, 5)) for seed in range(5)]
    row = measure_pairs([(one, -2 * one) for one in spaces], MATCHING)
    assert (row["found"], row["top1"], row["rank"], row["alignment"]) == (60, 1, 1, 1)
    assert row["agreement"] == pytest.approx(1)
    assert row["agreement_true"] == pytest.approx(1)
    assert (row["n"], row["draws"], row["chance"]) == (12, 5, 1 / 12)
    assert row["p"] < 1e-30
    assert row["low"] == row["high"] == 1


def test_more_stimuli_make_a_row_each(study) -> None:
    question = Translation(SCOPE, ("vit-clip-m:2", "gpt-2-m"), sizes=(8, 5), matching=MATCHING)
    answered = answer(question, study)
    table = answered.table
    assert table["n"].tolist() == [5, 8]
    assert table["draws"].tolist() == [2, 2]
    assert (table["q"] >= table["p"]).all()
    best, search = answered.findings
    assert "vit-clip-m:2 and gpt-2-m:2 are matched" in best.claim
    assert best.value <= table["top1"].max()
    missed = table["agreement_true"] > table["agreement"]
    assert search.value == missed.mean()
    assert len(question.plot(table).draw("light", narrow=True).data) > 2


def test_pairs_of_models_say_what_they_have_in_common(study, pairs) -> None:
    names = usual_models(study)
    assert "reality" in names
    assert len(pairs) == len(names) * (len(names) - 1) // 2
    kinds = pairs.set_index(["space_x", "space_y"])["kind"]
    assert kinds["vit-clip-m-seed1:2", "vit-clip-m:2"] == "one recipe"
    assert set(kinds) <= {"one recipe", "vision", "language", "across modalities", "with reality"}
    order = alignment_and_rank(pairs, seed=0)
    assert "recipes" in order.reason
    found = pair_findings(pairs, seed=0)
    assert [one.verdict for one in found] == ["unknown", "", ""]
    assert f"of {len(pairs)} pairs" in found[1].claim


def test_pairs_are_drawn_over_alignment_with_chance(pairs) -> None:
    figure = Translation(SCOPE).plot(pairs).draw("dark")
    assert {"one recipe", "vision", "across modalities"} <= {trace.name for trace in figure.data}
    assert [line.y0 for line in figure.layout.shapes] == pytest.approx([1 / 12])


def test_what_cannot_be_translated_is_refused_at_once(study) -> None:
    few = Matching(k=3)
    for question, error, match in (
        (Translation(SCOPE, ("gpt-2-m", "gpt-2-m"), (8,), few), MetricError, "more than once"),
        (Translation(SCOPE, ("nobody", "gpt-2-m"), (8,), few), UnknownNameError, "nobody"),
        (Translation(SCOPE, sizes=(64,), matching=few), MetricError, "there are 30"),
        (Translation(SCOPE, sizes=(8,), matching=Matching()), MetricError, "lower --k"),
        (Translation(SCOPE, ("gpt-2-m",), (8,), few), InputError, "two spaces or more"),
    ):
        with pytest.raises(error, match=match):
            ask(question, study)
    with pytest.raises(DeviceError, match="matchings of 1,000,000 stimuli take 96,000 GB of"):
        check_sizes([1_000_000], 1_000_000, k=3)
