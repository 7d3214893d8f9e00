"""The engine of a metric by its id, on the CPU or on a device.

    engine = make_engine("cka")
    x, y = engine.prepare(layers_x), engine.prepare(layers_y)
    engine.scores(x, y).values                          # (Lx, Ly)
    engine.scores(x, engine.permuted(y, order))         # y's stimuli reordered, nothing made anew
    make_engine("cka", device="cuda")                   # the same on a GPU

What `prepare` returns belongs to its engine.
"""

from __future__ import annotations

from typing import Any

from core.errors import DeviceError, MetricError
from core.metrics import METRICS, find_metric
from core.metrics.spec import AnyEngine
from core.settings import choose_device


def make_engine(metric: str, *, device: str | None = None, **parameters: Any) -> AnyEngine:
    """Return the engine of a metric; parameters that are not given have the metric's defaults.

    device: "cpu" or "cuda" for torch, which has the most used metrics; None for numpy, which has
    all. Raises UnknownNameError for the metric, MetricError for a parameter that it does not take
    and for one that torch does not have, DeviceError for a device that is not there or has no
    float64.
    """
    chosen = find_metric(metric)
    complete = chosen.complete(parameters)
    if device is None:
        return chosen.engine(**complete)
    if chosen.on_torch is None:
        there = ", ".join(name for name, other in METRICS.items() if other.on_torch)
        raise MetricError(f"on a device there are {there}; for {metric} name no device")
    place = choose_device(device)
    if place.type == "mps":
        raise DeviceError(
            "metrics need float64, which mps does not have; name cuda, cpu or no device"
        )
    return chosen.on_torch(place, **complete)
