"""A study's models among each other: all pairs of any modality, and maps that ignore the order of
models.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.encoders.encoder import ModelCard
from core.errors import InputError
from core.options import Value
from core.questions import asking
from core.questions.asking import ask
from core.questions.models.pairs import ModelPairs, Roster
from core.questions.models.question import LayoutName, ModelMap
from core.recipe import Recipe
from core.store import Embedding, Store, write_embedding
from core.store.schema import VERSIONS
from core.study.parts import Comparison, Scope
from core.study.study import Study
from tests.comparisons import align_models
from tests.pages.world import PaintedDataset, build


def pair_models(
    study: Study,
    names: Sequence[str],
    metric: str = "mutual_knn",
    layers: str = "best",
    **parameters: Value,
) -> pd.DataFrame:
    comparison = Comparison.of(metric, parameters, layers=layers)
    return ask(ModelPairs(roster=Roster(tuple(names)), comparison=comparison), study)


def map_models(
    study: Study,
    names: Sequence[str],
    layout: LayoutName = "umap",
    seed: int = 0,
    metric: str = "mutual_knn",
    **parameters: Value,
) -> pd.DataFrame:
    comparison = Comparison.of(metric, parameters)
    question = ModelMap(Scope(), Roster(tuple(names)), comparison, layout, seed=seed)
    return ask(question, study)


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
        Embedding(
            dataset=dataset.card,
            card=card,
            level=None,
            layers=layers,
            bits=None,
            bytes=None,
            recipe=recipe,
            device="cpu",
            seconds=0.1,
        ),
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
    paired = table.set_index(["model_x", "model_y"])
    np.testing.assert_allclose(paired["score"], own["score"].reindex(paired.index), rtol=1e-9)
    if metric != "shape_angle":  # of its equally small angles rounding picks one
        assert (
            paired[["layer_x", "layer_y"]] == own[["layer_x", "layer_y"]].reindex(paired.index)
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


def test_the_map_is_the_same_for_any_order_of_the_models(root, names, monkeypatch):
    monkeypatch.setattr(asking, "_fresh_answer", lambda *_: None)
    orders = (names, names[::-1], [*names[5:], *names[:5]])
    tables = [
        map_models(Study(Store(root), "cave"), order, layout="mds", k=5, seed=1) for order in orders
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
    titles = study.models().set_index("model")["title"]
    near = [titles[table.loc["gpt-2-m", f"nearest_{rank}"]] for rank in (1, 2, 3)]
    assert table.loc["gpt-2-m", "near"] == ", ".join(near)
    assert f"no score with {len(names)} of {len(names)} other models" in table.loc[FLAT, "reason"]
    assert np.isnan(table.loc[FLAT, "x"])


def test_few_models_have_no_umap(study, names):
    with pytest.raises(InputError, match="umap places at least 4 models, and there are 3"):
        map_models(study, names[:3])


def test_unfinished_models_and_the_world_can_be_left_out(study):
    every = set(study.models()["model"])
    for roster, left_out in (
        (Roster(), set()),
        (Roster(unfinished=False), {"vit-untrained-s"}),
        (Roster(world=False), {"reality"}),
    ):
        pairs = ask(ModelPairs(roster=roster, comparison=Comparison(k=5)), study)
        assert {*pairs["model_x"], *pairs["model_y"]} == every - left_out


def test_the_map_describes_models_as_they_are_now(study, names, monkeypatch):
    first = map_models(study, names, layout="mds", k=5)
    about = study.models().set_index("model")
    for column in ("title", "modality", "group", "run"):
        assert first[column].tolist() == about[column].reindex(first["model"]).tolist()
    models = study.models().assign(group="other")
    monkeypatch.setattr(Study, "models", lambda _self: models)
    assert set(map_models(study, names, layout="mds", k=5)["group"]) == {"other"}
