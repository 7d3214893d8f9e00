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
from core.metrics.catalog import make_engine  # noqa: E402
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


def on_torch_cpu(metric: str, **parameters):
    chosen = METRICS[metric]
    return chosen.on_torch(torch.device("cpu"), **chosen.complete(parameters))


def make(metric: str, place: str, **parameters):
    """Return an engine: of numpy, of torch's CPU, or of a CUDA device."""
    if place == "torch":
        return on_torch_cpu(metric, **parameters)
    return make_engine(metric, device="cpu" if place == "numpy" else place, **parameters)


def scores(metric: str, x: list[np.ndarray], y: list[np.ndarray], place: str) -> np.ndarray:
    engine = make(metric, place)
    return engine.scores(engine.prepare(x), engine.prepare(y)).values


def test_the_most_used_metrics_run_on_a_device():
    assert set(ON_TORCH) == {"mutual_knn", "cknna", "cka", "unbiased_cka"}


@every_metric
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_equal_those_on_numpy(metric, seed):
    x, y = models(seed)
    np.testing.assert_allclose(
        scores(metric, x, y, "torch"), scores(metric, x, y, "numpy"), rtol=0, atol=1e-7
    )


def test_ties_are_broken_as_on_numpy(monkeypatch):
    monkeypatch.setattr(neighbors, "MOST_TIED", 1.0)
    layer = np.random.default_rng(0).integers(-2, 3, (40, 3)).astype(np.float32)
    on_cpu, on_numpy = (make("mutual_knn", place, k=7) for place in ("torch", "numpy"))
    found = on_cpu.prepare([layer], preprocess=as_is).layers.lists.numpy()
    np.testing.assert_array_equal(found, on_numpy.prepare([layer], preprocess=as_is).layers)


@every_metric
def test_a_degenerate_layer_has_no_scores_and_spoils_no_other(metric):
    x, y = models(2)
    whole = scores(metric, x, y, "torch")
    x[0], y[1] = np.zeros_like(x[0]), np.ones_like(y[1])
    found = scores(metric, x, y, "torch")
    assert np.isnan(found).tolist() == [[True, True, True], [False, True, False]]
    np.testing.assert_allclose(found[1, [0, 2]], whole[1, [0, 2]], rtol=0, atol=1e-12)


@every_metric
def test_permuted_equals_reordering_the_layers_first(metric):
    x, y = models(4)
    order = np.random.default_rng(4).permutation(50)
    engine = on_torch_cpu(metric)
    y[1][:] = 1
    permuted = engine.scores(engine.prepare(x), engine.permuted(engine.prepare(y), order)).values
    np.testing.assert_allclose(
        permuted, scores(metric, x, [layer[order] for layer in y], "numpy"), rtol=0, atol=1e-7
    )


def test_lists_that_were_found_before_serve_on_a_device():
    x, y = models(7)
    y[1][:] = 1
    engine = on_torch_cpu("mutual_knn", k=6)
    kept = [make_engine("mutual_knn", k=20).prepare(layers) for layers in (x, y)]
    ready = [engine.take(lists) for lists in kept]
    assert ready[1].refusals == kept[1].refusals
    direct = engine.scores(engine.prepare(x), engine.prepare(y))
    np.testing.assert_array_equal(engine.scores(*ready).values, direct.values)


def test_a_metric_that_is_not_on_torch_is_refused_on_a_gpu():
    with pytest.raises(
        MetricError, match=r"on a GPU there are mutual_knn, .*; for rsa use device cpu or auto"
    ):
        make_engine("rsa", device="cuda")


def test_a_device_without_float64_is_refused(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(
        DeviceError,
        match="metrics need float64, which mps does not have; use device cpu or cuda",
    ):
        make_engine("cka", device="mps")


def test_the_released_variant_is_refused():
    with pytest.raises(
        MetricError,
        match="on a GPU cknna has the variant paper alone; for released use device cpu or auto",
    ):
        on_torch_cpu("cknna", variant="released")


@pytest.mark.parametrize("there", [True, False])
def test_auto_takes_a_gpu_where_there_is_one_and_numpy_for_all_else(there, monkeypatch):
    place = torch.device("cuda" if there else "mps")
    monkeypatch.setattr("core.settings._has_driver", lambda: True)
    monkeypatch.setattr("core.settings.choose_device", lambda _: place)
    kinds = {name: type(make_engine(name, device="auto")).__module__ for name in METRICS}
    on_torch_names = {name for name, kind in kinds.items() if kind == "core.pairs.on_torch"}
    assert on_torch_names == (set(ON_TORCH) if there else set())
    released = make_engine("cknna", device="auto", variant="released")
    assert type(released).__module__ == "core.pairs.engine"


@pytest.mark.gpu
@every_metric
def test_a_gpu_gives_the_same(metric):
    x, y = models(6)
    np.testing.assert_allclose(
        scores(metric, x, y, "cuda"), scores(metric, x, y, "numpy"), rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_neighbors_on_a_device_are_those_of_numpy(device):
    space = models(7, n=300)[0][1]
    space[100:150] = space[:50]  # ties
    rows_done: list[int] = []
    near = on_torch.nearest_on(torch.device(device), space, k=20, report=rows_done.append)
    assert rows_done == [300]
    np.testing.assert_array_equal(near, neighbors.nearest(space, k=20))
    with pytest.raises(MetricError, match="a space must be finite"):
        on_torch.nearest_on(torch.device(device), space + np.float32("nan"), k=20)
