"""The whole suite on a small Cave with tiny random models: rows, recipes, what is kept, what is
refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from competence.few_items import few_items
from tiny_models import make_language, make_vision

from core.cave import exams, tasks
from core.cave.events import events, reality
from core.cave.tasks import draw_pictures
from core.cave.world import WORLD, CaveDataset
from core.competence import opened, suite
from core.competence.records import COLUMNS, suite_recipe, unmeasured
from core.competence.suite import bits_per_byte, measure_all, world_sets
from core.competence.transfer import probe_row
from core.embedding.features import import_features
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder
from core.encoders.measured import Content
from core.errors import EncoderError, InputError, UnknownNameError
from core.questions.competence.scores import measured_scores
from core.recipe import Recipe
from core.store import Store, add_dataset, write_result
from core.study.study import Study
from tests.store_fakes import CountedDataset

CPU = torch.device("cpu")
MODELS = ("tiny-vit", "tiny-bloom", "tiny-bert")
FEW = {"plain": 60, "lines": 48, "duotone": 48, "relief": 48}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three tiny models, and a store with the Cave and their embeddings."""
    root = tmp_path_factory.mktemp("competence")
    make_vision(
        root / "models/tiny-vit",
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        embed_dim=16,
        depth=1,
        num_heads=2,
    )
    make_language(root / "models/tiny-bloom", "bloom")
    make_language(root / "models/tiny-bert", "bert")
    add_dataset(root / "store", CaveDataset(12))
    for name in MODELS:
        place = root / "models" / name
        spec = f"timm:vit_tiny_patch16_224@{place}" if name == "tiny-vit" else f"hf:{place}"
        embed(root / "store", CaveDataset(12), open_encoder(spec, device=CPU))
    return root


