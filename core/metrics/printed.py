"""Properties of metrics as Huh et al. 2024 print them (table 11).

symmetric: m(x, y) = m(y, x). global: every stimulus is compared with every other; ✓* means that
the metric is global where k is the number of all stimuli, and still meaningful there. ordinal: the
order of what is near counts, so that the neighbors a, b, c and c, a, b differ. batchable: feasible
in reasonable time. The marks were read off a public HTML copy of the paper, and have not been
checked against the printed one.
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
