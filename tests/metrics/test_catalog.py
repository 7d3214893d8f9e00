"""What is printed of the metrics; and a metric that is one entry works everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.metrics import METRICS
from core.metrics.catalog import PRINTED, PROPERTIES, make_engine
from core.metrics.knn import cycle_terms, edit_terms, mutual_share, mutual_terms, subsequence_terms
from core.metrics.spec import Chance, Metric, MetricSpec
from core.options import Range
from core.pairs.lists import lists_of
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.store import Store, add_dataset
from core.study.parts import Calibration, Comparison, Scope
from core.study.study import Study
from tests.comparisons import align_models
from tests.store_fakes import CountedDataset
from tests.study.stored import layers_of, put

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


N = 40


def first_terms(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 for each stimulus whose nearest is the same in both spaces."""
    return (a[:, 0] == b[:, 0]).astype(float)


FIRST = Metric(
    MetricSpec(
        id="first_knn",
        title="Same nearest stimulus",
        short="first k-NN",
        formula=r"\frac{1}{n} \sum_i [A_{i1} = B_{i1}]",
        scope="local",
        order_alone=True,
        invariances=frozenset({"rotation", "isotropic_scaling"}),
        sees="Which stimulus is the nearest.",
        misses="All others.",
        defaults={"k": 1},
        ranges={"k": Range(1, N)},
        reference="none",
    ),
    engine=lists_of(first_terms),
    chance=Chance(lambda *, n, k: 1 / (n - 1), "1/(n − 1)"),  # noqa: ARG005
    share=mutual_share,  # of one neighbor
)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Return a study of three models, with one more metric in the list."""
    add_dataset(tmp_path, CountedDataset(N))
    for seed, name in enumerate(("ape", "bee", "cat")):
        put(tmp_path, name, layers_of(seed, n=N), n=N)
    monkeypatch.setitem(METRICS, "first_knn", FIRST)
    return Study(Store(tmp_path), "counted")


def test_it_is_aligned_and_has_its_chance(study):
    table = align_models(study, ["ape"], ["bee", "cat"], metric="first_knn", layers="last")
    engine = make_engine("first_knn")
    ape, bee = (engine.prepare(study.spaces(name)[-1:]) for name in ("ape", "bee"))
    assert table["score"][0] == engine.scores(ape, bee).values.item()
    assert table["chance"].tolist() == [1 / (N - 1)] * 2
    assert table["k"].tolist() == [1, 1]


def test_it_is_calibrated_and_has_an_interval_of_its_own(study):
    question = Alignment(
        x=("ape",),
        y=("bee",),
        scope=Scope(dataset="counted"),
        comparison=Comparison(metric="first_knn"),
        calibration=Calibration(null=19, bootstrap=50),
    )
    row = ask(question, study).iloc[0]
    assert 1 / 20 <= row["p"] <= 1
    assert row["low"] <= row["score"] <= row["high"]
    assert row["reason"] == ""


def test_the_command_lists_it(study, capsys):  # noqa: ARG001
    main(["metrics", "list", "--json"])
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["first_knn"]["title"] == "Same nearest stimulus"
    assert rows["first_knn"]["parameters"] == "k=1"
