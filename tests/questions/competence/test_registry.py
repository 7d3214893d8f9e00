"""The registry: every origin in one table, figures at the models they belong to, and origins never
mixed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competence.scored_models import SPECS, make_store, write_model

from core.competence.records import as_table, measured_name, row
from core.competence.scores import import_scores
from core.errors import InputError, UnknownNameError
from core.questions.competence.scores import CAPTIONS, registry
from core.recipe import Recipe
from core.store import Store, write_result
from core.study.scores import choices, score_of, select
from core.study.study import Study
from tests.store_fakes import CountedDataset

MINE = "model,task,value,unit\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("made"))


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """Return a store that a test may write to."""
    return Path(shutil.copytree(made, tmp_path / "store"))


def table_of(root: Path, **where: str) -> pd.DataFrame:
    return registry(Study(Store(root), "counted", where=where))


def keep(root: Path, rows: str) -> None:
    import_scores(root, "counted", (MINE + rows).encode(), name="mine.csv")


def measure(
    root: Path, model: str, *, kind: str = "probes", weights: str = "w1", value: float = 0.5
) -> None:
    """Keep a measurement of the task `folder flowers`."""
    rows = [
        row(
            "folder flowers",
            "own",
            unit="top-1",
            split="test",
            n=40,
            value=value,
            low=0.1,
            high=0.9,
            chance=0.2,
        )
    ]
    recipe = Recipe.of("measured", model=model, weights=weights, limit=40)
    table = as_table(rows, model=model, recipe=recipe)
    write_result(
        root,
        dataset=CountedDataset().card,
        name=measured_name(kind, model),
        table=table,
        recipe=recipe,
    )


def test_published_figures_are_at_the_models_of_their_spec_and_at_no_other(made):
    table = table_of(made)
    published = table[(table["origin"] == "published") & table["embedded"]]
    found = {
        model: dict(zip(rows["task"], rows["value"], strict=True))
        for model, rows in published.groupby("model")
    }
    assert found == {
        "bloomz": {"HellaSwag": 36.31, "GSM8K": 0.0},
        "again": {"HellaSwag": 36.31, "GSM8K": 0.0},
        "llama": {"HellaSwag": 82.02, "GSM8K": 45.34},
        "mae": {
            "ImageNet-1k linear probe": 68.0,
            "ImageNet-1k linear probe, re-run": 67.8,
            "ImageNet-1k fine-tuned": 83.664,
        },
        "tuned": {"ImageNet-1k fine-tuned": 75.452},
    }
    assert published["source"].ne("").all()
    assert published["unit"].eq("%").all()
    assert published["n"].isna().all()


def test_how_well_captions_are_coded_is_the_mean_over_texts(made):
    table = table_of(made)
    rows = table[table["task"] == CAPTIONS].set_index("model")
    assert set(rows.index) == {"bloomz", "again", "llama"}
    assert rows["value"].tolist() == pytest.approx([1 - 10.5 / 8] * 3)
    assert (set(rows["origin"]), set(rows["unit"]), set(rows["split"])) == (
        {"measured"},
        {"1 - bits per byte"},
        {"captions"},
    )
    some = table_of(made, scene="sea").query("task == @CAPTIONS").set_index("model")
    assert some["value"]["llama"] == pytest.approx(1 - np.mean(np.arange(1, 21, 3)) / 8)
    assert not set(some["source"]) & set(rows["source"])


def test_measurements_of_every_kind_are_read_while_the_weights_are_the_same(root):
    measure(root, "mae")
    measure(root, "tuned", kind="texts", value=0.75)
    measure(root, "untold", weights="others")
    measure(root, "gone")
    table = table_of(root)
    found = table[table["task"] == "folder flowers"]
    assert found[["model", "value", "n", "origin", "embedded"]].to_numpy().tolist() == [
        ["mae", 0.5, 40, "measured", True],
        ["tuned", 0.75, 40, "measured", True],
    ]
    write_model(root, "mae", SPECS["mae"][0], "vision", weights="w2")
    assert score_of(table_of(root), "folder flowers").to_dict() == {"tuned": 0.75}


def test_the_user_s_scores_are_at_names_and_specs_and_wait_for_the_rest(root):
    keep(
        root,
        f"mae,depth,0.5,top-1\n{SPECS['bloomz'][0].upper()},depth,0.25,top-1\nlater,depth,0.75,top-1\n",
    )
    table = table_of(root)
    rows = table[table["origin"] == "user"]
    expected = [
        ["mae", 0.5, True],
        ["again", 0.25, True],
        ["bloomz", 0.25, True],
        ["later", 0.75, False],
    ]
    assert rows[["model", "value", "embedded"]].to_numpy().tolist() == expected
    assert score_of(table, "depth").to_dict() == {"mae": 0.5, "again": 0.25, "bloomz": 0.25}
    write_model(root, "later", "hf:later", "language")
    assert score_of(table_of(root), "depth")["later"] == 0.75


def test_origins_of_one_task_are_never_mixed(root):
    keep(root, "bloomz,HellaSwag,40,%\n")
    table = table_of(root)
    with pytest.raises(
        InputError,
        match="'HellaSwag' has values of several origins, published and user, which are not mixed",
    ):
        score_of(table, "HellaSwag")
    assert score_of(table, "HellaSwag", origin="user").to_dict() == {"bloomz": 40}
    assert score_of(table, "HellaSwag", origin="published").to_dict() == {
        "again": 36.31,
        "bloomz": 36.31,
        "llama": 82.02,
    }
    assert score_of(table, "GSM8K").name == "GSM8K"


def test_units_of_one_task_are_never_mixed(root):
    keep(root, "mae,depth,0.5,top-1\ntuned,depth,50,%\n")
    with pytest.raises(
        InputError,
        match="'depth' has values of several units, top-1 and %, which are not mixed; import",
    ):
        score_of(table_of(root), "depth")


def test_a_model_with_two_values_is_refused(root):
    keep(root, "later,depth,0.5,top-1\nhf:later,depth,0.75,top-1\n")
    write_model(root, "later", "hf:later", "language")
    with pytest.raises(
        InputError,
        match="'later' has two values of 'depth', by its name and by its spec; import one",
    ):
        score_of(table_of(root), "depth")
    keep(root, "later,depth,0.75,top-1\n")
    assert score_of(table_of(root), "depth").to_dict() == {"later": 0.75}


def test_unknown_tasks_and_origins_are_named(made):
    table = table_of(made)
    with pytest.raises(UnknownNameError, match="no task named 'HelaSwag'; did you mean HellaSwag"):
        score_of(table, "HelaSwag")
    with pytest.raises(UnknownNameError, match="no origin named 'publish'; did you mean published"):
        select(table, origins=("publish",))
    with pytest.raises(
        InputError,
        match="no embedded model has a value of 'ImageNet-1k k-NN'; embed one, or import scores",
    ):
        score_of(table, "ImageNet-1k k-NN")


def test_a_selection_has_the_rows_of_its_task_and_origin(made):
    table = table_of(made)
    assert len(select(table)) == len(table)
    assert select(table, origins=("user",)).empty
    both = select(table, tasks=("GSM8K",), origins=("published",))
    assert set(both["task"]) == {"GSM8K"}
    assert len(both) == 25  # 24 figures, one of them at two models


def test_choices_count_embedded_models_with_a_value(root):
    keep(root, "mae,HellaSwag,1,points\nlater,HellaSwag,1,points\n")
    counts = choices(table_of(root)).set_index(["task", "origin"])
    assert counts.loc[("HellaSwag", "published")].tolist() == ["common sense", "%", 3]
    assert counts.loc[("HellaSwag", "user")].tolist() == ["own", "points", 1]
    assert counts["models"].is_monotonic_decreasing
    assert "ImageNet-1k k-NN" not in counts.index.get_level_values("task")
