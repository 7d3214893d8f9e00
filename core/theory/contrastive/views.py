"""Two modalities of one world: observations of the same events, what is left to know across them,
and how alike they are learned.

An observation is a channel Q (N, M): the probability of each observation (columns) of each event
(rows). A one-to-one channel leaves P_coor what it is; others do not. A shuffled pairing is no
channel: both modalities are intact, but a share of what is shown as a pair belongs to two events
that have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import InputError, MetricError, UnknownNameError
from core.metrics import METRICS
from core.spaces.kernels import centered
from core.theory.contrastive.world import Cooccurrence, Vector

Channel = Float64[np.ndarray, "n m"]
Indices = Int64[np.ndarray, " n"]
LOSSES = ("lossy", "noisy", "shuffled")
DRAWS = 10  # of what is shown, over which alignment is averaged


class View(NamedTuple):
    """How a second modality sees the events: its channel, and the share of pairs with the first
    that are shuffled.
    """

    channel: Channel
    shuffled: float = 0.0


def see(kind: str, share: float, *, events: int, seed: int) -> View:
    """Return a view that loses a share of what there is to see, 0 … 1; at 0 it is one-to-one,
    whatever the kind.

    kind: "lossy" merges events at random until 1 − share of them are left, at least 2; "noisy"
    shows any observation in place of the event's own with that probability; "shuffled" pairs that
    share at random. Raises UnknownNameError, InputError.
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

    Where t ≠ t' both ends go through the channel, each on its own: Qᵀ A Q. Where t = t' there is
    one observation, which is itself.
    """
    return Cooccurrence(world.same @ channel, channel.T @ world.apart @ channel)


def information_left(own: Vector, view: View) -> float:
    """Return the mutual information in bits between an event, which the first modality shows as it
    is, and the view's observation.

    own: probability of each event. Range 0 … the entropy of `own`.
    """
    paired = own[:, None] * view.channel
    seen = own[:, None] * paired.sum(axis=0)
    joint = (1 - view.shuffled) * paired + view.shuffled * seen
    held = joint > 0
    return float((joint[held] * np.log2(joint[held] / seen[held])).sum())


def align_views(
    first: Float64[np.ndarray, "n d"],
    second: Float64[np.ndarray, "m e"],
    view: View,
    *,
    seed: int,
    k: int = 3,
) -> dict[str, float | str]:
    """Return `cka` and `mutual_knn` of both embeddings over the events, each seen once by both
    modalities: means over DRAWS.

    first: embedding of the events, second: of the view's observations. `reason`: why a measure is
    NaN, such as events that the view merges. Raises MetricError where CKA is degenerate.
    """
    pairs = [(first[events], second[shown]) for events, shown in _pairings(view, seed)]
    cka = float(np.mean([METRICS["cka"](x, y) for x, y in pairs]))
    try:
        return {
            "cka": cka,
            "mutual_knn": float(np.mean([METRICS["mutual_knn"](x, y, k=k) for x, y in pairs])),
            "reason": "",
        }
    except MetricError:
        return {
            "cka": cka,
            "mutual_knn": float("nan"),
            "reason": "mutual k-NN: most observations have others that equal them",
        }


def align_kernels(
    first: Float64[np.ndarray, "n n"], second: Float64[np.ndarray, "m m"], view: View, *, seed: int
) -> float:
    """Return what `align_views` would find for CKA if both embeddings had exactly these kernels."""
    values = [
        (centered(first[np.ix_(events, events)]) * centered(second[np.ix_(shown, shown)])).sum()
        for events, shown in _pairings(view, seed)
    ]
    return float(np.mean(values))


def _pairings(view: View, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Draw which observation is shown beside each event; in any order of the events, since equal
    distances are taken in order.
    """
    draw = np.random.default_rng(seed)
    for _ in range(DRAWS):
        order = draw.permutation(len(view.channel))
        events = np.arange(len(order))
        moved = draw.permutation(len(order))[: round(view.shuffled * len(order))]
        events[moved] = draw.permutation(moved)
        chances = view.channel[events].cumsum(axis=1)
        shown = (draw.random((len(order), 1)) * chances[:, -1:] >= chances).sum(axis=1)
        yield order, shown[order]
