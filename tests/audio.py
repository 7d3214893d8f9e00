"""A fourth modality, known to Platoscope by one line, and a store in which it is next to the
usual ones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.modalities import MODALITIES, Modality
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build

AUDIO = Modality("audio", "audio model", "audio models", "diamond")
NAMES = ("beats", "whisper")


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODALITIES, AUDIO.name, AUDIO)


def build_with_audio(root: Path, size: int = 50) -> Path:
    """Fill a store with models of all modalities; those of audio are imported by the command."""
    dataset = PaintedDataset(size)
    build(root / "store", dataset, vision=VISION[2:4], language=LANGUAGE[1:3])
    for seed, name in enumerate(NAMES):
        noise = np.random.default_rng(seed).normal(size=(size, 3, 9)) / 3
        np.save(root / f"{name}.npy", (dataset.reality[:, None] + noise).astype(np.float32))
        words = ["--dataset", "cave", "--name", name, "--modality", AUDIO.name]
        command = ["import", str(root / f"{name}.npy"), *words, "--store", str(root / "store")]
        assert main(command) == 0
    return root / "store"
