"""Probes of stored models on labeled images: what is right, what is kept, and what is not measured
twice.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_models import make_language, make_vision

from core.cave import tasks
from core.cave.tasks import draw_pictures
from core.cave.world import CaveDataset
from core.competence import opened, transfer
from core.competence.images import open_folder
from core.competence.probes import probe
from core.competence.records import COLUMNS, measured_name
from core.competence.suite import measure_all, world_tasks
from core.competence.transfer import open_tasks, probe_models
from core.embedding.features import import_features
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder
from core.encoders.measured import Content
from core.errors import EncoderError, InputError, UnknownNameError
from core.store import Store, add_dataset
from tests.competence.labeled_files import write_classes
from tests.store_fakes import CountedDataset

CPU = torch.device("cpu")
TONES = {"dark": 0, "light": 200, "middle": 100}
FEW = {"plain": 36, "lines": 30, "duotone": 30, "relief": 30}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the Cave and two tiny vision models and a language model, and three tones in
    folders.
    """
    root = tmp_path_factory.mktemp("transfer")
    add_dataset(root / "store", CaveDataset(12))
    for name, depth in (("vit-a", 1), ("vit-b", 2)):
        place = make_vision(
            root / name,
            "vit_tiny_patch16_224",
            img_size=32,
            patch_size=8,
            embed_dim=16,
            depth=depth,
            num_heads=2,
        )
        embed(
            root / "store",
            CaveDataset(12),
            open_encoder(f"timm:vit_tiny_patch16_224@{place}", device=CPU),
        )
    embed(
        root / "store",
        CaveDataset(12),
        open_encoder(f"hf:{make_language(root / 'tiny-bloom', 'bloom')}", device=CPU),
    )
    write_classes(root / "tones", TONES, each=20)
    return root


@pytest.fixture
def world(models: Path) -> Path:
    """Nothing is measured yet."""
    for path in (models / "store").rglob("*~*.parquet"):
        path.unlink()
    return models


def probed(world: Path, *names: str, **choices) -> pd.DataFrame:
    given = choices.pop("sets", None) or open_tasks([str(world / "tones")])
    return probe_models(world / "store", "cave", names, given, device=CPU, **choices)


def test_classes_that_look_different_are_told_apart(world):
    rows = probed(world)
    assert list(rows.columns) == [*COLUMNS, "layer"]
    assert rows["model"].tolist() == ["vit-a", "vit-b"]
    assert rows["layer"].tolist() == ["block 1", "block 2"]
    assert (rows["value"] == 1.0).all()
    assert set(rows["n"]) == {20}
    assert rows[["task", "group", "unit", "split", "origin"]].drop_duplicates().values.tolist() == [
        ["folder tones", "own", "top-1", "test", "measured"]
    ]


def test_a_value_is_that_of_a_probe_on_the_embedding(world):
    images = open_folder(world / "tones", limit=30)
    encoder = open_encoder(f"timm:vit_tiny_patch16_224@{world / 'vit-b'}", device=CPU)
    layers = encoder.encode(images.images(0, 30)).layers
    question = images.questions[0]
    rows = probed(world, "vit-b", sets=[images], layers="all")
    assert rows["layer"].tolist() == list(encoder.card.layers) == ["block 1", "block 2"]
    assert rows["value"].tolist() == [
        probe(layer, question.labels, question.parts).value for layer in layers
    ]
    last = probed(world, "vit-b", sets=[images])
    pd.testing.assert_frame_equal(
        last.drop(columns="source"), rows.tail(1).reset_index(drop=True).drop(columns="source")
    )


def test_what_is_kept_is_not_measured_again(world, monkeypatch):
    rows, every = probed(world), probed(world, layers="all")
    monkeypatch.setattr(opened, "open_encoder", None)
    pd.testing.assert_frame_equal(probed(world), rows)
    pd.testing.assert_frame_equal(probed(world, layers="all"), every)
    kept, recipe = Store(world / "store").result("cave", measured_name("probes", "vit-a"))
    assert kept["task"].tolist() == ["folder tones"]
    assert recipe.choices["made"].keys() == set(rows["source"][:1])
    assert recipe.choices["weights"] == Store(world / "store").model("cave", "vit-a").card.weights


def test_a_killed_run_loses_the_question_it_was_at(world, tmp_path, monkeypatch):
    given = [
        *open_tasks([str(world / "tones")]),
        *open_tasks([str(write_classes(tmp_path / "more", TONES, each=6))]),
    ]
    asked: list[str] = []

    def killed(space, labels, parts, **choices):
        asked.append("one")
        if len(asked) == 4:
            raise KeyboardInterrupt
        return probe(space, labels, parts, **choices)

    monkeypatch.setattr(transfer, "probe", killed)
    with pytest.raises(KeyboardInterrupt):
        probed(world, sets=given)
    rows = probed(world, sets=given)
    assert len(asked) == 5
    assert rows[["model", "task"]].values.tolist() == [
        [model, task] for model in ("vit-a", "vit-b") for task in ("folder tones", "folder more")
    ]


def test_models_that_cannot_see_are_refused(world):
    with pytest.raises(InputError, match="'tiny-bloom' is not a vision model; name"):
        probed(world, "tiny-bloom")
    with pytest.raises(UnknownNameError, match="vit-a"):
        probed(world, "vit-c")
    card = Store(world / "store").dataset("cave")
    import_features(
        world / "store",
        card,
        Content([np.eye(12, dtype=np.float32)]),
        name="foreign",
        modality="vision",
    )
    with pytest.raises(InputError, match="'foreign' has features only"):
        probed(world, "foreign")
    with pytest.raises(EncoderError, match="foreign has features only, and no model to run; choo"):
        opened.reopen(Store(world / "store").model("cave", "foreign"), torch.device("cpu"))


@pytest.mark.slow
def test_every_layer_of_the_cave_s_tasks_ends_with_what_the_suite_measures(world, monkeypatch):
    monkeypatch.setattr(tasks, "SAMPLES", FEW)
    monkeypatch.setattr(tasks, "TASKS", tasks.TASKS[::3])
    monkeypatch.setattr(tasks, "draw_pictures", lambda samples, **_: draw_pictures(samples, jobs=1))
    given = world_tasks(Store(world / "store").dataset("cave"))
    rows = probed(world, "vit-b", sets=given, layers="all")
    assert len(rows) == 2 * len(tasks.TASKS)
    suite = measure_all(world / "store", "cave", ["vit-b"], device=CPU).set_index("task")
    last = rows[rows["layer"] == "block 2"].set_index("task").loc[suite.index]
    same = ["group", "value", "low", "high", "chance", "n", "unit", "split", "reason"]
    pd.testing.assert_frame_equal(last[same], suite[same])


def test_the_cave_s_tasks_are_of_the_cave(tmp_path):
    add_dataset(tmp_path, CountedDataset())
    with pytest.raises(InputError, match="'counted' is not made of them; name tasks with --task"):
        world_tasks(Store(tmp_path).dataset("counted"))
