"""What a spec says of its metric holds, for every metric: a claim on every draw, and where there is
none, a draw that breaks it.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.spec import INVARIANCES, Metric
from core.spaces.preprocess import normalize_rows

EXACT = 1e-9  # what rounding may change
N = 40

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)
WIDE = {"n": 100, "dims": 40}  # so many that the penalty of a ridge shows


def spaces(seed: int, *, n: int = N, dims: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return two spaces of rows of length 1 that share half of their variance."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, dims))
    return tuple(normalize_rows(shared + rng.standard_normal((n, dims))) for _ in range(2))


def rotation(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return space @ np.linalg.qr(rng.standard_normal((space.shape[1],) * 2))[0]


def isotropic_scaling(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return space * rng.uniform(0.01, 100)


def translation(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return space + rng.standard_normal(space.shape[1])


def invertible_linear(space: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    stretch = np.diag(np.geomspace(0.1, 10, space.shape[1]))
    return rotation(rotation(space, rng) @ stretch, rng)


MAPS = {
    function.__name__: function
    for function in (rotation, isotropic_scaling, translation, invertible_linear)
}


def aligned_end(metric: Metric) -> float:
    return metric.spec.range[metric.spec.higher_is_more_aligned]


@every_metric
def test_the_texts_of_the_spec_are_one_line(metric):
    for text in (metric.spec.title, metric.spec.sees, metric.spec.misses, metric.spec.reference):
        assert text
        assert "\n" not in text
    assert METRICS[metric.spec.id] is metric


@every_metric
@pytest.mark.parametrize("name", INVARIANCES)
def test_invariances_are_those_of_the_spec_and_no_others(metric, name):
    """A claimed map of either space changes nothing; any other changes some value in one of the
    two.
    """
    changes = []
    for seed in range(5):
        (x, y), value = spaces(seed), metric(*spaces(seed))
        mapped_x, mapped_y = (MAPS[name](space, np.random.default_rng(seed)) for space in (x, y))
        changes += [abs(metric(mapped_x, y) - value), abs(metric(x, mapped_y) - value)]
    assert (max(changes) <= EXACT) == (name in metric.spec.invariances)


@every_metric
@few
@given(seed=seeds)
def test_the_value_lies_in_the_range_and_a_common_reordering_of_the_stimuli_changes_nothing(
    metric, seed
):
    x, y = spaces(seed)
    value = metric(x, y)
    low, high = metric.spec.range
    assert isinstance(value, float)
    assert low <= value <= high
    if metric.spec.id == "linear_predictivity":
        return  # its folds go by position
    order = np.random.default_rng(seed).permutation(N)
    assert metric(x[order], y[order]) == pytest.approx(value, abs=EXACT)


@every_metric
def test_it_is_symmetric_if_and_only_if_the_spec_says_so(metric):
    differences = [abs(metric(x, y) - metric(y, x)) for x, y in map(spaces, range(10))]
    assert (max(differences) <= EXACT) == metric.spec.symmetric


@every_metric
def test_a_space_is_at_the_aligned_end_with_itself_if_and_only_if_the_spec_says_so(metric):
    few_neighbors = (
        {"k": 2} if "k" in metric.spec.defaults else {}
    )  # so few that some stimuli are no neighbor of theirs
    gaps = [
        abs(metric(x, x, **few_neighbors) - aligned_end(metric))
        for x, _ in (spaces(seed, **WIDE) for seed in range(5))
    ]
    assert (max(gaps) <= EXACT) == metric.spec.self_aligned


@every_metric
def test_no_other_space_is_closer_than_the_space_itself(metric):
    for x, y in (spaces(seed, **WIDE) for seed in range(5)):
        with_itself, with_other = (abs(metric(x, other) - aligned_end(metric)) for other in (x, y))
        assert with_itself < with_other


@every_metric
def test_shuffling_one_space_lowers_alignment(metric):
    x, y = spaces(0, n=100)
    order = np.random.default_rng(0).permutation(100)
    assert (metric(x, y) > metric(x, y[order])) == metric.spec.higher_is_more_aligned


def near_and_bent(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two spaces and the first again in a kernel of degree 3: cubed similarities, in the
    same order.

    The 56 products of three of six dimensions span it, so it is no wider than stimuli are many.
    """
    x, y = spaces(seed, n=150, dims=6)
    values, vectors = np.linalg.eigh((x @ x.T) ** 3)
    return x, y, vectors[:, -56:] * np.sqrt(values[-56:])


