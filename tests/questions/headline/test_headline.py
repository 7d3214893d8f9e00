"""The headline over a store whose better models keep more of reality."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.questions.alignment.question import Alignment
from core.questions.asking import ask, recall, recall_earlier
from core.questions.competence.question import unasked
from core.questions.headline import Headline, by_metric, metrics_plot
from core.statistics.trends import FEW
from core.store import Store, View
from core.study.comparing import align_models
from core.study.parts import Comparison, Scope
from core.study.study import Study
from tests.freshness.test_fresh import measure
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build
from tests.questions.test_imports_only import import_only

FAMILIES = {"gpt-2": ("xs", "s", "m"), "llama": ("s", "m")}  # the worst size first


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("headline")
    return build(root, PaintedDataset(60), vision=VISION, language=LANGUAGE, seeds=2)


@pytest.fixture
def table(root: Path) -> pd.DataFrame:
    return ask(Headline(Scope("cave")), Study(Store(root), "cave"))


def test_setups_are_counted_once_whatever_their_seeds(table: pd.DataFrame) -> None:
    assert table["layers"].tolist() == ["best", "last"]
    assert table["vision"].tolist() == [5, 5]  # the untrained one finished no training
    assert table["language"].tolist() == [6, 6]
    assert table["exact"].all()
    assert table["draws"].tolist() == [12, 12]  # 3! orders of GPT-2, 2! of LLaMA: vision is unknown


@pytest.mark.parametrize("place", [0, 1])
def test_the_p_is_that_of_all_orders_of_sizes_within_families(
    root: Path, table: pd.DataFrame, place: int
) -> None:
    study = Study(Store(root), "cave")
    models = study.models().set_index("model")
    vision = [name for name in models.index if name.startswith("vit") and "untrained" not in name]
    language = [name for name in models.index if models["modality"][name] == "language"]
    comparison = Comparison(layers=("best", "last")[place])
    pairs = align_models(study, language, vision, comparison)
    setup = pairs["model_x"].str.replace("-seed1", "")
    means = pairs["score"].groupby(setup).mean()
    competence = study.competence().set_index("model")["value"]
    ranks = competence.groupby(competence.index.str.replace("-seed1", "")).mean().rank()

    def statistic(orders: dict[str, tuple[str, ...]]) -> float:
        total = 0.0
        for family, sizes in FAMILIES.items():
            middle = np.mean([means[f"{family}-{size}"] for size in sizes])
            for size, other in zip(sizes, orders[family], strict=True):
                total += ranks[f"{family}-{other}"] * (means[f"{family}-{size}"] - middle)
        return total

    own = statistic(FAMILIES)
    found = [
        statistic({"gpt-2": one, "llama": other})
        for one in permutations(FAMILIES["gpt-2"])
        for other in permutations(FAMILIES["llama"])
    ]
    share = np.mean([value >= own - 1e-12 for value in found])
    assert table["p"][place] == pytest.approx(share)


def test_competence_of_vision_counts_as_soon_as_it_is_measured(tmp_path: Path) -> None:
    copy = build(tmp_path, PaintedDataset(60), vision=VISION, language=LANGUAGE, seeds=2)
    names = [entry.card.name for entry in Store(copy).models("cave")]
    measure(*[name for name in names if name.startswith("vit")])(copy)
    table = ask(Headline(Scope("cave")), Study(Store(copy), "cave"))
    assert table["draws"].tolist() == [48, 48]  # and 2! each of MAE and of CLIP


def test_without_two_families_of_two_sizes_it_is_unknown(tmp_path: Path) -> None:
    root = build(tmp_path, PaintedDataset(30), vision=VISION[:2], language=LANGUAGE[:3])
    table = ask(Headline(Scope("cave")), Study(Store(root), "cave"))
    assert table["verdict"].tolist() == ["unknown", "unknown"]
    assert table["reason"].tolist() == [FEW, FEW]
    assert table[["change", "p", "rho"]].isna().all(axis=None)
    assert [one.verdict for one in Headline()._findings(table)] == ["unknown"] * 2


@pytest.mark.parametrize(
    ("change", "p", "verdict"),
    [
        (0.01, 0.049, "supported"),
        (0.01, 0.051, "open"),
        (-0.01, 0.949, "open"),
        (-0.01, 0.951, "contradicted"),
        (np.nan, np.nan, "unknown"),
    ],
)
def test_the_verdict_is_that_of_the_one_sided_p(change: float, p: float, verdict: str) -> None:
    row = {"vision": 9, "language": 6, "change": change, "low": np.nan, "high": np.nan, "p": p}
    table = pd.DataFrame([{**row, "layers": "best", "draws": 999, "counted": 15, "reason": ""}])
    assert Headline()._findings(table)[0].verdict == verdict


def test_imports_of_unknown_family_count_only_if_they_are_named(tmp_path: Path) -> None:
    root = build(tmp_path, PaintedDataset(60), vision=VISION, language=LANGUAGE, seeds=2)
    before = ask(Headline(Scope("cave")), Study(Store(root), "cave"))
    rows = np.random.default_rng(0).standard_normal((60, 8))
    np.save(tmp_path / "mine.npy", rows)
    words = ["import", f"{tmp_path}/mine.npy", "--dataset", "cave", "--modality", "language"]
    assert main([*words, "--store", str(root)]) == 0
    study = Study(Store(root), "cave")
    assert unasked(study) == ["mine"]
    aligned = Alignment(Scope("cave")).complete(study)
    assert "mine" not in {*aligned.x, *aligned.y}
    assert recall(Headline(Scope("cave")), study) is None
    earlier, added = recall_earlier(Headline(Scope("cave")), study)
    pd.testing.assert_frame_equal(earlier.table, before)
    assert added == ["mine"]
    pd.testing.assert_frame_equal(ask(Headline(Scope("cave")), study), before)
    counted = ask(Headline(Scope("cave"), also=("mine",)), study)
    assert counted["language"].tolist() == [7, 7]
    assert main(["model", "set", "mine", "--family", "GPT-2", "--store", str(root)]) == 0
    assert unasked(Study(Store(root), "cave")) == []


def test_no_score_is_read_where_nothing_was_imported(root: Path) -> None:
    view = View(root)
    assert unasked(Study(view, "cave")) == []
    assert not [key for key in view.reads if key.startswith("result")]


def test_where_a_modality_has_imports_alone_they_count(tmp_path: Path) -> None:
    root = import_only(tmp_path)
    assert unasked(Study(Store(root), "mine")) == []


def test_each_metric_counts_in_the_layers_clamping_and_k_of_the_headline():
    table = pd.DataFrame(
        {
            "metric": ["mutual_knn", "mutual_knn", "cka", "cka", "cknna"],
            "k": pd.array([10, 50, None, None, 10], dtype="Int64"),
            "layers": ["best", "best", "best", "last", "best"],
            "clamping": ["clamped at q = 0.95"] * 4 + ["not clamped"],
            "rho": [0.6, 0.7, 0.5, 0.4, 0.3],
            "p": [0.01, 0.01, 0.04, 0.9, 0.9],
            "setups": 31,
        }
    )
    found = by_metric(table)
    assert found.to_dict("list") == {
        "metric": ["mutual_knn", "cka"],
        "rho": [0.6, 0.5],
        "p": [0.01, 0.04],
        "n": [31, 31],
        "q": [0.02, 0.04],
    }


def test_metrics_are_drawn_by_their_rho_in_the_headlines_layers_with_others_fainter():
    best = {"layers": "best", "clamping": "clamped at q = 0.95"}
    rows = [
        ("cka", pd.NA, 0.2, best),
        ("mutual_knn", 10, 0.6, best),
        ("mutual_knn", 20, 0.4, best),
        ("mutual_knn", 20, -0.1, best | {"layers": "last"}),
        ("cknna", 10, np.nan, best),
    ]
    table = pd.DataFrame(
        [{"metric": metric, "k": k, "rho": rho, **how} for metric, k, rho, how in rows]
    ).assign(low=lambda table: table["rho"] - 0.1, high=lambda table: table["rho"] + 0.2, p=0.01)
    figure = metrics_plot(table).draw("light")
    assert list(figure.layout.yaxis.ticktext) == [
        "mutual k-NN, k = 10",
        "mutual k-NN, k = 20",
        "CKA",
    ]
    others, own = figure.data[:2]
    assert (list(others.x), list(others.y)) == ([-0.1], [1])
    assert (list(own.x), list(own.y)) == ([0.6, 0.4, 0.2], [0, 1, 2])
    assert own.error_x.array == pytest.approx([0.2] * 3)
    assert own.error_x.arrayminus == pytest.approx([0.1] * 3)
