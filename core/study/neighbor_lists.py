"""The neighbors of a model's layers: found, and as the table in which a store keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int32

from core.errors import FeatureError, MetricError
from core.pairs.prepared import Lists, Prepared
from core.progress import tell
from core.settings import choose_device
from core.spaces.distances import nearest_by
from core.spaces.neighbors import MANY, nearest
from core.spaces.preprocess import normalize_rows


def search(
    layers: Sequence[Float32[np.ndarray, "n _"]], depth: int, *, model: str, device: str = "cpu"
) -> Prepared[Lists]:
    """Find the neighbors in each layer; a layer that is refused holds -1.

    model: whose layers, for whoever hears the progress. device: where those of many stimuli are
    found, if it is a GPU or `auto` and there is one; they are the same everywhere.
    """
    n = len(layers[0])
    find = _finder(n, device)

    def nearest_in(layer: int) -> Int32[np.ndarray, "n k"]:
        report = partial(_tell, len(layers) * n, layer * n, model) if n >= MANY else None
        return find(normalize_rows(layers[layer]), k=depth, report=report)

    return _each(nearest_in, len(layers), (n, depth))


def search_matrices(layers: Sequence[Float32[np.ndarray, "n n"]], depth: int) -> Prepared[Lists]:
    """Find the neighbors in each layer's dissimilarities; a layer that is refused holds -1."""

    def nearest_in(layer: int) -> Int32[np.ndarray, "n k"]:
        return nearest_by(layers[layer], k=depth)

    return _each(nearest_in, len(layers), (len(layers[0]), depth))


def _each(
    nearest_in: Callable[[int], Int32[np.ndarray, "n k"]], layers: int, shape: tuple[int, int]
) -> Prepared[Lists]:
    lists = np.full((layers, *shape), -1, dtype=np.int32)
    refusals = [""] * layers
    for layer in range(layers):
        try:
            lists[layer] = nearest_in(layer)
        except (FeatureError, MetricError) as error:
            refusals[layer] = str(error)
    return Prepared(lists, tuple(refusals))


def _finder(n: int, device: str) -> Callable[..., Int32[np.ndarray, "n k"]]:
    """Return what finds neighbors; few are found sooner than torch is imported."""
    if n < MANY or device == "cpu" or choose_device(device).type != "cuda":
        return nearest
    from core.pairs.on_torch import nearest_on

    return partial(nearest_on, choose_device(device))


def _tell(total: int, before: int, model: str, done: int) -> None:
    tell(before + done, total, f"neighbors of all stimuli in all layers of {model}")


def lists_table(prepared: Prepared[Lists]) -> pd.DataFrame:
    """Return a row per layer and stimulus: layer, index, its neighbors in order of rank, and why
    the layer has none, else "".
    """
    layers, n, kept = prepared.layers.shape
    names = [f"rank_{rank + 1}" for rank in range(kept)]
    table = pd.DataFrame(prepared.layers.reshape(layers * n, kept), columns=names)
    table.insert(0, "layer", np.repeat(np.arange(layers, dtype=np.int32), n))
    table.insert(1, "index", np.tile(np.arange(n, dtype=np.int32), layers))
    return table.assign(refusal=np.repeat(np.array(prepared.refusals, dtype=object), n))


def read_lists(table: pd.DataFrame, *, layers: int) -> Prepared[Lists]:
    """Return the neighbors of so many layers from their table."""
    lists = table.drop(columns=["layer", "index", "refusal"]).to_numpy(np.int32)
    refusals = table["refusal"].iloc[:: len(table) // layers]
    return Prepared(lists.reshape(layers, -1, lists.shape[1]), tuple(refusals))