@every_metric
def test_it_depends_on_the_order_of_similarities_alone_if_and_only_if_the_spec_says_so(metric):
    changes = []
    for x, y, bent in map(near_and_bent, range(2)):
        changes.append(abs(metric(bent, y) - metric(x, y)))
    assert (max(changes) <= EXACT) == metric.spec.order_alone


@every_metric
def test_spaces_over_other_stimuli_are_refused(metric):
    x, y = spaces(0)
    with pytest.raises(
        MetricError,
        match=f"expected two spaces over the same stimuli; got {N} and {N - 1} stimuli",
    ):
        metric(x, y[:-1])


@every_metric
def test_features_that_are_not_finite_are_refused(metric):
    x, y = spaces(0)
    y[7, 2] = np.nan
    with pytest.raises(MetricError, match="stimulus 7 has NaN or infinity"):
        metric(x, y)


@every_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_that_are_constant_but_for_rounding_are_refused(metric, dtype):
    """Multiples of one vector are one vector once they are normalized; what then differs is the
    last bit.
    """
    rng = np.random.default_rng(0)
    line = (rng.uniform(0.1, 10, (N, 1)) * rng.standard_normal(12)).astype(dtype)
    x = normalize_rows(line)
    assert (x != x[0]).any()
    with pytest.raises(MetricError, match=f"all {N} stimuli have the same vector"):
        metric(x, spaces(0)[1].astype(dtype))


@every_metric
@pytest.mark.parametrize("n", [0, 2])
def test_fewer_than_three_stimuli_are_refused(metric, n):
    x, y = spaces(0)
    with pytest.raises(
        MetricError,
        match=rf"expected a space of at least 3 stimuli and 1 dimension; got {n} × 12",
    ):
        metric(x[:n], y[:n])


@every_metric
@pytest.mark.parametrize("value", [-1, 0, 10**22, math.nan, math.inf, -math.inf])
def test_a_number_outside_its_range_is_refused(metric, value):
    for name, numbers in metric.spec.ranges.items():
        if isinstance(value, int) or not numbers.whole:
            said = f"{name} of {metric.spec.id} is {numbers.described}; got {value}"
            with pytest.raises(MetricError, match=f"^{re.escape(said)}$"):
                metric(*spaces(0), **{name: value})


@every_metric
def test_every_parameter_says_what_it_may_be(metric):
    spec = metric.spec
    assert spec.ranges.keys() | spec.choices.keys() == spec.defaults.keys()
    for name, numbers in spec.ranges.items():
        assert spec.defaults[name] in numbers
        assert numbers.whole is isinstance(spec.defaults[name], int)
        assert all(map(math.isfinite, (numbers.least, numbers.most)))
    assert all(spec.defaults[name] in words for name, words in spec.choices.items())


@every_metric
def test_an_unknown_parameter_is_refused(metric):
    names = ", ".join(metric.spec.defaults)
    takes = f"the parameters {names}" if names else "no parameters"
    with pytest.raises(MetricError, match=rf"^{metric.spec.id} takes {takes}; got neighbours$"):
        metric(*spaces(0), neighbours=5)


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        ("mutual_knn", {"k": "abc"}),
        ("mutual_knn", {"k": True}),
        ("svcca", {"rank": 2.5}),
        ("rbf_cka", {"bandwidth": "wide"}),
        ("cknna", {"variant": 3}),
    ],
)
def test_parameters_of_another_kind_are_refused(metric, given):
    name, value = next(iter(given.items()))
    with pytest.raises(
        MetricError,
        match=rf"{name} of {metric} is a (whole number|number|word), such as .*; got {value!r}",
    ):
        METRICS[metric](np.eye(5), np.eye(5), **given)


@every_metric
def test_whole_numbers_count_as_floats(metric: Metric) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, (N, 6)) for _ in range(2))
    assert metric(x, y) == metric(x.astype(float), y.astype(float))
