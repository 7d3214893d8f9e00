"""Neighbor metrics: slow oracles, the released code, cases by hand."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import make_engine
from core.metrics.knn import cycle_terms, edit_terms, jaccard_terms, mutual_terms, subsequence_terms
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows
from tests.metrics.oracles import nearest_literally

seeds = st.integers(0, 2**32 - 1)


def spaces(seed: int, *, n: int = 24, dims: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return two spaces of rows of length 1 that share half of their variance."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, dims))
    return tuple(normalize_rows(shared + rng.standard_normal((n, dims))) for _ in range(2))


def test_mutual_knn_equals_the_released_code(reference):
    features = np.load(reference / "features_n256.npz")
    x, y = normalize_rows(features["A"]), normalize_rows(features["B"])
    published = json.loads((reference / "metrics_n256.json").read_text())["mutual_knn_by_k"]
    for k, value in ((int(key), value) for key, value in published.items()):
        ours = METRICS["mutual_knn"](x, y, k=k)
        assert ours * 256 * k == round(value * 256 * k), k  # the same number of common neighbors
        assert ours == pytest.approx(value, abs=1e-6), k  # the released code averages in float32


def test_mutual_knn_of_a_hand_computed_case():
    x = np.array([[1, 0], [0.9, 0.1], [0, 1]])  # nearest: 1, 0, 1
    y = np.array([[1, 0], [0.1, 0.9], [0, 1]])  # nearest: 1, 2, 1
    assert METRICS["mutual_knn"](x, y, k=1) == pytest.approx(2 / 3)


@given(seed=seeds, k=st.integers(1, 22))
def test_mutual_knn_takes_no_notice_of_how_similar_neighbors_are(seed, k):
    """Cubing all similarities (a kernel of degree 3) keeps their order and so the value."""
    x, y = spaces(seed, dims=3)
    cubed = np.einsum("ia,ib,ic->iabc", x, x, x).reshape(len(x), -1)
    assume(_has_no_near_ties(x))
    assert METRICS["mutual_knn"](cubed, y, k=k) == METRICS["mutual_knn"](x, y, k=k)


def _has_no_near_ties(space: np.ndarray) -> bool:
    gaps = np.diff(np.sort(space @ space.T, axis=1), axis=1)
    return bool(gaps.min() > 1e-5)


TERMS = {
    "mutual_knn": mutual_terms,
    "jaccard_knn": jaccard_terms,
    "cycle_knn": cycle_terms,
    "lcs_knn": subsequence_terms,
    "edit_distance_knn": edit_terms,
}
PUBLISHED = {  # what the released code calls a value, and in which unit it gives it
    "cycle_knn": ("cycle_knn_A_to_B", 1),
    "lcs_knn": ("lcs_knn_unnormalized_0_to_k", 10),
    "edit_distance_knn": ("edit_distance_knn", 1),
}
every_list_metric = pytest.mark.parametrize("name", TERMS)


def lists(seed: int, *, n: int = 12, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of ordered neighbors, drawn at random without the stimulus itself."""
    return tuple(
        nearest(np.random.default_rng((seed, side)).standard_normal((n, n)), k=k) for side in (0, 1)
    )


def jaccard_literally(a: list[list[int]], b: list[list[int]], i: int) -> float:
    return len(set(a[i]) & set(b[i])) / len(set(a[i]) | set(b[i]))


def cycle_literally(a: list[list[int]], b: list[list[int]], i: int) -> float:
    return float(any(back == i for j in b[i] for back in a[j]))


def subsequence_literally(a: list[list[int]], b: list[list[int]], i: int) -> float:
    """Recurse on the first entries: take both where they are equal, else drop one."""

    @cache
    def longest(s: int, t: int) -> int:
        if s == len(a[i]) or t == len(b[i]):
            return 0
        if a[i][s] == b[i][t]:
            return 1 + longest(s + 1, t + 1)
        return max(longest(s + 1, t), longest(s, t + 1))

    return longest(0, 0) / len(a[i])


def edit_literally(a: list[list[int]], b: list[list[int]], i: int) -> float:
    """Recurse on the first entries: nothing to do where they are equal, else delete, insert or
    replace one.
    """

    @cache
    def edits(s: int, t: int) -> int:
        if s == len(a[i]) or t == len(b[i]):
            return len(a[i]) - s + len(b[i]) - t
        if a[i][s] == b[i][t]:
            return edits(s + 1, t + 1)
        return 1 + min(edits(s + 1, t), edits(s, t + 1), edits(s + 1, t + 1))

    return 1 - edits(0, 0) / len(a[i])


ORACLES = {
    "jaccard_knn": jaccard_literally,
    "cycle_knn": cycle_literally,
    "lcs_knn": subsequence_literally,
    "edit_distance_knn": edit_literally,
}


@pytest.mark.parametrize("name", ORACLES)
@given(seed=seeds, k=st.integers(1, 11))
def test_terms_equal_a_slow_oracle(name, seed, k):
    a, b = lists(seed, k=k)
    literal = [ORACLES[name](a.tolist(), b.tolist(), i) for i in range(len(a))]
    assert TERMS[name](a, b).tolist() == pytest.approx(literal, abs=1e-12)


