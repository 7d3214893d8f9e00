"""The metrics as tables for people, and their engines by name and device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress

import pandas as pd

from core.errors import DeviceError, MetricError
from core.metrics import METRICS, find_metric
from core.metrics.spec import AnyEngine, MetricSpec, Parameter
from core.settings import choose_device, find_cuda

_NAMED = {math.pi / 2: "π/2", math.inf: "∞", -math.inf: "−∞"}


def metrics_table() -> pd.DataFrame:
    """Return what people read of every metric, a row each."""
    rows = []
    for spec in (metric.spec for metric in METRICS.values()):
        marks = zip(PROPERTIES, PRINTED.get(spec.id, ()), strict=False)
        printed = [f"{name}{mark.removeprefix('✓')}" for name, mark in marks if mark]
        row = {
            "id": spec.id,
            "title": spec.title,
            "range": range_text(spec),
            "aligned": "high" if spec.higher_is_more_aligned else "low",
            "scope": spec.scope,
            "symmetric": spec.symmetric,
            "parameters": ", ".join(f"{name}={value}" for name, value in spec.defaults.items()),
            "ignores": ", ".join(sorted(spec.invariances)).replace("_", " "),
            "sees": spec.sees,
            "misses": spec.misses,
            "formula": spec.formula,
            "reference": spec.reference,
            "printed": ", ".join(printed),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def range_text(spec: MetricSpec) -> str:
    return " … ".join(_NAMED.get(end, f"{end:g}".replace("-", "−")) for end in spec.range)


PRINTED_PROPERTIES = (
    "symmetric: m(x, y) = m(y, x). global: every stimulus is compared with every other; ✓* means"
    " that the metric is global if k is the number of all stimuli, and still meaningful there."
    " ordinal: the order of what is near counts, so that the neighbors a, b, c and c, a, b differ."
    " batchable: feasible in reasonable time. The marks were read off a public HTML copy of the"
    " paper, and have not been checked against the printed one."
)
PROPERTIES = ("symmetric", "global", "ordinal", "batchable")
PRINTED: Mapping[str, tuple[str, ...]] = {
    "cka": ("✓", "✓", "✓", "✓"),
    "unbiased_cka": ("✓", "✓", "✓", "✓"),
    "svcca": ("✓", "✓", "✓", "✓"),
    "mutual_knn": ("✓", "", "", "✓"),
    "cknna": ("✓", "✓*", "✓", "✓"),
    "cycle_knn": ("", "", "", "✓"),
    "edit_distance_knn": ("✓", "✓*", "✓", ""),
    "lcs_knn": ("✓", "✓*", "✓", ""),
}


def printed_table() -> pd.DataFrame:
    rows = [(name, METRICS[name].spec.title, *marks) for name, marks in PRINTED.items()]
    return pd.DataFrame(rows, columns=["metric", "title", *PROPERTIES])


def make_engine(metric: str, *, device: str = "cpu", **parameters: Parameter) -> AnyEngine:
    """Return the engine of a metric; parameters that are not given have the metric's defaults.

    device: "cpu" for numpy; "cuda" or "cuda:1" for torch, which has the most used metrics; "auto"
    for CUDA if this machine and the metric have it. Raises UnknownNameError, MetricError for a
    wrong parameter, DeviceError for a device that is not there or has no float64.
    """
    chosen = find_metric(metric)
    complete = chosen.complete(parameters)
    if device == "cpu":
        return chosen.engine(**complete)
    if device == "auto":
        if chosen.on_torch is not None and (place := find_cuda("auto")):
            with suppress(MetricError):  # a variant that torch does not have
                return chosen.on_torch(place, **complete)
        return chosen.engine(**complete)
    if chosen.on_torch is None:
        there = ", ".join(name for name, other in METRICS.items() if other.on_torch)
        raise MetricError(f"on a GPU there are {there}; for {metric} use device cpu or auto")
    place = choose_device(device)
    if place.type == "mps":
        raise DeviceError("metrics need float64, which mps does not have; use device cpu or cuda")
    return chosen.on_torch(place, **complete)
