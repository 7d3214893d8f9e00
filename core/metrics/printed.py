"""Properties of metrics as Huh et al. 2024 print them (figure 11), in the paper's words.

symmetric: m(x, y) = m(y, x). global: every stimulus is compared with every other; with ✓*, it is
where k is all stimuli, and the metric still means something there. ordinal: the order of what is
near counts, so that the neighbors a, b, c and c, a, b differ. batchable: feasible in reasonable
time.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from core.metrics import METRICS

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
    """Return a row per metric of the paper, in its order: metric, title and its marks."""
    rows = [(name, METRICS[name].spec.title, *marks) for name, marks in PRINTED.items()]
    return pd.DataFrame(rows, columns=["metric", "title", *PROPERTIES])
