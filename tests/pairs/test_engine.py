"""Engines give what the metric gives pair by pair, in whole or as sums over stimuli."""

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
from core.pairs.engine import ListEngine, join, stream
from core.spaces.preprocess import normalize_rows

every_engine = pytest.mark.parametrize("metric", METRICS)
CHOICES = [  # what the defaults leave out
    ("cknna", {"k": 20, "variant": "released"}),
    ("rbf_cka", {"bandwidth": 0.7, "unit": "feature"}),
    ("rsa", {"correlation": "pearson"}),
    ("mutual_knn", {"k": 39}),
]


def models(seed: int = 0, n: int = 40) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return two models of three and two layers, of different widths, that have something in
    common.
    """
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 5))
    widths = ((3, 8, 12), (6, 9))
    return tuple(
        [
            (shared @ rng.standard_normal((5, width)) + rng.standard_normal((n, width))).astype(
                np.float32
            )
            for width in widths_of_one
        ]
        for widths_of_one in widths
    )


def scores(metric: str, x: list[np.ndarray], y: list[np.ndarray], **parameters) -> np.ndarray:
    engine = make_engine(metric, **parameters)
    return engine.scores(engine.prepare(x), engine.prepare(y)).values


def pair_by_pair(metric: str, x: list[np.ndarray], y: list[np.ndarray], **parameters) -> np.ndarray:
    return np.array(
        [
            [METRICS[metric](normalize_rows(a), normalize_rows(b), **parameters) for b in y]
            for a in x
        ]
    )


@pytest.mark.parametrize(
    ("metric", "parameters"), [*((metric, {}) for metric in METRICS), *CHOICES]
)
def test_equal_the_metric_of_every_pair(metric, parameters):
    x, y = models()
    np.testing.assert_allclose(
        scores(metric, x, y, **parameters),
        pair_by_pair(metric, x, y, **parameters),
        rtol=0,
        atol=1e-7,
    )


@every_engine
@pytest.mark.parametrize("bad", [0.0, 1.0, np.nan])
def test_a_degenerate_layer_has_no_scores_and_spoils_no_other(metric, bad):
    x, y = models(2)
    whole = scores(metric, x, y)
    x[1], y[0] = np.full_like(x[1], bad), np.full_like(y[0], bad)
    found = scores(metric, x, y)
    assert np.isnan(found).tolist() == [[True, False], [True, True], [True, False]]
    np.testing.assert_allclose(found[[0, 2], 1], whole[[0, 2], 1], rtol=0, atol=1e-12)


@every_engine
def test_a_model_of_degenerate_layers_alone_is_refused_with_the_first_reason(metric):
    with pytest.raises(
        MetricError,
        match=(
            r"no layer can be compared: vectors with a direction expected; stimulus 0 has only"
            r" zeros"
        ),
    ):
        make_engine(metric).prepare([np.zeros((9, 4)), np.ones((9, 4))])


@every_engine
def test_lists_that_were_found_before_serve_whoever_says_so(metric):
    x, y = models(11)
    engine = make_engine(metric)
    takes = isinstance(engine, ListEngine)
    assert takes == ("k" in METRICS[metric].spec.defaults and metric != "cknna")
    if takes:
        found = make_engine("mutual_knn", k=engine.k + 5)
        ready = [engine.take(found.prepare(layers)) for layers in (x, y)]
        np.testing.assert_array_equal(engine.scores(*ready).values, scores(metric, x, y))


@every_engine
def test_do_not_depend_on_the_number_of_threads(metric, monkeypatch):
    x, y = models(3)
    expected = scores(metric, x, y)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for cores in (1, 3, 8):
        monkeypatch.setattr("core.machine.processes.count_cores", lambda cores=cores: cores)
        np.testing.assert_array_equal(scores(metric, x, y), expected)


@pytest.mark.parametrize("metric", ["cka", "unbiased_cka", "rbf_cka", "rsa"])
@pytest.mark.parametrize("tile", [1, 7, 1000])
def test_do_not_depend_on_the_tile(metric, tile, monkeypatch):
    x, y = models(4)
    expected = scores(metric, x, y)
    monkeypatch.setattr(engines, "TILE", tile)
    np.testing.assert_allclose(scores(metric, x, y), expected, rtol=0, atol=1e-14)


@every_engine
@pytest.mark.parametrize("square", [engines.SQUARE, 0])
def test_permuted_equals_reordering_the_layers_first(metric, square, monkeypatch):
    monkeypatch.setattr(engines, "SQUARE", square)
    x, y = models(7)
    order = np.random.default_rng(7).permutation(40)
    engine = make_engine(metric)
    y[1][:] = 1
    ready = engine.permuted(engine.prepare(y), order)
    assert [bool(why) for why in ready.refusals] == [False, True]
    permuted = engine.scores(engine.prepare(x), ready).values
    np.testing.assert_allclose(
        permuted, scores(metric, x, [layer[order] for layer in y]), rtol=0, atol=1e-7
    )


@every_engine
def test_spaces_over_other_stimuli_are_refused(metric):
    x, y = models(8)
    engine = make_engine(metric)
    with pytest.raises(MetricError, match=r"over the same"):
        engine.scores(engine.prepare(x), engine.prepare([layer[:30] for layer in y]))


def test_a_pair_that_the_metric_refuses_has_no_score():
    """Canonical correlations of ranks that sum to n say nothing; those of narrower layers do."""
    x, y = models(9, n=20)
    engine = make_engine("mean_cca")
    scores = engine.scores(engine.prepare(x), engine.prepare(y))
    assert np.isnan(scores.values).tolist() == [[False, False], [False, False], [False, True]]
    assert list(scores.refusals) == [(2, 1)]
    assert scores.refusals[2, 1].startswith(
        "canonical correlations of ranks 12 and 9 need more than 21 stimuli; got 20"
    )


@pytest.mark.parametrize("metric", ["mean_cca", "linear_predictivity"])
def test_layers_that_have_scores_or_are_refused_alone_are_no_refused_pair(metric):
    x, y = models(9, n=40)
    y[0][:] = 1
    engine = make_engine(metric)
    ready = engine.prepare(x), engine.prepare(y)
    assert engine.scores(*ready).refusals == {}
    assert ready[1].refusals == (
        "all 40 stimuli have the same vector, so this space has no neighbors; choose another layer",
        "",
    )


def test_a_space_that_nothing_can_be_learned_from_is_named_by_predictivity():
    x, y = models(9, n=40)
    y[0] = np.ones((40, 6))
    y[0][[0, 5], [0, 1]] = (
        2  # only these stand out, both of the first fold: what is left without it is constant
    )
    engine = make_engine("linear_predictivity")
    ready = [engine.prepare(layers, preprocess=lambda space: space) for layers in (x, y)]
    scores = engine.scores(*ready)
    assert np.isnan(scores.values).tolist() == [[True, False]] * 3
    assert list(scores.refusals) == [(0, 0), (1, 0), (2, 0)]
    for why in scores.refusals.values():
        assert why.startswith("a space that varies in every part of the stimuli")


def test_a_parameter_out_of_range_is_the_reason_that_no_layer_can_be_compared():
    with pytest.raises(
        MetricError,
        match=r"no layer can be compared: k must lie in 1 … 39 for 40 stimuli; got 40",
    ):
        make_engine("mutual_knn", k=40).prepare(models()[0])


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
    assert every_pair - set(STREAMED) == {"information_imbalance", "rbf_cka", "rsa"}


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
    """Sums of raw products would lose what stands out of it: 10¹² next to 1."""
    monkeypatch.setattr(engines, "CHUNK", 7)
    x, y = spaces(1, offset=1e6)
    value = score(metric, x, y)
    assert value == pytest.approx(METRICS[metric](x - 1e6, y - 1e6), abs=1e-6)


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