@every_list_metric
@given(seed=seeds, k=st.integers(1, 11))
def test_a_metric_is_the_mean_of_its_terms(name, seed, k):
    x, y = np.random.default_rng(seed).standard_normal((2, 12, 5))
    terms = TERMS[name](nearest(x, k=k), nearest(y, k=k))
    assert METRICS[name](x, y, k=k) == pytest.approx(terms.mean(), abs=1e-12)


@pytest.mark.parametrize("name", PUBLISHED)
def test_values_equal_the_released_code(name, reference):
    features = np.load(reference / "features_n256.npz")
    x, y = normalize_rows(features["A"]), normalize_rows(features["B"])
    entry, unit = PUBLISHED[name]
    published = json.loads((reference / "metrics_n256.json").read_text())["values"]
    ours = METRICS[name](x, y, k=10)
    assert round(ours * 2560) == round(
        published[entry] / unit * 2560
    )  # the same count over 256 stimuli and 10 neighbors
    assert ours == pytest.approx(published[entry] / unit, abs=1e-6)
    if name == "cycle_knn":  # the one that is not symmetric
        assert METRICS[name](y, x, k=10) == published["cycle_knn_B_to_A"]
        assert METRICS[name](x, y, k=10, sides="exchanged") == published["cycle_knn_B_to_A"]


@pytest.mark.parametrize("sides", ["given", "exchanged"])
def test_the_first_step_of_a_cycle_is_in_y_or_exchanged_in_x(sides):
    x, y = map(normalize_rows, np.random.default_rng(3).standard_normal((2, 15, 5)))
    first, second = (y, x) if sides == "given" else (x, y)
    steps = [nearest_literally(space, 3) for space in (first, second)]
    back = [any(i in steps[1][j] for j in steps[0][i]) for i in range(15)]
    assert METRICS["cycle_knn"](x, y, k=3, sides=sides) == pytest.approx(sum(back) / 15)
    engine = make_engine("cycle_knn", k=3, sides=sides)
    ready = (engine.prepare([space]) for space in (x, y))
    assert engine.scores(*ready).values.item() == pytest.approx(sum(back) / 15)
    with pytest.raises(MetricError, match="sides of cycle_knn is given or exchanged; got 'x'"):
        METRICS["cycle_knn"](x, y, k=3, sides="x")


def letters(word: str) -> np.ndarray:
    return np.array([[ord(letter) for letter in word]], dtype=np.int32)


def test_the_edit_distance_of_intention_and_execution_is_five():
    """Jurafsky and Martin, Speech and Language Processing, section 2.8: edits that each cost 1."""
    assert edit_terms(letters("intention"), letters("execution")).tolist() == pytest.approx(
        [1 - 5 / 9]
    )


def test_terms_of_a_swap_by_hand():
    """Two neighbors that change places: the same set, three of four in order, two replacements."""
    a, b = np.array([[1, 2, 3, 4]], np.int32), np.array([[2, 1, 3, 4]], np.int32)
    assert [
        float(TERMS[name](a, b)[0])
        for name in ("mutual_knn", "jaccard_knn", "lcs_knn", "edit_distance_knn")
    ] == [
        1,
        1,
        0.75,
        0.5,
    ]


def test_terms_of_a_replaced_neighbor_by_hand():
    a, b = np.array([[1, 2, 3, 4]], np.int32), np.array([[9, 1, 2, 3]], np.int32)
    assert mutual_terms(a, b).tolist() == [0.75]
    assert jaccard_terms(a, b).tolist() == [3 / 5]
    assert subsequence_terms(a, b).tolist() == [0.75]
    assert edit_terms(a, b).tolist() == [0.5]  # insert 9, delete 4


def test_a_walk_through_y_then_x_by_hand():
    in_x = np.array([[1], [2], [0]], np.int32)  # 0 → 1 → 2 → 0
    in_y = np.array([[2], [0], [0]], np.int32)
    assert cycle_terms(in_x, in_y).tolist() == [1, 1, 0]  # 0 → 2 → 0, 1 → 0 → 1, 2 → 0 → 1
    assert cycle_terms(in_y, in_x).tolist() == [1, 0, 1]  # 0 → 1 → 0, 1 → 2 → 0, 2 → 0 → 2


@given(seed=seeds, k=st.integers(1, 11))
def test_each_metric_is_stricter_than_the_one_before(seed, k):
    a, b = lists(seed, k=k)
    mutual, jaccard = mutual_terms(a, b), jaccard_terms(a, b)
    ordered, placed = subsequence_terms(a, b), edit_terms(a, b)
    assert (ordered <= mutual).all()
    assert (placed <= ordered + 1e-12).all()
    assert jaccard == pytest.approx(mutual / (2 - mutual))


@given(seed=seeds)
def test_with_every_other_stimulus_a_neighbor_only_the_order_still_counts(seed):
    a, b = lists(seed, k=11)
    for terms in (mutual_terms, jaccard_terms, cycle_terms):
        assert terms(a, b).tolist() == [1] * 12
    assert subsequence_terms(a, b).mean() < 1
    assert edit_terms(a, b).mean() < 1