def alone(samples, **given):
    return draw_pictures(samples, **(given | {"jobs": 1}))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask little, and draw in this process."""
    monkeypatch.setattr(tasks, "SAMPLES", FEW)
    monkeypatch.setattr(exams, "items", few_items)
    monkeypatch.setattr(tasks, "draw_pictures", alone)


def measured(world: Path, *names: str) -> pd.DataFrame:
    return measure_all(world / "store", "cave", names or MODELS, device=CPU)


@pytest.mark.slow
def test_every_model_has_a_row_for_each_of_its_tasks(world):
    rows = measured(world)
    assert list(rows.columns) == list(COLUMNS)
    seen = rows[rows["model"] == "tiny-vit"]
    assert seen[["task", "group"]].to_numpy().tolist() == [
        [task.name, task.group] for task in tasks.TASKS
    ]
    assert set(seen["split"]) == {"probe"}
    assert set(seen["n"]) == {20, 16}
    read = rows[rows["model"] == "tiny-bloom"]
    assert read["task"].tolist() == [
        "bits per byte",
        "bits per byte, mean over texts",
        "completions",
        "binding",
        "companions",
        "counting",
    ]
    assert read["n"].tolist() == [12, 12, 16, 8, 8, 8]
    scored = rows[rows["model"] != "tiny-bert"]
    assert ((scored["low"] <= scored["value"]) & (scored["value"] <= scored["high"])).all()
    assert set(rows["origin"]) == {"measured"}


def test_bits_per_byte_are_those_of_the_embedding(world):
    costs = Store(world / "store").text_costs("cave", "tiny-bloom")
    values = measured(world, "tiny-bloom")["value"][:2].tolist()
    assert values == pytest.approx(
        [costs["bits"].sum() / costs["bytes"].sum(), (costs["bits"] / costs["bytes"]).mean()]
    )
    assert 1 - values[1] == pytest.approx(
        Study(Store(world / "store"), "cave").competence().set_index("model")["value"]["tiny-bloom"]
    )


def test_what_is_measured_is_kept_and_not_measured_again(world, monkeypatch):
    rows = measured(world)
    monkeypatch.setattr(suite, "reopen", None)
    pd.testing.assert_frame_equal(measured(world), rows)
    stored = measured_scores(Study(Store(world / "store"), "cave"))
    pd.testing.assert_frame_equal(
        stored.sort_values(["model", "task"], ignore_index=True),
        rows.sort_values(["model", "task"], ignore_index=True),
    )
    store = Store(world / "store")
    for entry in store.models("cave"):
        assert set(rows["source"][rows["model"] == entry.card.name]) == {suite_recipe(entry).digest}


def test_rows_by_another_recipe_are_left_out(world):
    measured(world)
    store = Store(world / "store")
    rows, recipe = store.result("cave", "competence-tiny-bert")
    write_result(
        world / "store",
        dataset=store.dataset("cave"),
        name="competence-tiny-bert",
        table=rows,
        recipe=Recipe.of("competence", v=0),
    )
    assert unmeasured(Store(world / "store"), "cave") == ["tiny-bert"]
    measured(world)
    assert Store(world / "store").result("cave", "competence-tiny-bert")[1] == recipe


@pytest.mark.slow
def test_reality_answers_what_is_the_case(monkeypatch):
    """Z as features: the probes read scene, weather and count off it, and nothing of how the event
    was seen.
    """
    of_the_event, unknown = ("scene", "weather", "count"), ("texture", "light", "tilt")
    monkeypatch.setattr(
        tasks, "TASKS", [task for task in tasks.TASKS if task.name in of_the_event + unknown]
    )
    monkeypatch.setattr(tasks, "SAMPLES", dict.fromkeys(FEW, 600))
    truth = np.stack([reality(event) for event in events("probe", 600)]).astype(np.float32)
    asked = [one for each in world_sets(WORLD, "image", dict) for one in each.questions]
    rows = {one.task: probe_row(truth, one) for one in asked}
    assert min(rows[task]["value"] for task in of_the_event) > 0.97
    assert all(rows[task]["low"] < rows[task]["chance"] + 0.05 for task in unknown)


def test_features_that_are_no_numbers_give_a_reason():
    question = world_sets(WORLD, "image", dict)[0].questions[0]
    row = probe_row(np.full((60, 3), np.nan, dtype=np.float32), question)
    assert np.isnan(row["value"])
    assert "NaN or infinity" in row["reason"]


def test_bits_per_byte_worked_out_by_hand():
    total, mean = bits_per_byte(
        pd.DataFrame({"bits": [10.0, 40.0, np.nan], "bytes": [10.0, 20.0, 3.0]})
    )
    assert (total["value"], mean["value"], total["n"]) == (pytest.approx(50 / 30), 1.5, 2)
    # residuals 10 − 5/3 · 10 and 40 − 5/3 · 20 are ∓20/3, of deviation 20/3 · √2; over mean 15
    # bytes and √2 texts
    assert total["high"] - total["value"] == pytest.approx(1.959964 * 20 / 3 / 15)
    assert mean["value"] - mean["low"] == pytest.approx(1.959964 * 0.5)
    assert (
        "fewer than two texts"
        in bits_per_byte(pd.DataFrame({"bits": [4.0], "bytes": [2.0]}))[0]["reason"]
    )


def test_what_cannot_be_measured_is_refused(world, tmp_path):
    with pytest.raises(UnknownNameError, match="tiny-vit"):
        measured(world, "tiny-vti")
    card = Store(world / "store").dataset("cave")
    import_features(
        world / "store",
        card,
        Content([np.eye(12, dtype=np.float32)]),
        name="foreign",
        modality="vision",
    )
    with pytest.raises(InputError, match="'foreign' has features only"):
        measured(world, "foreign")
    add_dataset(tmp_path, CountedDataset())
    with pytest.raises(InputError, match="'counted' is not made of them"):
        measure_all(tmp_path, "counted", [], device=CPU)


def test_weights_that_changed_are_refused(world, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "SAMPLES", FEW | {"plain": 62})
    make_vision(
        tmp_path / "other",
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        embed_dim=24,
        depth=1,
        num_heads=2,
    )
    changed = open_encoder(f"timm:vit_tiny_patch16_224@{tmp_path / 'other'}", device=CPU)
    monkeypatch.setattr(opened, "open_encoder", lambda *_, **__: changed)
    with pytest.raises(EncoderError, match="other weights now than when 'tiny-vit' was embedded"):
        measured(world, "tiny-vit")
