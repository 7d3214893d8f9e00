"""Ways to use a probe of one space on another, without training: both need stimuli seen by both
models, the anchors, and nothing else.

relative    each stimulus is described by its cosines with the anchors of its own space
orthogonal  one space is turned onto the other by the orthogonal map that fits the anchors best

Source: Moschella et al. 2023 (relative representations); Schönemann 1966 (the orthogonal map), for
swapped probes Maiorca et al. 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from core.spaces.preprocess import normalize_rows

Rows = Int64[np.ndarray, "_"]
Space = Float[np.ndarray, "n _"]
Read = Float32[np.ndarray, "_ _"]


class Held(NamedTuple):
    """One space as probes meet it.

    framed: centered on the mean of the known stimuli and scaled to a mean squared length of 1.
    spread: the standard deviation of each of its features over them. cosines: of each stimulus with
    the anchors, each standardized over the known stimuli. anchors: by which spaces are joined.
    """

    framed: Float64[np.ndarray, "n d"]
    spread: Float64[np.ndarray, " d"]
    cosines: Float32[np.ndarray, "n anchors"]
    anchors: Rows


def hold(space: Space, training: Rows, anchors: Rows) -> Held:
    """Return a space as probes meet it; raises FeatureError for a stimulus at the mean, which has
    no cosines.

    training: the stimuli that probes learn from, anchors among them.
    """
    centered = space.astype(np.float64) - space[training].mean(axis=0, dtype=np.float64)
    framed = centered / np.sqrt((centered[training] ** 2).sum(axis=1).mean())
    unit = normalize_rows(framed)
    cosines = unit @ unit[anchors].T
    middle, spread = cosines[training].mean(axis=0), _spread(cosines[training])
    standardized = ((cosines - middle) / spread).astype(np.float32)
    return Held(framed, _spread(framed[training]), standardized, anchors)


def cosines(held: Held) -> Read:
    """Return a space by its cosines with the anchors."""
    return held.cosines


def cosines_of(guest: Held, host: Held, order: Rows, rows: Rows) -> Read:  # noqa: ARG001 - as `turned`
    """Return some stimuli of a guest by their cosines with its own anchors.

    order: of the anchors, 0, 1 … but for a null.
    """
    read: Read = guest.cosines[rows][:, order]
    return read


def features(held: Held) -> Read:
    """Return a space's own features, standardized."""
    read: Read = (held.framed / held.spread).astype(np.float32)
    return read


def turned(guest: Held, host: Held, order: Rows, rows: Rows) -> Read:
    """Return some stimuli of a guest turned onto the host, W = UVᵀ of GᵀH = USVᵀ over the anchors,
    and standardized as the host is.

    Of two widths the wider keeps the directions that the narrower one fits. order: in which the
    guest's anchors are paired with the host's, 0, 1 … but for a null.
    """
    own, others = guest.framed[guest.anchors[order]], host.framed[host.anchors]
    left, _, right = np.linalg.svd(own.T @ others, full_matrices=False)
    read: Read = (guest.framed[rows] @ (left @ right / host.spread)).astype(np.float32)
    return read


class Way(NamedTuple):
    """home: what a probe learns from. abroad: what it is given of another space."""

    home: Callable[[Held], Read]
    abroad: Callable[[Held, Held, Rows, Rows], Read]


WAYS: Mapping[str, Way] = {
    "orthogonal": Way(features, turned),
    "relative": Way(cosines, cosines_of),
}


def _spread(rows: Space) -> Float64[np.ndarray, " d"]:
    """Return each feature's standard deviation, 1 for one that is constant but for rounding."""
    spread = rows.std(axis=0)
    return np.where(spread > 1e-9 * np.abs(rows).max(), spread, 1.0)
