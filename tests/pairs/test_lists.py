"""Scores of neighbor lists: Python's sets, shuffled spaces, every pair of models."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics.catalog import make_engine
from core.pairs.lists import overlaps, permuted_overlaps, scores_among
from core.settings import ROOT
from core.spaces.neighbors import nearest


def lists(seed: int, layers: int, n: int, kept: int) -> np.ndarray:
    """Return random neighbor lists without the stimulus itself."""
    rng = np.random.default_rng(seed)
    ranks = rng.random((layers, n, n))
    ranks[:, np.arange(n), np.arange(n)] = 2  # the stimulus itself comes last
    return ranks.argsort(axis=2)[:, :, :kept].astype(np.int32)


def overlaps_literally(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    n = x.shape[1]
    return np.array(
        [[sum(len({*a[i, :k]} & {*b[i, :k]}) for i in range(n)) / (n * k) for b in y] for a in x]
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    layers=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    n=st.integers(3, 30),
    data=st.data(),
)
def test_equals_python_s_sets(seed, layers, n, data):
    k = data.draw(st.integers(1, n - 1))
    x, y = lists(seed, layers[0], n, n - 1), lists(seed + 1, layers[1], n, k)
    np.testing.assert_array_equal(overlaps(x, y, k=k), overlaps_literally(x, y, k))


@pytest.mark.parametrize(("n", "k"), [(64, 63), (65, 64), (129, 20), (300, 7), (700, 70)])
def test_equals_python_s_sets_across_word_and_thread_boundaries(n, k):
    x, y = lists(0, 4, n, k), lists(1, 3, n, k)
    np.testing.assert_array_equal(overlaps(x, y, k=k), overlaps_literally(x, y, k))


@pytest.mark.parametrize("k", [0, -1, 6])
def test_more_neighbors_than_were_kept_are_refused(k):
    with pytest.raises(
        MetricError, match=rf"k must lie in 1 … 5, the neighbors kept for each stimulus; got {k}"
    ):
        overlaps(lists(0, 1, 20, 9), lists(0, 1, 20, 5), k=k)


def test_compiles_anew_where_no_folder_takes_the_cache():
    """A shared installation may be read-only, and so may the home folder; the answer must still
    come.
    """
    code = (
        "import numpy as np\n"
        "from core.pairs.lists import overlaps\n"
        "x = np.array([[[1], [0], [0]]], dtype=np.int32)\n"
        "print(overlaps(x, x, k=1))"
    )
    assert _python(code, NUMBA_CACHE_LOCATOR_CLASSES="ZipCacheLocator").strip() == "[[1.]]"


def _python(code: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def spaces(seed: int, layers: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((layers, n, 5))


def neighbors(layers: np.ndarray, k: int) -> np.ndarray:
    return np.stack([nearest(space, k=k) for space in layers])


def draw(seed: int, count: int, n: int) -> np.ndarray:
    return np.stack([np.random.default_rng(seed + i).permutation(n) for i in range(count)])


@given(
    seed=st.integers(0, 2**31),
    layers=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    n=st.integers(3, 25),
    data=st.data(),
)
def test_equals_shuffling_the_space_and_finding_its_neighbors_anew(seed, layers, n, data):
    k = data.draw(st.integers(1, n - 1))
    x, y = spaces(seed, layers[0], n), spaces(seed + 1, layers[1], n)
    orders = draw(seed, 3, n)
    expected = [overlaps(neighbors(x, k), neighbors(y[:, order], k), k=k) for order in orders]
    np.testing.assert_array_equal(
        permuted_overlaps(neighbors(x, k), neighbors(y, k), orders, k=k), expected
    )


def test_a_hand_computed_case():
    """Stimuli 0, 1 | 2, 3 are pairs in both; after swapping 1 and 2 in y the pairs are 0, 2 | 1, 3,
    which share nothing with x.
    """
    pairs = np.array([[[1], [0], [3], [2]]], dtype=np.int32)
    orders = np.array([[0, 1, 2, 3], [0, 2, 1, 3], [2, 3, 0, 1]])
    assert permuted_overlaps(pairs, pairs, orders, k=1).ravel().tolist() == [1, 0, 1]


def test_models_may_be_stacked_and_permutations_come_in_any_batch():
    near_x, near_y = neighbors(spaces(0, 5, 60), 10), neighbors(spaces(1, 4, 60), 12)
    orders = draw(2, 9, 60)
    whole = permuted_overlaps(near_x, near_y, orders, k=7)
    np.testing.assert_array_equal(
        permuted_overlaps(near_x[2:4], near_y[:1], orders, k=7), whole[:, 2:4, :1]
    )
    np.testing.assert_array_equal(permuted_overlaps(near_x, near_y, orders[4:], k=7), whole[4:])


def test_tied_neighbors_keep_the_order_that_they_had():
    """Ties go to the lower index; a shuffled copy would break them again, while permuted neighbors
    are those that were found.
    """
    tied = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    order = np.array([[2, 1, 0, 3]])
    with mock.patch("core.spaces.neighbors.MOST_TIED", 1.0):
        found = neighbors(tied[None], 1)
    assert found.ravel().tolist() == [1, 0, 0, 0]
    by_hand = np.array(
        [[[2], [2], [1], [2]]], dtype=np.int32
    )  # 0 and 2 have changed names and places
    assert permuted_overlaps(by_hand, found, order, k=1).item() == 1


@pytest.mark.parametrize("orders", [[[0, 1, 2, 3]], [[0, 1, 2, 3, 3]], [[1, 2, 3, 4, 5]]])
def test_what_is_no_permutation_is_refused(orders):
    near = neighbors(spaces(0, 1, 5), 2)
    with pytest.raises(
        MetricError,
        match="permutations of 0 … 4 expected, one in each row; draw them with draw_orders",
    ):
        permuted_overlaps(near, near, np.array(orders), k=2)


RNG = np.random.default_rng(0)
SPACES = {
    f"m{i}": [RNG.standard_normal((40, 5)).astype(np.float32) for _ in range(1 + i % 3)]
    for i in range(7)
}
SPACES["m3"][0] = np.zeros((40, 5), np.float32)  # m3 has one layer, which is refused
NAMES = list(SPACES)


def prepared(engine):
    def prepare(few):
        ready = {}
        for name in few:
            try:
                ready[name] = engine.prepare(SPACES[name])
            except MetricError:
                continue
        return ready

    return prepare


@pytest.mark.parametrize("held", [2, 100])
@pytest.mark.parametrize("metric", ["mutual_knn", "cka", "rsa", "procrustes"])
def test_every_pair_has_the_scores_that_the_engine_gives_it_alone(metric, held, monkeypatch):
    monkeypatch.setattr("core.pairs.lists.HELD", held)
    engine = make_engine(metric)
    found = {
        (x, y): scores
        for x, y, scores in scores_among(engine, NAMES, prepared(engine), symmetric=True)
    }
    sound = [name for name in NAMES if name != "m3"]
    assert set(found) == set(combinations(sound, 2))
    for (x, y), scores in found.items():
        alone = engine.scores(engine.prepare(SPACES[x]), engine.prepare(SPACES[y]))
        np.testing.assert_allclose(scores.values, alone.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["cycle_knn", "pwcca"])
def test_a_metric_that_is_not_symmetric_gives_the_mean_of_both_directions(metric):
    engine = make_engine(metric)
    found = {
        (x, y): scores
        for x, y, scores in scores_among(engine, ["m1", "m2"], prepared(engine), symmetric=False)
    }
    one, two = engine.prepare(SPACES["m1"]), engine.prepare(SPACES["m2"])
    forth, back = engine.scores(one, two).values, engine.scores(two, one).values
    np.testing.assert_allclose(found["m1", "m2"].values, (forth + back.T) / 2)
    assert not np.allclose(forth, back.T)


@pytest.mark.parametrize(("metric", "symmetric"), [("mean_cca", True), ("pwcca", False)])
def test_what_two_layers_are_refused_for_comes_along(metric, symmetric):
    """Ranks that sum to the number of stimuli: layers that are too wide for each other."""
    wide = np.random.default_rng(1).standard_normal((2, 40, 25)).astype(np.float32)
    spaces = {"a": [SPACES["m0"][0], wide[0]], "b": [wide[1]]}
    engine = make_engine(metric)
    ((_, _, scores),) = scores_among(
        engine,
        ["a", "b"],
        lambda few: {name: engine.prepare(spaces[name]) for name in few},
        symmetric=symmetric,
    )
    assert np.isnan(scores.values).tolist() == [[False], [True]]
    assert list(scores.refusals) == [(1, 0)]
    assert scores.refusals[1, 0].startswith("canonical correlations of ranks 25 and 25 need more")
