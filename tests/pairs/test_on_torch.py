"""The engines on torch give what those on numpy give; torch's CPU stands in for a GPU, which the
last test wants.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from core.errors import DeviceError, MetricError  # noqa: E402
from core.metrics import METRICS  # noqa: E402
from core.metrics.engines import make_engine  # noqa: E402
from core.pairs import on_torch  # noqa: E402
from core.spaces import neighbors  # noqa: E402

ON_TORCH = [name for name, metric in METRICS.items() if metric.on_torch]
every_metric = pytest.mark.parametrize("metric", ON_TORCH)


def models(seed: int, n: int = 50) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 5))
    x, y = (
        [
            shared @ rng.standard_normal((5, width)) + rng.standard_normal((n, width))
            for width in sizes
        ]
        for sizes in ((3, 9), (6, 4, 12))
    )
    return [layer.astype(np.float32) for layer in x], y


def as_is(space: np.ndarray) -> np.ndarray:
    return space


def scores(metric: str, x: list[np.ndarray], y: list[np.ndarray], device: str | None) -> np.ndarray:
    engine = make_engine(metric, device=device)
    return engine.scores(engine.prepare(x), engine.prepare(y)).values


def test_the_most_used_metrics_run_on_a_device():
    assert set(ON_TORCH) == {"mutual_knn", "cknna", "cka", "unbiased_cka"}


@every_metric
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_equal_those_on_numpy(metric, seed):
    x, y = models(seed)
    np.testing.assert_allclose(
        scores(metric, x, y, "cpu"), scores(metric, x, y, None), rtol=0, atol=1e-7
    )


def test_ties_are_broken_as_on_numpy(monkeypatch):
    monkeypatch.setattr(neighbors, "MOST_TIED", 1.0)
    layer = np.random.default_rng(0).integers(-2, 3, (40, 3)).astype(np.float32)
    on_cpu, on_numpy = (make_engine("mutual_knn", device=device, k=7) for device in ("cpu", None))
    found = on_cpu.prepare([layer], preprocess=as_is).layers.lists.numpy()
    np.testing.assert_array_equal(found, on_numpy.prepare([layer], preprocess=as_is).layers)


@every_metric
@pytest.mark.parametrize("block", [1, 300, 5000])
def test_do_not_depend_on_the_block(metric, block, monkeypatch):
    x, y = models(1)
    expected = scores(metric, x, y, "cpu")
    monkeypatch.setattr(on_torch, "BLOCK", block)
    np.testing.assert_allclose(scores(metric, x, y, "cpu"), expected, rtol=0, atol=1e-13)


@every_metric
def test_a_degenerate_layer_has_no_scores_and_spoils_no_other(metric):
    x, y = models(2)
    whole = scores(metric, x, y, "cpu")
    x[0], y[1] = np.zeros_like(x[0]), np.ones_like(y[1])
    found = scores(metric, x, y, "cpu")
    assert np.isnan(found).tolist() == [[True, True, True], [False, True, False]]
    np.testing.assert_allclose(found[1, [0, 2]], whole[1, [0, 2]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", ["cka", "unbiased_cka"])
def test_stimuli_that_are_all_equally_similar_are_refused_as_on_numpy(metric):
    x, _ = models(3, n=4)
    simplex = np.eye(4)
    for device in ("cpu", None):
        found = scores(metric, x, [*x, simplex], device)
        assert np.isnan(found[:, -1]).all() == (metric == "unbiased_cka")


@every_metric
def test_permuted_equals_reordering_the_layers_first(metric):
    x, y = models(4)
    order = np.random.default_rng(4).permutation(50)
    engine = make_engine(metric, device="cpu")
    y[1][:] = 1
    permuted = engine.scores(engine.prepare(x), engine.permuted(engine.prepare(y), order)).values
    np.testing.assert_allclose(
        permuted, scores(metric, x, [layer[order] for layer in y], None), rtol=0, atol=1e-7
    )


@every_metric
def test_spaces_over_other_stimuli_are_refused(metric):
    x, y = models(5)
    engine = make_engine(metric, device="cpu")
    with pytest.raises(
        MetricError, match="layers over the same stimuli expected; given 50 and 40 stimuli"
    ):
        engine.scores(engine.prepare(x), engine.prepare([layer[:40] for layer in y]))


def test_lists_that_were_found_before_serve_on_a_device():
    x, y = models(7)
    y[1][:] = 1
    engine = make_engine("mutual_knn", device="cpu", k=6)
    kept = [make_engine("mutual_knn", k=20).prepare(layers) for layers in (x, y)]
    ready = [engine.from_neighbors.take(lists) for lists in kept]
    assert ready[1].refusals == kept[1].refusals
    direct = engine.scores(engine.prepare(x), engine.prepare(y))
    np.testing.assert_array_equal(engine.scores(*ready).values, direct.values)


def test_a_metric_that_is_not_on_torch_is_refused():
    with pytest.raises(
        MetricError, match=r"on a device there are mutual_knn, .*; for rsa name no device"
    ):
        make_engine("rsa", device="cpu")


def test_a_device_without_float64_is_refused(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(
        DeviceError,
        match="metrics need float64, which mps does not have; name cuda, cpu or no device",
    ):
        make_engine("cka", device="mps")


def test_the_released_variant_is_refused():
    with pytest.raises(
        MetricError,
        match="on a device cknna has the variant paper alone; for released name no device",
    ):
        make_engine("cknna", device="cpu", variant="released")


@pytest.mark.gpu
@every_metric
def test_a_gpu_gives_the_same(metric):
    x, y = models(6)
    np.testing.assert_allclose(
        scores(metric, x, y, "cuda"), scores(metric, x, y, None), rtol=0, atol=1e-7
    )
