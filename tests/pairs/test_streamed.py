"""Sums over chunks of any size give the metrics of whole spaces, and refuse what those refuse."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.metrics.catalog import make_engine
from core.metrics.cka import cka_of_sums
from core.pairs import engine as engines
from core.pairs.engine import join, stream

STREAMED = [name for name, metric in METRICS.items() if metric.streamed]
every_metric = pytest.mark.parametrize("metric", STREAMED)


def spaces(seed: int = 0, *, n: int = 60, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 4))
    return tuple(
        shared @ rng.standard_normal((4, width)) + rng.standard_normal((n, width)) + offset
        for width in (5, 8)
    )


def as_is(space: np.ndarray) -> np.ndarray:
    return space


def make(metric: str, **parameters):
    return METRICS[metric].streamed(**METRICS[metric].complete(parameters))


def compare(metric: str, x: list[np.ndarray], y: list[np.ndarray], **parameters):
    engine = make(metric, **parameters)
    return engine.scores(*(engine.prepare(layers, preprocess=as_is) for layers in (x, y)))


def score(metric: str, x: np.ndarray, y: np.ndarray, **parameters) -> float:
    return compare(metric, [x], [y], **parameters).values.item()


def test_metrics_that_hold_all_pairs_are_streamed_where_sums_give_them():
    assert set(STREAMED) == {"cka", "unbiased_cka", "procrustes", "linear_predictivity"}
    every_pair = {name for name, metric in METRICS.items() if metric.every_pair}
    assert every_pair - set(STREAMED) == {"rbf_cka", "rsa"}


@every_metric
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), chunk=st.integers(1, 70))
def test_equal_the_metric_of_the_whole_spaces(metric, seed, chunk):
    x, y = spaces(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "CHUNK", chunk)
        value = score(metric, x, y)
    assert value == pytest.approx(METRICS[metric](x, y), abs=1e-9)


@every_metric
def test_wider_than_stimuli_are_many(metric):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((30, 50)), rng.standard_normal((30, 70))
    assert score(metric, x, y) == pytest.approx(METRICS[metric](x, y), abs=1e-9)


@every_metric
def test_equal_the_ordinary_engine_for_all_layers_and_orders(metric):
    x, y = ([side.astype(np.float32) for side in spaces(seed)] for seed in (6, 7))
    ours, ordinary = make(metric), make_engine(metric)
    order = np.random.default_rng(0).permutation(60)
    for engine in (ours, ordinary):
        assert engine.prepare(x).refusals == ("", "")
    plain, shuffled = (
        [
            engine.scores(engine.prepare(x), engine.permuted(engine.prepare(y), moved)).values
            for engine in (ours, ordinary)
        ]
        for moved in (np.arange(60), order)
    )
    np.testing.assert_allclose(*plain, atol=1e-6)
    np.testing.assert_allclose(*shuffled, atol=1e-6)


@every_metric
def test_keep_their_digits_beside_a_large_mean(metric, monkeypatch):
    """Sums of raw products would lose what stands out of it: 10¹² beside 1."""
    monkeypatch.setattr(engines, "CHUNK", 7)
    x, y = spaces(1, offset=1e6)
    value = score(metric, x, y)
    assert value == pytest.approx(METRICS[metric](x - 1e6, y - 1e6), abs=1e-6)


@every_metric
def test_float32_features_are_summed_in_float64(metric, monkeypatch):
    monkeypatch.setattr(engines, "CHUNK", 50)
    x, y = (space.astype(np.float32) for space in spaces(2, n=300))
    value = score(metric, x, y)
    assert value == pytest.approx(METRICS[metric](x.astype(float), y.astype(float)), abs=1e-9)


def test_hand_computed_cka():
    """XᵀX and YᵀY are diag(4, 4) and XᵀY has the one entry 4: 16 / (√32 √32)."""
    shared, of_x, of_y = (
        np.array([1.0, -1, 1, -1]),
        np.array([1.0, 1, -1, -1]),
        np.array([1.0, -1, -1, 1]),
    )
    x, y = np.stack([shared, of_x], axis=1), np.stack([shared, of_y], axis=1)
    assert cka_of_sums(join(stream(x), stream(y))) == pytest.approx(1 / 2)


@every_metric
def test_no_matrix_of_all_pairs_is_made(metric):
    """Of 6,000 stimuli in 4 dimensions, such a matrix would take 288 MB."""
    x, y = (space[:, :4].astype(np.float32) for space in spaces(3, n=6000))
    tracemalloc.start()
    score(metric, x, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6


@every_metric
def test_layers_over_other_stimuli_are_refused(metric):
    x, y = spaces()
    engine = make(metric)
    with pytest.raises(
        MetricError, match="expected layers over the same stimuli; got 60 and 59 stimuli"
    ):
        engine.scores(engine.prepare([x]), engine.prepare([y[:-1]]))
    with pytest.raises(
        MetricError, match="expected layers over the same stimuli; got 60 and 59 stimuli"
    ):
        join(stream(x), stream(y[:-1]))


@every_metric
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(metric, bad):
    _, y = spaces()
    y[42, 3] = bad
    with pytest.raises(
        MetricError, match="a space must be finite; stimulus 42 has NaN or infinity"
    ):
        make(metric).prepare([y], preprocess=as_is)


@every_metric
@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_stimuli_are_refused(metric, n):
    x, _ = spaces()
    with pytest.raises(MetricError, match=f"at least 3 stimuli and 1 dimension; got {n}"):
        make(metric).prepare([x[:n]], preprocess=as_is)


@every_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_line_is_refused_by_those_that_refuse_it_in_whole(metric, dtype):
    x, _ = spaces()
    line = (np.outer(np.arange(60), np.ones(8)) / 7).astype(dtype)
    if metric in ("cka", "unbiased_cka"):
        assert score(metric, x, line) == pytest.approx(METRICS[metric](x, line), abs=1e-6)
    else:
        with pytest.raises(MetricError, match="rank 2 or more expected; these 60 stimuli lie on"):
            make(metric).prepare([line], preprocess=as_is)
        with pytest.raises(MetricError, match="rank 2 or more expected; these 60 stimuli lie on"):
            METRICS[metric](x, line)


def test_unbiased_cka_refuses_what_the_whole_kernel_refuses():
    x, _ = spaces(n=4)
    simplex = np.eye(4)
    with pytest.raises(MetricError, match="all similarities in this space are equal"):
        METRICS["unbiased_cka"](x, simplex)
    scores = compare("unbiased_cka", [x], [simplex])
    assert scores.refusals[0, 0].startswith("all similarities in this space are equal")
    scores = compare("unbiased_cka", [x[:3]], [x[:3, 1:]])
    assert scores.refusals[0, 0].startswith("the unbiased estimator needs at least 4 stimuli")


def test_predictivity_refuses_what_it_refuses_in_whole():
    x, _ = spaces()
    lonely = np.ones((60, 6))
    lonely[[0, 5], [0, 1]] = 2  # only these stand out, both of the first fold
    for layer, folds, why in (
        (x, 2, "folds of linear_predictivity is a whole number, 3 to 1,000; got 2"),
        (x[:9], 5, "5 folds need at least 10 stimuli; got 9: use fewer folds"),
        (lonely, 5, "a space that varies in every part of the stimuli expected"),
    ):
        with pytest.raises(MetricError, match=why):
            make("linear_predictivity", folds=folds).prepare([layer], preprocess=as_is)
