"""What the commands are given whose files fail: photos, texts, tiny models, stores to begin with.

WORLD/photos, tones, text.txt …    what a person has
WORLD/models/NAME                  models on disk
WORLD/stores/BASE                  a store that rows of the table begin with, copied for each case
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from core.cli import main
from core.demo.building import REALITY
from core.embedding.features import embed_world
from core.encoders.catalog import spec_of_folder
from core.jobs import queue
from core.settings import CAVE_WEIGHTS
from core.stimuli.cave import CaveDataset
from core.store import Store, add_dataset
from tests.pages import world as painted
from tests.plans import worlds

SHIPPED = ("vit-multitask-xs", "vit-clip-xs", "gpt2-xs")
EVENTS = 24  # of the small Cave


def build_world(world: Path, bases: Collection[str]) -> None:
    """Make everything once, and the stores that are named; all of them take about ten seconds."""
    (world / "models").mkdir(parents=True)
    specs = _make_models(world / "models")
    worlds.write_study(world, specs)
    _write_files(world)
    stores = world / "stores"
    (stores / "empty").mkdir(parents=True)
    _fill_photos(world, specs)
    _fill_queues(stores)
    if "painted" in bases:
        vision, language = [painted.VISION[1], painted.VISION[3]], [painted.LANGUAGE[2]]
        painted.build(
            stores / "painted", painted.PaintedDataset(60), vision=vision, language=language
        )
    if "cave" in bases:
        _fill_cave(stores / "cave")


def _make_models(folder: Path) -> dict[str, list[str]]:
    from tiny_models import make_language, make_vision

    from tests.encoders.test_chat import make_chat

    for name, (kind, settings) in worlds.VISION.items():
        make_vision(folder / name, kind, **settings)
    for name in worlds.LANGUAGE:
        make_language(folder / name, name)
    make_chat(folder / "clerk")
    return {
        "vision": [spec_of_folder(folder / name) for name in worlds.VISION],
        "language": [spec_of_folder(folder / name) for name in worlds.LANGUAGE],
    }


def _write_files(world: Path) -> None:
    dice = np.random.default_rng(0)
    np.save(world / "features.npy", dice.normal(size=(worlds.N, 3, 5)).astype(np.float32))
    pd.DataFrame(
        {"model": ["gpt2", "vit"], "task": "chess", "value": [0.5, 0.6], "unit": "accuracy"}
    ).to_csv(world / "scores.csv", index=False)
    shutil.make_archive(str(world / "upload"), "zip", world / "tones")


def _fill_photos(world: Path, specs: dict[str, list[str]]) -> None:
    """Make a store of photos alone, and one with models, neighbors and a title."""
    store = world / "stores" / "photos"
    _run(store, "dataset", "add", "photos", "--folder", f"{world}/photos")
    shutil.copytree(store, world / "stores" / "models")
    store = world / "stores" / "models"
    few = [*specs["vision"][:2], *specs["language"][:1]]
    _run(store, "embed", "--dataset", "photos", "--model", *few)
    _run(store, "model", "rename", "--dataset", "photos", "gpt2", "The second")
    _run(store, "align", "--dataset", "photos", "--k", "3")


def _fill_cave(store: Path) -> None:
    dataset = CaveDataset(EVENTS)
    add_dataset(store, dataset)
    embed_world(store, dataset)
    specs = [spec_of_folder(CAVE_WEIGHTS / name) for name in SHIPPED]
    _run(store, "embed", "--dataset", "cave", "--model", *specs)
    assert {REALITY, *SHIPPED} == {entry.card.name for entry in Store(store).models("cave")}


def _fill_queues(stores: Path) -> None:
    """Make a store whose queue has one job, and one in which it was canceled."""
    queue.ensure_worker = lambda _: None
    queue.submit(stores / "queued", ["align"], owner="somebody", folder=stores)
    shutil.copytree(stores / "queued", stores / "canceled")
    queue.cancel(stores / "canceled", 1)


def _run(store: Path, *words: str) -> None:
    os.environ["PLATOSCOPE_STORE"] = str(store)
    code = main(words)
    assert code == 0, (words, code)
