"""Translation over sizes, pairs of models and made spaces, and what is said of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError, MetricError, UnknownNameError
from core.questions.asking import ask, findings_of
from core.questions.translation import figures
from core.questions.translation.answer import usual_models
from core.questions.translation.findings import alignment_and_rank, crossing
from core.questions.translation.made import made_spaces, make_latent
from core.questions.translation.measuring import draw_sets, measure_pairs
from core.questions.translation.question import (
    Matching,
    Translation,
    TranslationPairs,
    TranslationSweep,
)
from core.store import Store
from core.study.parts import Scope
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

MATCHING = Matching("qap", starts=1, draws=2, k=3)
SCOPE = Scope()


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    root = tmp_path_factory.mktemp("translated")
    return Study(Store(build(root, PaintedDataset(30), **SMALL, seeds=2)), "cave")


@pytest.fixture(scope="module")
def pairs(study) -> pd.DataFrame:
    return ask(TranslationPairs(SCOPE, size=12, matching=MATCHING), study)


@pytest.fixture(scope="module")
def made(study) -> pd.DataFrame:
    question = TranslationSweep(SCOPE, size=16, dims=4, steps=4, matching=MATCHING)
    return ask(question, study)


def test_sets_of_stimuli_have_none_in_common() -> None:
    sets = list(draw_sets(30, 7, draws=9, seed=1))
    assert [len(one) for one in sets] == [7] * 4
    assert len(set(np.concatenate(sets).tolist())) == 28


def test_copies_are_translated_whole_and_every_number_follows() -> None:
    spaces = [np.random.default_rng(seed).normal(size=(12, 5)) for seed in range(5)]
    (row,) = measure_pairs([(one, -2 * one) for one in spaces], MATCHING)
    assert (row["found"], row["top1"], row["rank"], row["alignment"]) == (60, 1, 1, 1)
    assert row["agreement"] == pytest.approx(1)
    assert row["agreement_true"] == pytest.approx(1)
    assert (row["n"], row["draws"], row["chance"]) == (12, 5, 1 / 12)
    assert row["p"] < 1e-30
    assert row["low"] == row["high"] == 1


@pytest.mark.parametrize("latent", ["normal", "skewed"])
def test_made_spaces_share_what_the_noise_leaves(latent) -> None:
    rng = np.random.default_rng(0)
    same, noisy = (made_spaces(4000, 3, noise, rng, latent=latent) for noise in (0.0, 1.0))
    np.testing.assert_array_equal(*same)
    products = [(noisy[0] * other).sum(1).mean() for other in (noisy[1], noisy[0])]
    assert products == pytest.approx([3, 6], rel=0.1)  # of the latent alone; with the noise


def test_a_skewed_latent_has_no_direction_twice_and_no_mirror() -> None:
    z = make_latent(20_000, 3, np.random.default_rng(0), "skewed")
    assert z.var(0) * 11 / 18 == pytest.approx([1, 1 / 2, 1 / 3], rel=0.1)
    assert ((z**3).mean(0) / z.std(0) ** 3 > 1).all()


def test_more_stimuli_make_a_row_each(study) -> None:
    question = Translation(SCOPE, "vit-clip-m:2", "gpt-2-m", sizes=(8, 5), matching=MATCHING)
    table = ask(question, study)
    assert table["n"].tolist() == [5, 8]
    assert table["draws"].tolist() == [2, 2]
    assert (table["q"] >= table["p"]).all()
    said = findings_of(question, table)
    assert len(said) == 3
    assert "of vit-clip-m:2 in gpt-2-m:2" in said[0]
    figures.over_size(table, "light", narrow=True)


def test_pairs_of_models_say_what_they_have_in_common(study, pairs) -> None:
    names = usual_models(study)
    assert "reality" in names
    assert len(pairs) == len(names) * (len(names) - 1) // 2
    kinds = pairs.set_index(["space_x", "space_y"])["kind"]
    assert kinds["vit-clip-m-seed1:2", "vit-clip-m:2"] == "one recipe"
    assert set(kinds) <= {"one recipe", "vision", "language", "across modalities", "with reality"}
    order = alignment_and_rank(pairs, seed=0)
    assert "recipes" in order.reason
    said = findings_of(TranslationPairs(SCOPE), pairs)
    assert "of 3 of one recipe" in said[0]
    assert "across modalities (0." in said[0]
    assert f"of {len(pairs)} " in said[1]
    assert "cannot be tested" in said[2]


def test_made_spaces_are_translated_until_noise_hides_them(made) -> None:
    assert made["top1"].iloc[0] == 1
    assert made["alignment"].is_monotonic_decreasing
    assert made["noise"].tolist() == [0, 0.5, 1, 1.5]
    said = findings_of(TranslationSweep(SCOPE, size=16, dims=4, matching=MATCHING), made)
    assert "half of the partners of made spaces are found at an alignment of" in said[0]


def test_the_curve_and_the_pairs_are_drawn_on_one_axis(made, pairs) -> None:
    both = figures.over_alignment(made, pairs, {}, "dark", narrow=False)
    names = {trace.name for trace in both.data}
    assert {"made spaces", "one recipe", "vision", "across modalities"} <= names
    assert len(figures.over_alignment(made, None, {}, "light").data) < len(both.data)
    assert "Neither" in figures.over_alignment(None, None, {}, "light").layout.meta["title"]


@pytest.mark.parametrize(
    ("alignment", "top1", "expected"),
    [
        ([0.2, 0.4, 0.6], [0.0, 0.25, 0.75], 0.5),
        ([0.2, 0.4, 0.6], [0.9, 0.1, 0.9], 0.5),
        ([0.2, 0.4, 0.6], [0.5, 0.6, 0.7], 0.2),
        ([0.2, 0.4, 0.6], [0.5, 0.6, 0.4], np.nan),
    ],
)
def test_translation_begins_where_it_stays_above_half(alignment, top1, expected) -> None:
    found = crossing(np.array(alignment), np.array(top1))
    assert found == pytest.approx(expected, nan_ok=True)


def test_what_cannot_be_translated_is_refused_at_once(study) -> None:
    few = Matching("qap", k=3)
    for question, error, match in (
        (Translation(SCOPE, "gpt-2-m", "gpt-2-m", (8,), few), MetricError, "more than once"),
        (Translation(SCOPE, "nobody", "gpt-2-m", (8,), few), UnknownNameError, "nobody"),
        (Translation(SCOPE, sizes=(64,), matching=few), MetricError, "there are 30"),
        (Translation(SCOPE, sizes=(8,), matching=Matching("qap")), MetricError, "lower --k"),
        (TranslationPairs(SCOPE, ("gpt-2-m",), 8, few), InputError, "two spaces or more"),
    ):
        with pytest.raises(error, match=match):
            ask(question, study)
