"""The metrics as a table, from their specs: for the command line, the pages and the README."""

from __future__ import annotations

import math

import pandas as pd

from core.metrics import METRICS
from core.metrics.printed import PRINTED, PROPERTIES
from core.metrics.spec import MetricSpec

_NAMED = {math.pi / 2: "π/2", math.inf: "∞", -math.inf: "−∞"}


def metrics_table() -> pd.DataFrame:
    """Return a row per metric: id, title, range, aligned (which end is), scope, symmetric,
    parameters, sees, misses, formula, source, and the properties that Huh et al. 2024 print …
    """
    rows = [_row(metric.spec) for metric in METRICS.values()]
    return pd.DataFrame(rows)


def range_text(spec: MetricSpec) -> str:
    """Return a metric's range for people: 0 … 1."""
    return " … ".join(_NAMED.get(end, f"{end:g}".replace("-", "−")) for end in spec.range)


def _row(spec: MetricSpec) -> dict[str, object]:
    return {
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
        "printed": _printed(spec.id),
    }


def _printed(metric: str) -> str:
    """Return the properties that the paper prints a metric to have; see `core.metrics.printed`."""
    marks = zip(PROPERTIES, PRINTED.get(metric, ()), strict=False)
    return ", ".join(f"{name}{mark.removeprefix('✓')}" for name, mark in marks if mark)
