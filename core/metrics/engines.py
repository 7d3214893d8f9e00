"""The engine of a metric by its id, on the CPU or on a device.

    engine = make_engine("cka")
    x, y = engine.prepare(layers_x), engine.prepare(layers_y)
    engine.scores(x, y).values                          # (Lx, Ly)
    engine.scores(x, engine.permuted(y, order))         # y's stimuli reordered, nothing made anew
    make_engine("cka", device="cuda")                   # the same on a GPU

What `prepare` returns belongs to its engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from core.errors import DeviceError, MetricError
from core.metrics import METRICS, Metric, find_metric
from core.metrics.spec import AnyEngine, Parameter
from core.settings import choose_device


def make_engine(metric: str, *, device: str = "cpu", **parameters: Parameter) -> AnyEngine:
    """Return the engine of a metric; parameters that are not given have the metric's defaults.

    device: "cpu" for numpy, which has all metrics; "cuda" or "cuda:1" for torch, which has the most
    used ones; "auto" for CUDA where this machine and the metric have it, else numpy. Raises
    UnknownNameError for the metric, MetricError for a parameter that it does not take and for one
    that torch does not have, DeviceError for a device that is not there or has no float64.
    """
    chosen = find_metric(metric)
    complete = chosen.complete(parameters)
    if device == "cpu":
        return chosen.engine(**complete)
    if device == "auto":
        return _on_cuda(chosen, complete) or chosen.engine(**complete)
    if chosen.on_torch is None:
        there = ", ".join(name for name, other in METRICS.items() if other.on_torch)
        raise MetricError(f"on a GPU there are {there}; for {metric} use device cpu or auto")
    place = choose_device(device)
    if place.type == "mps":
        raise DeviceError("metrics need float64, which mps does not have; use device cpu or cuda")
    return chosen.on_torch(place, **complete)


def _on_cuda(metric: Metric, parameters: Mapping[str, Parameter]) -> AnyEngine | None:
    """Return the metric's engine on CUDA; None where the machine or the metric does not have it."""
    if metric.on_torch is None:
        return None
    place = choose_device("auto")
    if place.type != "cuda":
        return None
    with suppress(MetricError):  # a variant that torch does not have
        return metric.on_torch(place, **parameters)
    return None
