"""`platoscope model`, `embed` and `import`: which models are in the store, and how they come in."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from core.cli.shared import (
    USER_MISTAKE,
    add_command,
    add_json,
    group,
    print_table,
    report_problems,
)
from core.errors import InputError, PlatoscopeError
from core.modalities import MODALITIES
from core.settings import choose_device


def add(commands: Any) -> None:
    """Add `model list`, `embed` and `import`."""
    _add_list(commands)
    _add_embed(commands)
    _add_import(commands)


def _add_list(commands: Any) -> None:
    listing = add_command(
        group(commands, "model"), "list", run_model_list, "list the models embedded in the store"
    )
    listing.add_argument("--dataset", metavar="D", help="of this dataset only")
    add_json(listing)


def _add_embed(commands: Any) -> None:
    embed = add_command(
        commands,
        "embed",
        run_embed,
        "embed a dataset with models: timm:NAME, timm:NAME@CHECKPOINT, hf:ID, hf:FOLDER",
        job=True,
    )
    embed.add_argument("--dataset", required=True, metavar="D", help="the dataset")
    embed.add_argument(
        "--model",
        required=True,
        nargs="+",
        action="extend",
        metavar="SPEC",
        help="timm:NAME, timm:NAME@CHECKPOINT, hf:ID or hf:FOLDER",
    )
    embed.add_argument(
        "--name", help="the model's name in the store, where the spec's own is taken"
    )
    embed.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")
    embed.add_argument(
        "--batch-size",
        default="auto",
        type=_batch_size,
        metavar="N",
        help="stimuli at a time, or auto, what the device holds (auto)",
    )
    embed.add_argument(
        "--caption-level",
        nargs="+",
        action="extend",
        metavar="L",
        help="which captions of the stimuli, one embedding for each (the dataset's first level)",
    )
    embed.add_argument(
        "--pooling",
        choices=("mean", "last", "first"),
        default="mean",
        help="language: mean over tokens, or one",
    )


def _add_import(commands: Any) -> None:
    features = add_command(
        commands,
        "import",
        run_import,
        "import features made elsewhere: (n, d) or (n, layers, d)",
        job=True,
    )
    features.add_argument(
        "file", type=Path, metavar="FILE", help=".npy .npz .safetensors .pt .parquet"
    )
    features.add_argument("--dataset", required=True, metavar="D", help="the dataset")
    features.add_argument("--name", required=True, metavar="N", help="what the store calls it")
    importable = [one.name for one in MODALITIES.values() if not one.is_reality]
    features.add_argument("--modality", required=True, choices=importable, help="the kind of model")


def _batch_size(text: str) -> int | str:
    if text != "auto" and not (text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected auto or a whole number above 0, got {text!r}")
    return text if text == "auto" else int(text)


def run_model_list(arguments: argparse.Namespace) -> None:
    """Print one row per embedded model."""
    import pandas as pd  # as above

    from core.store import Store
    from core.store.inventory import device_of, embedding_size, seconds_of, widths_of

    store = Store(arguments.store)
    datasets = (
        [arguments.dataset] if arguments.dataset else [card.name for card in store.datasets()]
    )
    rows = [
        {
            "dataset": dataset,
            "model": entry.card.name,
            "title": entry.card.title,
            "modality": entry.card.modality,
            "family": entry.card.family,
            "objective": entry.card.objective,
            "parameters": entry.card.parameters,
            "layers": len(entry.card.layers),
            "dims": widths_of(entry),
            "level": entry.level,
            "bytes": embedding_size(store.root, dataset, entry.card.name),
            "device": device_of(entry),
            "seconds": seconds_of(entry),
        }
        for dataset in datasets
        for entry in store.embeddings(dataset)
    ]
    report_problems(store)
    print_table(
        pd.DataFrame(rows).astype({"parameters": "Int64"} if rows else {}), as_json=arguments.json
    )


def run_embed(arguments: argparse.Namespace) -> int:
    """Embed a dataset with each model; one that fails does not stop the others."""
    from core.embedding.runner import Slot, embed
    from core.encoders.catalog import open_encoder
    from core.progress import ConsoleProgress
    from core.stimuli.catalog import open_dataset
    from core.store import Store

    levels = arguments.caption_level or [None]
    if arguments.name and (many := len(arguments.model) * len(levels)) > 1:
        raise InputError(
            f"--name names one model, but {many} were given, each caption level counted; embed them"
            " one at a time"
        )
    device = choose_device(arguments.device)
    dataset = open_dataset(Store(arguments.store).dataset(arguments.dataset))
    failed = 0
    for spec in arguments.model:
        try:
            encoder = open_encoder(spec, device=device, pooling=arguments.pooling)
            for level in levels:
                path = embed(
                    arguments.store,
                    dataset,
                    encoder,
                    level=level,
                    batch_size=arguments.batch_size,
                    slot=Slot(arguments.name),
                    report=ConsoleProgress(),
                )
                print(path.stem)
        except PlatoscopeError as error:
            print(f"platoscope: {spec}: {error}", file=sys.stderr)
            failed += 1
    return USER_MISTAKE if failed else 0


def run_import(arguments: argparse.Namespace) -> None:
    """Import features made elsewhere as a model of a dataset."""
    from core.embedding.features import import_features
    from core.encoders.imported import read_features
    from core.store import Store

    card = Store(arguments.store).dataset(arguments.dataset)
    layers = read_features(arguments.file)
    import_features(arguments.store, card, layers, name=arguments.name, modality=arguments.modality)
    print(f"{arguments.name}: {len(layers)} layers of {card.size} stimuli")
