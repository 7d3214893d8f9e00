"""Published alignments: all that were gathered, each with its source, and beside one's own only
where models and stimuli are the very same.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from core.errors import InputError
from core.metrics import METRICS
from core.plans.reading import open_plan
from core.store import Store
from core.study import published
from core.study.parts import Comparison
from core.study.published import (
    COLUMNS,
    deviations_here,
    published_alignments,
    published_pairs,
    put_beside,
    read_alignments,
)
from core.study.study import Study
from tests.study.published_store import COCO, WIT, build_published

SIZE = 24


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_published(tmp_path_factory.mktemp("published"), size=SIZE)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the published datasets as many stimuli as the test's."""
    table = published_alignments()
    monkeypatch.setattr(published, "_shipped", lambda: table.assign(stimuli=SIZE))


def gathered(facts: Path, name: str) -> list[dict[str, str]]:
    with (facts / "published_alignments" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def short(spec: str) -> str:
    """Return what is left of an id when all that a short name might leave out is dropped."""
    return spec.rpartition("/")[2].lower()


def test_every_gathered_value_is_shipped_and_nothing_more(facts: Path):
    values = published_alignments().dropna(subset="value")
    replicated = values[values["work"].str.startswith("Geometry")]
    best, last = (
        gathered(facts, f"mknn_coco_{name}.csv") for name in ("val2017_pairs", "final_layer_7b")
    )
    size, sweep = gathered(facts, "sample_size_wit.csv"), gathered(facts, "wit1024_k_sweep.csv")
    expected = [float(row[name]) for row in best for name in ("mknn_k10", "linear_cka")]
    expected += [float(row[name]) for row in last for name in ("mnn_k10", "cka")]
    for row in size:
        if "null" not in row["quantity"]:
            kept = [name for name in row if name not in ("quantity", "per_pair_range")]
            expected += [float(row[name]) for name in kept if row[name]]
    for row in sweep:
        if row["stat"] != "null_mean":
            expected += [float(row[name]) for name in row if name.startswith("k") and row[name]]
    assert sorted(replicated["value"]) == pytest.approx(sorted(expected))
    pairs = replicated[replicated["y"] != ""]
    for row, gathered_row in zip(pairs[pairs["metric"] == "cka"].itertuples(), best, strict=False):
        assert row.value == float(gathered_row["linear_cka"])
        for side, spec in (("a", row.x), ("b", row.y)):
            head = gathered_row[side].partition("-")[0].rstrip("v2")
            assert head in short(spec), (head, spec)


def test_what_the_studies_state_is_the_same():
    finding = {one.source: one.value for one in open_plan("prh-vision-language").published}
    table = published_alignments().set_index("source")["value"]
    assert all(table[source] == value for source, value in finding.items())
    stated = {one.what: one.value for one in open_plan("dispersion").published if one.value}
    shipped = published_alignments().query("page == 'dispersion'")["value"]
    assert sorted(shipped) == sorted(stated.values())


def test_every_value_has_a_source_and_a_known_metric():
    table = published_alignments()
    assert tuple(table) == COLUMNS
    assert (table["source"] != "").all()
    assert set(table["metric"]) - {""} <= set(METRICS)
    assert ((table["x"] != "") | (table["ask"] != "") | (table["metric"] == "")).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.assign(source=" "), "line 2: a published value needs a source"),
        (lambda table: table.drop(columns="ask"), "has the columns page, work"),
    ],
)
def test_a_value_without_a_source_is_refused(change, message: str, tmp_path: Path):
    change(published_alignments().head(1)).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match=message):
        read_alignments(tmp_path / "a.csv")


@pytest.mark.usefixtures("small")
def test_values_are_of_these_very_models_and_stimuli(root: Path):
    study = Study(Store(root), COCO)
    found = published_pairs(study, Comparison(k=10))
    assert set(found["x"]) == {"bloomz-560m", "bloomz-1b1", "vit_small_patch14_dinov2.lvd142m"}
    assert len(found) == 6  # four of language with vision, one within each
    assert published_pairs(study, Comparison(k=9)).empty
    assert len(published_pairs(study, Comparison(metric="cka"))) == 6
    assert deviations_here(study) == {}
    deviations = deviations_here(Study(Store(root), WIT))
    assert sorted(deviations.values()) == [0.21, 0.26, 0.33, 0.43]


def test_another_number_of_stimuli_has_no_published_value(root: Path):
    study = Study(Store(root), COCO)
    assert published_pairs(study, Comparison(k=10)).empty


def test_a_pair_is_found_in_either_order_where_the_metric_is_symmetric():
    values = pd.DataFrame(
        [("a", "b", 0.2, "1:2", "s")], columns=["x", "y", "value", "layers", "source"]
    )
    table = pd.DataFrame({"model_x": ["b", "a"], "model_y": ["a", "c"]})
    beside = put_beside(table, values, METRICS["mutual_knn"].spec)
    assert beside["published"].iloc[0] == 0.2
    assert beside["published"].isna().tolist() == [False, True]
    assert "published" not in put_beside(table, values, METRICS["cycle_knn"].spec)
