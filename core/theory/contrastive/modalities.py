"""Two modalities of one world: observations of the same events, what is left to know across them, and how alike they are learned.

An observation is a channel Q (N, M): the probability of each observation (columns) of each event (rows). One-to-one channels leave
P_coor what it is; the others do not. A shuffled pairing is no channel: both modalities are intact, but a share of what is shown as a
pair belongs to two events that have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import InputError, UnknownNameError
from core.metrics import METRICS
from core.theory.contrastive.world import Cooccurrence, Vector

Channel = Float64[np.ndarray, "n m"]
LOSSES = ("lossy", "noisy", "shuffled")


class View(NamedTuple):
    """How a second modality sees the events: its channel, and the share of pairs with the first that are shuffled."""

    channel: Channel
    shuffled: float = 0.0


def see(kind: str, share: float, *, events: int, seed: int) -> View:
    """Return a view that loses a share of what there is to see, 0 … 1; at 0 it is one-to-one, whatever the kind.

    kind: "lossy" merges events at random until 1 − share of them are left, at least 2; "noisy" shows any observation in place of
    the event's own with that probability; "shuffled" pairs that share at random. Raises UnknownNameError, InputError.
    """
    if kind not in LOSSES:
        raise UnknownNameError("loss of a view", kind, LOSSES)
    if not 0 <= share <= 1:
        raise InputError(f"the share that a view loses lies in 0 … 1, not {share:g}")
    order = np.random.default_rng(seed).permutation(events)
    if kind == "lossy":
        left = max(round((1 - share) * events), 2)
        return View(np.eye(left)[order % left])
    exact = np.eye(events)[order]
    return View((1 - share) * exact + share / events) if kind == "noisy" else View(exact, share)


def observe(world: Cooccurrence, channel: Channel) -> Cooccurrence:
    """Return the co-occurrence of observations.

    Where t ≠ t' both ends go through the channel, each on its own: Qᵀ A Q. Where t = t' there is one observation, which is itself.
    """
    return Cooccurrence(world.same @ channel, channel.T @ world.apart @ channel)


def information_left(own: Vector, view: View) -> float:
    """Return the mutual information in bits between an event, which the first modality shows as it is, and the view's observation.

    own: probability of each event. Range 0 … the entropy of `own`.
    """
    paired = own[:, None] * view.channel
    seen = own[:, None] * paired.sum(axis=0)
    joint = (1 - view.shuffled) * paired + view.shuffled * seen
    held = joint > 0
    return float((joint[held] * np.log2(joint[held] / seen[held])).sum())


def draw_observations(view: View, draw: np.random.Generator) -> Int64[np.ndarray, " n"]:
    """Return which observation is shown beside each event, once for every event."""
    events = np.arange(len(view.channel))
    moved = draw.permutation(len(events))[: round(view.shuffled * len(events))]
    events[moved] = draw.permutation(moved)
    chances = view.channel[events].cumsum(axis=1)
    return (draw.random((len(events), 1)) * chances[:, -1:] >= chances).sum(axis=1)


def align_views(
    first: Float64[np.ndarray, "n d"], second: Float64[np.ndarray, "m e"], view: View, *, seed: int, draws: int = 10, k: int = 3
) -> dict[str, float]:
    """Return CKA and mutual k-NN of both embeddings over the events, each seen once by both modalities; means over draws.

    first: embedding of the events, second: of the view's observations. The events' order is drawn anew each time, since neighbors
    at equal distance are taken in order. Raises MetricError for degenerate embeddings.
    """
    draw = np.random.default_rng(seed)
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    for _ in range(draws):
        shown = draw_observations(view, draw)
        order = draw.permutation(len(first))
        for name, measure in MEASURES.items():
            found[name].append(measure(first[order], second[shown[order]], k))
    return {name: float(np.mean(values)) for name, values in found.items()}


MEASURES: Mapping[str, Callable[[np.ndarray, np.ndarray, int], float]] = {
    "cka": lambda x, y, _: METRICS["cka"](x, y),
    "mutual_knn": lambda x, y, k: METRICS["mutual_knn"](x, y, k=k),
}
