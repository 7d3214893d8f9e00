"""Heads of a store's models: published beside the weights, kept in the store, or fitted now."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from core.cave.training.train import HEAD, read_head
from core.encoders.encoder import ModelCard
from core.errors import StoreBusyError, StoreWriteError
from core.networks.heads import (
    CLASSES,
    EVENTS,
    FITTED,
    PUBLISHED,
    SPLIT,
    STRENGTH,
    Head,
    check_width,
    fit_head,
    tasks_of,
)
from core.networks.vision import VisionNetwork
from core.progress import tell
from core.recipe import Recipe
from core.store import ModelEntry, Store, write_result

VERSION = 1  # raise it when heads are fitted otherwise


def head_of(store: Store, dataset: str, entry: ModelEntry, network: VisionNetwork) -> Head:
    """Return the head of a vision model; raises EncoderError for a file of another model's."""
    if file := head_file(entry.card):
        store.note_files(file)
    if head := published_head(entry.card):
        return check_width(_to(head, network), network)
    name, recipe = f"head-{entry.card.name}", head_recipe(entry)
    kept = store.result(dataset, name)
    if kept and kept[1] == recipe:
        return _to(_head_of_table(kept[0], entry.card), network)
    head = fit_head(network, report=lambda done, total: tell(done, total, "tasks of a new head"))
    # kept only to save seconds later: a store that cannot be written now still gives every answer
    with suppress(StoreWriteError, StoreBusyError):
        table = _table_of_head(head)
        write_result(
            store.root, dataset=store.dataset(dataset), name=name, table=table, recipe=recipe
        )
    return head


def head_recipe(entry: ModelEntry) -> Recipe:
    """Return all that a fitted head depends on."""
    return Recipe.of(
        "head",
        version=VERSION,
        model=entry.card.name,
        weights=entry.card.weights,
        embedding=entry.digest,
        tasks=list(tasks_of(entry.card)),
        events=EVENTS,
        split=SPLIT,
        strength=STRENGTH,
    )


def head_file(card: ModelCard) -> Path | None:
    """Return where the head of a model in a folder is published, None for other models."""
    _, _, folder = card.spec.partition("@")
    return Path(folder) / HEAD if folder else None


def published_head(card: ModelCard) -> Head | None:
    """Return the head beside the weights of a model in a folder, None where there is none."""
    file = head_file(card)
    kept = read_head(file.parent) if file else None
    if kept is None or not set(kept.tasks) <= set(CLASSES):
        return None
    return Head(kept.weight, kept.bias, kept.tasks, PUBLISHED)


def _to(head: Head, network: VisionNetwork) -> Head:
    weight, bias = (part.to(network.device, torch.float32) for part in (head.weight, head.bias))
    return Head(weight, bias, head.tasks, head.origin)


def _table_of_head(head: Head) -> pd.DataFrame:
    """Return a column per class; the bias is the last row."""
    rows = torch.cat([head.weight, head.bias[None]]).cpu().numpy()
    return pd.DataFrame(rows, columns=[f"class {place}" for place in range(rows.shape[1])])


def _head_of_table(table: pd.DataFrame, card: ModelCard) -> Head:
    rows = torch.tensor(table.to_numpy(np.float32))
    return Head(rows[:-1], rows[-1], tasks_of(card), FITTED)
