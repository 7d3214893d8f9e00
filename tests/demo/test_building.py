"""The demo store is built from shipped weights by the ordinary encoders, once; every page opens
over it.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from core.cave.captions import LEVELS
from core.cave.demo import NOTE, REALITY, build_demo, missing_specs, shipped_specs, under_way
from core.cave.world import CaveDataset
from core.embedding.reading import read_texts
from core.embedding.runner import encode_fitting
from core.encoders.catalog import open_encoder
from core.encoders.language.encoder import LanguageEncoder
from core.encoders.measured import SUBJECTS
from core.encoders.vision import VisionEncoder
from core.errors import StoreBusyError
from core.metrics import METRICS
from core.settings import CAVE_WEIGHTS, ROOT
from core.spaces.choices import Clamping
from core.store import Store, locked
from core.study.study import Study
from tests.comparisons import align_models
from tests.rounding import unround

TAKEN = ("gpt2-xs", "vit-multitask-s")
RETOLD = ("gpt2-xs~5", "gpt2-xs~10", "gpt2-xs~40")
MADE = (REALITY, *SUBJECTS)  # by the demo itself


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two of the shipped models."""
    folder = tmp_path_factory.mktemp("weights")
    for name in TAKEN:
        shutil.copytree(CAVE_WEIGHTS / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def store(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo")
    assert set(missing_specs(root, weights)) == {*TAKEN, *RETOLD, *MADE}
    build_demo(root, weights)
    return root


def test_every_shipped_model_has_a_spec_of_the_ordinary_encoders() -> None:
    specs = shipped_specs()
    assert len([spec for spec in specs.values() if spec.startswith("timm:")]) >= 4
    assert len([spec for spec in specs.values() if spec.startswith("hf:")]) >= 4


def test_published_masked_autoencoders_are_read_out_in_their_patches_too() -> None:
    wanted = missing_specs(Path("none"))
    reread = {name: spec for name, spec in wanted.items() if spec.endswith("#patches")}
    assert {name: wanted[name.removesuffix("-patches")] + "#patches" for name in reread} == reread
    assert set(reread) == {f"vit-mae-published-{size}-patches" for size in ("xs", "s")}


def test_a_running_build_tells_how_far_it_is_and_is_the_only_one(
    tmp_path: Path, weights: Path
) -> None:
    note = tmp_path / NOTE
    assert under_way(tmp_path) is None
    with locked(note):
        note.write_text('{"done": 3, "total": 9, "what": "models embedded"}')
        assert under_way(tmp_path) == (3, 9, "models embedded")
        with pytest.raises(StoreBusyError, match="is writing 'demo'"):
            build_demo(tmp_path, weights)
    assert under_way(tmp_path) is None  # a killed build leaves its note, but not its lock


@pytest.mark.slow
def test_a_complete_store_misses_nothing(store: Path, weights: Path) -> None:
    assert missing_specs(store, weights) == {}
    assert {entry.card.name for entry in Store(store).models("cave")} == {*TAKEN, *MADE}


@pytest.mark.slow
def test_retrained_weights_are_missed(store: Path, weights: Path, tmp_path: Path) -> None:
    shutil.copytree(weights, tmp_path / "again")
    changed = tmp_path / "again" / "gpt2-xs" / "model.safetensors"
    changed.write_bytes(changed.read_bytes()[:-1] + b"\0")
    assert set(missing_specs(store, tmp_path / "again")) == {"gpt2-xs", *RETOLD}


@pytest.mark.slow
def test_what_a_card_says_anew_of_its_training_is_missed(
    store: Path, weights: Path, tmp_path: Path
) -> None:
    shutil.copytree(weights, tmp_path / "again")
    card = tmp_path / "again" / "gpt2-xs" / "card.json"
    card.write_text(card.read_text(encoding="utf-8").replace('"size": "xs"', '"size": "s"'))
    assert set(missing_specs(store, tmp_path / "again")) == {"gpt2-xs", *RETOLD}


@pytest.mark.slow
def test_a_world_that_is_drawn_otherwise_is_missed(
    store: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.cave.world.CaveDataset._revision", lambda _: "another")
    assert set(missing_specs(store, weights)) == {*TAKEN, *RETOLD, *MADE}


@pytest.mark.slow
def test_finished_language_models_read_all_densities_and_are_one_model_each(store: Path) -> None:
    retold = Store(store).caption_variants("cave")
    assert retold == dict.fromkeys(RETOLD, "gpt2-xs")
    wanted = {name.partition("~")[0] for name in missing_specs(store / "none") if "~" in name}
    assert {"gpt2-m", "roberta-s"} <= wanted
    assert not any("-step" in name or "untrained" in name or "vit" in name for name in wanted)


@pytest.mark.slow
def test_looking_for_what_is_missing_imports_no_torch(store: Path) -> None:
    code = (
        "import sys, pathlib; from core.cave.demo import missing_specs;"
        f" missing_specs(pathlib.Path({str(store)!r}));"
        " print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.slow
def test_a_trained_model_is_aligned_with_reality_and_raw_pixels_are_not(store: Path) -> None:
    study = Study(Store(store), "cave")
    row = align_models(study, ["vit-multitask-s"], [REALITY], k=10).iloc[0]
    assert row["score"] > 8 * row["chance"]
    thumbnails = _pixels(Store(store))
    raw = METRICS["mutual_knn"](thumbnails, study.store.space("cave", REALITY, 0), k=10)
    assert raw < 3 * row["chance"]


def _pixels(store: Store) -> np.ndarray:
    """Return the stimuli as 48-px images with unit length, a row each."""
    images = [
        Image.open(io.BytesIO(webp)).resize((48, 48))
        for webp in store.thumbnails("cave", range(1024))
    ]
    rows = np.stack([np.asarray(image, np.float32).ravel() for image in images])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.slow
def test_half_precision_moves_alignment_by_less_than_a_thousandth(store: Path) -> None:
    """Any weights that would be rounded to the shipped ones align as these do."""
    dataset, texts = CaveDataset(), read_texts(Store(store), "cave", LEVELS[0])
    items = {
        "gpt2-xs": [text for (text,) in texts],
        "vit-multitask-s": [dataset.image(place) for place in range(dataset.card.size)],
    }
    study, specs = Study(Store(store), "cave", Clamping(1.0)), shipped_specs()
    before = [study.spaces(name) for name in items]
    after = []
    for name, seen in items.items():
        encoder = open_encoder(specs[name], device=torch.device("cpu"))
        assert isinstance(encoder, VisionEncoder | LanguageEncoder)
        unround(encoder.model, seed=1)
        encoding, _ = encode_fitting(encoder, seen, limit=0)
        after.append(encoding.layers)
    metric = METRICS["mutual_knn"]
    moved = [
        metric(x, y, k=10) - metric(new_x, new_y, k=10)
        for x, new_x in zip(before[0], after[0], strict=True)
        for y, new_y in zip(before[1], after[1], strict=True)
    ]
    assert 0 < np.abs(moved).max() < 0.001
