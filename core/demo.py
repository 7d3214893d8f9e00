"""The embedded demo: the Cave, reality itself, and every model trained in it.

What is there already is not made again, and finding that out costs no import of torch: a second start is quick.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from core.settings import CAVE_WEIGHTS
from core.store import Store, add_dataset

REALITY = "reality"


def shipped_specs(folder: Path = CAVE_WEIGHTS) -> dict[str, str]:
    """Return the spec of every trained model under `folder`, by name."""
    return {config.parent.name: _spec(config) for config in sorted(folder.glob("*/config.json"))}


def missing_specs(store: Path, folder: Path = CAVE_WEIGHTS) -> dict[str, str]:
    """Return the specs, and REALITY, that the demo store does not hold yet with these very weights over the Cave as it is now."""
    from core.stimuli.cave import CaveDataset

    reader = Store(store)
    wanted = {**shipped_specs(folder), REALITY: f"world:{REALITY}"}
    if CaveDataset().card.revision not in {card.revision for card in reader.datasets()}:
        return wanted
    held = {entry.card.name: entry.card.weights for entry in reader.models("cave")}
    return {name: spec for name, spec in wanted.items()
            if name not in held or (name != REALITY and held[name] != _weights(folder / name))}  # fmt: skip


def build_demo(store: Path, folder: Path = CAVE_WEIGHTS) -> None:
    """Draw the Cave's test stimuli, embed them with every missing model, with progress on stderr."""
    from core.embedding.progress import ConsoleProgress
    from core.embedding.runner import embed, embed_world
    from core.encoders.catalog import open_encoder
    from core.settings import choose_device
    from core.stimuli.cave import CaveDataset
    from core.study import Study

    dataset, progress = CaveDataset(), ConsoleProgress()
    add_dataset(store, dataset, report=progress)
    for name, spec in missing_specs(store, folder).items():
        if name == REALITY:
            embed_world(store, dataset)
        else:
            embed(store, dataset, open_encoder(spec, device=choose_device()), replace=True, report=progress)
        Study(Store(store), dataset.card.name).neighbors(name)  # kept in the store, so that the first page need not find them


def _weights(folder: Path) -> str:
    """Return the digest that an encoder's card gives these weights."""
    with (folder / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _spec(config: Path) -> str:
    """Tell timm's folder format from that of transformers: only the former names an `architecture`."""
    architecture = json.loads(config.read_text()).get("architecture")
    return f"timm:{architecture}@{config.parent}" if isinstance(architecture, str) else f"hf:{config.parent}"
