"""A study's models among each other: all pairs of any modality, maps that ignore the order of
models, bins, and training.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.encoders.encoder import ModelCard
from core.errors import InputError, MetricError, UnknownNameError
from core.questions.models import answer as mapping
from core.questions.models.answer import (
    bin_models,
    follow_training,
    map_models,
    skill_of,
    solve_tasks,
)
from core.recipe import Recipe
from core.store import Store, write_embedding
from core.store.versions import VERSIONS
from core.study.comparing import align_models
from core.study.pairing import pair_models
from core.study.study import Study
from tests.pages.measured import measure
from tests.pages.world import VISION, PaintedDataset, build

FLAT, HALF = (
    "flat",
    "half",
)  # models whose only layer, and whose first of two, is the same for all stimuli


def write_flat(root: Path, dataset: PaintedDataset, name: str, layers: list[np.ndarray]) -> None:
    card = ModelCard(
        name,
        name,
        "vision",
        f"hf:{name}",
        "ViT",
        "MAE",
        1000,
        name,
        tuple(f"block {i}" for i in range(len(layers))),
    )
    recipe = Recipe.of("embedding", version=VERSIONS["embedding"], model=name)
    write_embedding(
        root,
        dataset=dataset.card,
        card=card,
        level=None,
        layers=layers,
        bits=None,
        bytes=None,
        recipe=recipe,
        device="cpu",
        seconds=0.1,
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dataset = PaintedDataset(50)
    root = build(tmp_path_factory.mktemp("store"), dataset)
    flat, sound = (
        np.ones((50, 3), np.float32),
        np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32),
    )
    write_flat(root, dataset, FLAT, [flat])
    write_flat(root, dataset, HALF, [flat, sound])
    return root


@pytest.fixture
def study(root: Path) -> Study:
    return Study(Store(root), "cave")


@pytest.fixture
def names(study: Study) -> list[str]:
    return [name for name in study.models()["model"] if name not in (FLAT, HALF)]


@pytest.mark.parametrize(
    ("metric", "parameters"), [("mutual_knn", {"k": 5}), ("cka", {}), ("shape_angle", {})]
)
def test_every_two_models_have_the_studys_own_score(study, names, metric, parameters):
    names = [*names[2:5], *names[-3:]]  # of all three modalities
    table = pair_models(study, names[::-1], metric=metric, **parameters)
    assert list(zip(table["model_x"], table["model_y"], strict=True)) == list(
        combinations(sorted(names), 2)
    )
    own = align_models(study, sorted(names), sorted(names), metric=metric, **parameters).set_index(
        ["model_x", "model_y"]
    )
    found = table.set_index(["model_x", "model_y"])
    np.testing.assert_allclose(found["score"], own["score"].reindex(found.index), rtol=1e-9)
    if metric != "shape_angle":  # of its equally small angles rounding picks one
        assert (
            found[["layer_x", "layer_y"]] == own[["layer_x", "layer_y"]].reindex(found.index)
        ).all(axis=None)


def test_a_metric_with_directions_gives_the_mean_of_both_at_the_chosen_layers(study, names):
    row = pair_models(study, names[:2], metric="pwcca", layers="last").iloc[0]
    sides = [row["model_x"]], [row["model_y"]]
    both = [
        align_models(study, *pair, metric="pwcca", layers="last")["score"].item()
        for pair in (sides, sides[::-1])
    ]
    assert row["score"] == pytest.approx(np.mean(both))
    assert both[0] != pytest.approx(both[1])


def test_a_model_that_is_refused_has_no_score_and_a_reason(study, names):
    table = pair_models(study, [*names[:2], FLAT])
    lost = table[(table == FLAT).any(axis=1)]
    assert lost["score"].isna().all()
    assert lost["reason"].str.startswith("model flat has no layer with neighbors").all()
    assert table.loc[table["score"].notna(), "reason"].tolist() == [""]


def test_a_layer_that_is_refused_says_so(study, names):
    table = pair_models(study, [names[0], HALF], layers="0")
    assert np.isnan(table["score"][0])
    assert table["reason"][0].startswith("layer 0 of half: ")
    assert pair_models(study, [names[0], HALF], layers="last")["reason"].tolist() == [""]


def test_pairs_are_kept_and_mistakes_are_told_first(study, names, monkeypatch):
    first = pair_models(study, names, k=3)
    monkeypatch.setattr("core.study.pairing.scores_among", lambda *_: pytest.fail("compared again"))
    pd.testing.assert_frame_equal(pair_models(study, names[::-1], k=3), first)
    with pytest.raises(
        UnknownNameError, match="no metric named 'mutal_knn'; did you mean mutual_knn"
    ):
        pair_models(study, names, metric="mutal_knn")
    with pytest.raises(MetricError, match="k must"):
        pair_models(study, names, k=50)
    with pytest.raises(MetricError, match="models of one set are compared by best"):
        pair_models(study, names, layers="0:1")


def test_progress_reaches_the_number_of_pairs(study, names):
    heard = []
    pair_models(
        study, names, k=7, report=lambda done, total, what: heard.append((done, total, what))
    )
    total = len(names) * (len(names) - 1) // 2
    assert heard[-1] == (total, total, "pairs of models compared")
    assert len(heard) <= len(names)


@pytest.mark.parametrize("layout", ["mds", "tsne"])
def test_the_map_is_the_same_for_any_order_of_the_models(root, names, layout, monkeypatch):
    monkeypatch.setattr(mapping, "keep", lambda _study, _recipe, make: make())
    orders = (names, names[::-1], [*names[5:], *names[:5]])
    tables = [
        map_models(Study(Store(root), "cave"), order, layout=layout, k=5, seed=1)
        for order in orders
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    assert tables[0]["model"].tolist() == sorted(names)
    assert np.isfinite(tables[0][["x", "y", "stress", "trustworthiness"]]).all(axis=None)


def test_the_map_names_the_most_aligned_models_and_leaves_out_who_has_no_score(study, names):
    table = map_models(study, [*names, FLAT], layout="mds", k=5).set_index("model")
    pairs = pair_models(study, names, k=5)
    mine = (
        pairs[(pairs[["model_x", "model_y"]] == "gpt-2-m").any(axis=1)].nlargest(1, "score").iloc[0]
    )
    assert table.loc["gpt-2-m", "nearest_1"] in (mine["model_x"], mine["model_y"])
    assert f"no score with {len(names)} of {len(names)} other models" in table.loc[FLAT, "reason"]
    assert np.isnan(table.loc[FLAT, "x"])


def test_a_map_is_kept_with_all_it_depends_on(study, names):
    first = map_models(study, names, layout="mds", k=4)
    assert map_models(study, names, layout="mds", k=4, seed=2)["x"].tolist() == first["x"].tolist()
    assert map_models(study, names, layout="mds", metric="cka")["x"].tolist() != first["x"].tolist()
    pd.testing.assert_frame_equal(
        map_models(study, names, layout="mds", metric="mutual_knn", layers="best", k=4), first
    )


def test_few_models_have_no_umap_and_the_layout_is_asked_for_by_name(study, names):
    with pytest.raises(InputError, match="umap places at least 4 models, and there are 3"):
        map_models(study, names[:3])
    with pytest.raises(UnknownNameError, match="no layout named 'pca'"):
        map_models(study, names, layout="pca")


def solved(monkeypatch, shares: dict[str, float]) -> None:
    table = pd.DataFrame({"model": list(shares), "solved": list(shares.values())})
    monkeypatch.setattr(
        Study,
        "tasks_solved",
        lambda _self, *, threshold: table.assign(solved=table["solved"] * threshold / 0.8),
    )


def test_vision_models_are_binned_by_what_they_solve(study, monkeypatch):
    vision = [name for name in study.readers("image") if name not in (FLAT, HALF)]
    solved(monkeypatch, dict(zip(vision, (0.1, 0.7, 0.75, 0.8, 0.15, 0.0), strict=True)))
    table = bin_models(study, vision, bins=2, permutations=19, k=5).set_index(["pairs_of", "bin"])
    assert table.loc["all", "models"].tolist() == [3, 3]
    top = pair_models(study, vision[1:4], k=5)["score"]
    assert table.loc[("all", 1), "mean"] == pytest.approx(top.mean())
    assert table["p"].between(0.05, 1).sum() >= 2
    halved = bin_models(study, vision, bins=2, permutations=19, threshold=0.4, k=5).set_index(
        ["pairs_of", "bin"]
    )
    assert halved.loc["all", "models"].tolist() == [6]


def test_a_model_that_was_not_measured_is_in_no_bin(study, monkeypatch):
    solved(monkeypatch, {"vit-mae-s": 0.4})
    assert skill_of(study, ["vit-mae-s", "vit-mae-m"]).isna().tolist() == [True, False]
    assert bin_models(study, ["vit-mae-s", "vit-mae-m"], permutations=9)["models"].max() == 1


def test_competence_can_be_counted_in_some_of_the_probed_tasks(tmp_path):
    vision = [one for one in VISION if one[1] == "m"]
    root = measure(build(tmp_path, PaintedDataset(20), vision=vision, language=(), reality=False))
    study = Study(Store(root), "cave")
    # of task 3 the two have 0.6 and 0.62, both at least 0.8 of the best, but not 0.99 of it
    assert solve_tasks(study)["tasks"].tolist() == [4, 4]
    assert skill_of(study, study.readers("image"), tasks=["task 3"]).tolist() == [1.0, 1.0]
    assert skill_of(study, study.readers("image"), tasks=["task 3"], threshold=0.99).tolist() == [
        0.0,
        1.0,
    ]
    with pytest.raises(UnknownNameError, match="no task named 'task 9'; did you mean"):
        solve_tasks(study, tasks=["task 0", "task 9"])


def test_training_is_followed_over_all_models(study, monkeypatch):
    models = study.models().assign(step=10.0, run="one")
    models.loc[models["model"] == "gpt-2-s", ["run", "step"]] = ["two", 10.0]
    models.loc[models["model"] == "gpt-2-m", ["run", "step"]] = ["two", 20.0]
    monkeypatch.setattr(Study, "models", lambda _self: models)
    found = follow_training(study, k=5)
    assert found["model"].unique().tolist() == ["gpt-2-s", "gpt-2-m"]
    own = align_models(study, ["gpt-2-m"], ["reality"], k=5)["score"].item()
    assert found.set_index(["model", "target"]).loc[
        ("gpt-2-m", "reality"), "score"
    ] == pytest.approx(own)
