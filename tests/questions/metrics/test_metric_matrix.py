"""Every variant of every metric against one call each and ranks by hand; what is seen and drawn."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.errors import MetricError, PlatoscopeError
from core.metrics import METRICS
from core.questions.asking import ask
from core.questions.metrics import question as module
from core.questions.metrics.question import MetricAgreement
from core.spaces.preprocess import normalize_rows
from core.statistics.nulls import draw_orders
from core.store import Store
from core.study.study import Study
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

QUESTION = MetricAgreement(
    metrics=("mutual_knn", "cycle_knn", "svcca", "rbf_cka", "cka", "shape_angle"),
    ks=(3, 8),
    ranks=(2,),
    bandwidths=(0.5, 2.0),
    sizes=(20, 40),
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("store")
    kinds = {"vision": VISION[:2], "language": LANGUAGE[1:3], "reality": False}
    return Study(Store(build(root, PaintedDataset(40), **kinds)), "cave")


@pytest.fixture(scope="module")
def table(study: Study) -> pd.DataFrame:
    return ask(QUESTION, study)


def scored_literally(study: Study, metric: str, size: int, **parameters: float) -> list[float]:
    """Call the metric itself for every pair of models, higher being more aligned; the mean of both
    directions is what a metric without symmetry gives.
    """
    rows = sorted(draw_orders(study.size, count=1, seed=0)[0][:size])
    names = sorted(study.models()["model"])
    last = {name: normalize_rows(study.spaces(name)[-1][rows]) for name in names}
    turn = 1 if METRICS[metric].spec.higher_is_more_aligned else -1
    call = METRICS[metric]
    return [
        turn * (call(last[a], last[b], **parameters) + call(last[b], last[a], **parameters)) / 2
        for a, b in combinations(names, 2)
    ]


def test_every_two_variants_have_the_spearman_of_scores_made_one_by_one(study, table):
    titles = [
        f"{METRICS[name].spec.short}{given}, n = {size}"
        for name, givens in {
            "mutual_knn": (", k = 3", ", k = 8"),
            "cycle_knn": (", k = 3", ", k = 8"),
            "svcca": (", rank = 2",),
            "rbf_cka": (", bandwidth = 0.5", ", bandwidth = 2.0"),
            "cka": ("",),
            "shape_angle": ("",),
        }.items()
        for given in givens
        for size in (20, 40)
    ]
    assert list(dict.fromkeys(table["variant_x"])) == titles
    assert len(table) == len(titles) ** 2
    cells = table.set_index(["variant_x", "variant_y"])
    for (a, one), (b, other) in (
        (
            ("mutual k-NN, k = 3, n = 20", ("mutual_knn", 20, {"k": 3})),
            ("CKA, n = 40", ("cka", 40, {})),
        ),
        (
            ("Gaussian CKA, bandwidth = 2.0, n = 20", ("rbf_cka", 20, {"bandwidth": 2.0})),
            ("shape angle, n = 40", ("shape_angle", 40, {})),
        ),
        (
            ("cycle k-NN, k = 8, n = 40", ("cycle_knn", 40, {"k": 8})),
            ("SVCCA, rank = 2, n = 20", ("svcca", 20, {"rank": 2})),
        ),
    ):
        x, y = (scored_literally(study, name, size, **given) for name, size, given in (one, other))
        expected = stats.spearmanr(x, y).statistic
        assert cells.loc[(a, b), "spearman"] == pytest.approx(expected, abs=1e-9)
        assert cells.loc[(a, b), "pairs"] == 6
    diagonal = table[table["variant_x"] == table["variant_y"]]
    assert diagonal["spearman"].tolist() == pytest.approx([1.0] * len(titles))


def test_parameters_that_are_not_named_have_the_metrics_defaults(study):
    complete = MetricAgreement(sizes=(20,), metrics=("svcca", "cka", "mutual_knn")).complete(study)
    titles = [one.title for one in complete.variants()]
    assert titles == ["SVCCA, n = 20", "CKA, n = 20", "mutual k-NN, k = 10, n = 20"]


def test_what_no_metric_can_do_is_refused_before_anything_is_scored(study, monkeypatch):
    monkeypatch.setattr(module, "score_pairs", lambda *_, **__: pytest.fail("scored"))
    with pytest.raises(PlatoscopeError, match="no metric named 'ckaa'"):
        ask(replace(QUESTION, metrics=("cka", "ckaa")), study)
    monkeypatch.setattr(module, "LARGEST", 39)
    for question in (QUESTION, MetricAgreement(sizes=(40,))):
        with pytest.raises(MetricError, match=r"at most 39 stimuli, since .* all pairs.*; got 40"):
            ask(question, study)


def test_a_parameter_that_a_metric_refuses_costs_only_its_variants(study):
    choice = {"metrics": ("mutual_knn", "cka", "svcca"), "ks": (3, 20), "ranks": (15,)}
    table = ask(replace(QUESTION, **choice, sizes=(20,)), study)
    refused = table[table["spearman"].isna()]
    assert {*refused["variant_x"], *refused["variant_y"]} > {"mutual k-NN, k = 20, n = 20"}
    assert refused["reason"].ne("").all()
    cells = table.set_index(["variant_x", "variant_y"])["spearman"]
    assert np.isfinite(cells["mutual k-NN, k = 3, n = 20", "CKA, n = 20"])
