"""The printed properties of metrics agree with what the metrics do."""

from __future__ import annotations

import numpy as np

from core.metrics import METRICS
from core.metrics.catalog import PRINTED, PROPERTIES, printed_table
from core.metrics.knn import cycle_terms, edit_terms, mutual_terms, subsequence_terms

TERMS = {
    "mutual_knn": mutual_terms,
    "cycle_knn": cycle_terms,
    "edit_distance_knn": edit_terms,
    "lcs_knn": subsequence_terms,
}


def marks(name: str) -> dict[str, str]:
    return dict(zip(PROPERTIES, PRINTED[name], strict=True))


def test_symmetric_and_global_are_those_of_the_specs():
    for name in PRINTED:
        spec, printed = METRICS[name].spec, marks(name)
        assert spec.symmetric == (printed["symmetric"] == "✓")
        assert (spec.scope == "global") == (printed["global"] == "✓")


def test_ordinal_in_the_papers_sense_is_whether_the_order_of_a_list_counts():
    rng = np.random.default_rng(0)
    a, b = (np.array([rng.permutation(20)[:6] for _ in range(20)], np.int32) for _ in range(2))
    for name, terms in TERMS.items():
        changed = (terms(a, b) != terms(a, b[:, ::-1])).any()
        assert changed == (marks(name)["ordinal"] == "✓")
    assert marks("mutual_knn")["ordinal"] == ""
    assert METRICS["mutual_knn"].spec.order_alone  # which is another thing


def test_the_table_has_a_row_per_printed_metric():
    table = printed_table()
    assert table.columns.tolist() == ["metric", "title", *PROPERTIES]
    assert table["metric"].tolist() == list(PRINTED)
