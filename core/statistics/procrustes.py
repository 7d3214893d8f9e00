"""The space that several models agree on: Generalized Procrustes.

minimize Σᵢ wᵢ ‖NᵢTᵢ − C‖² over orthogonal maps Tᵢ (reflections allowed) and the consensus C, where
each Nᵢ is centered and of Frobenius norm 1, padded with zeros to the widest one's width.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.metrics.shapes import shape
from core.pairs.prepared import one_core_each
from core.spaces.bases import Centered, center, span

TOLERANCE = 1e-9  # relative change of the objective
MOST_ROUNDS = 20_000
CENTERINGS = ("features", "stimuli", "none")

Space = Float[np.ndarray, "n _"]


class Consensus(NamedTuple):
    """The consensus in its principal axes, largest first, each space turned onto it, and the
    objective after every round.
    """

    joint: Float64[np.ndarray, "n width"]
    turned: list[Float64[np.ndarray, "n width"]]
    objective: Float64[np.ndarray, " rounds"]


def generalized_procrustes(
    spaces: Sequence[Space], *, centering: str = "features", weights: Sequence[float] | None = None
) -> Consensus:
    """Find the consensus of spaces over the same stimuli, and turn each onto it.

    One round turns every space onto the consensus, Tᵢ = UVᵀ of NᵢᵀC = USVᵀ, then takes the weighted
    mean; the objective never rises. It ends when a round lowers it by less than 1e-9 of itself. It
    starts from the principal coordinates of the mean of all NᵢNᵢᵀ, so neither the order of the
    spaces nor a rotation matters beyond rounding. centering: `features` subtracts each dimension's
    mean; `stimuli` each stimulus's own mean; `none` nothing. weights: one per space; a space of
    weight 0 is turned onto the consensus of the others. Raises MetricError for fewer than two
    spaces with a weight, other stimuli, degenerate spaces, and if 20,000 rounds do not settle it.
    Source: Gower 1975; Ten Berge 1977; on neural networks, Williams et al. 2021.
    """
    shares = _shares(weights, len(spaces))
    if len(counts := {len(space) for space in spaces}) > 1:
        raise MetricError(
            f"expected spaces over the same stimuli; got {' and '.join(map(str, sorted(counts)))}"
            " stimuli"
        )
    with one_core_each() as pool:
        shapes = list(pool.map(partial(_shape, centering=centering), spaces))
        defining = [each for each, share in zip(shapes, shares, strict=True) if share]
        weighing = shares[shares > 0]
        widest = max(space.shape[1] for space, share in zip(spaces, shares, strict=True) if share)
        width = min(widest, len(spaces[0]), sum(each.shape[1] for each in defining))
        basis, within = _common_basis(defining)
        joint, objective = _alternate(within, weighing, _first_joint(within, weighing, width), pool)
        joint = joint if basis is None else basis @ joint
        joint = _widened(joint @ _axes(joint), max(each.shape[1] for each in shapes))
        return Consensus(joint, list(pool.map(partial(turn, onto=joint), shapes)), objective)


def turn(
    shape: Float64[np.ndarray, "n r"], onto: Float64[np.ndarray, "n width"]
) -> Float64[np.ndarray, "n width"]:
    """Turn a space onto another of no fewer dimensions by the best orthogonal map."""
    left, _, right = np.linalg.svd(shape.T @ onto, full_matrices=False)
    turned: np.ndarray = shape @ (left @ right)
    return turned


def _shares(weights: Sequence[float] | None, count: int) -> Float64[np.ndarray, " M"]:
    shares = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(shares) != count:
        raise MetricError(f"expected one weight for each of {count} spaces; got {len(shares)}")
    if not (np.isfinite(shares).all() and (shares >= 0).all()):
        raise MetricError(f"weights must be 0 or more and finite; got {shares.tolist()}")
    if (shares > 0).sum() < 2:
        raise MetricError(
            "a consensus needs at least two spaces of a positive weight; got"
            f" {(shares > 0).sum()}: add a model"
        )
    relative: np.ndarray = shares / shares[shares > 0].mean()
    return relative


def _shape(space: Space, centering: str) -> Float64[np.ndarray, "n r"]:
    if centering not in CENTERINGS:
        raise MetricError(f"the centering is one of {', '.join(CENTERINGS)}; got {centering}")
    by_feature = center(space)  # refuses degenerate spaces, however they are centered
    if centering == "features":
        return shape(span(by_feature))
    values = space.astype(np.float64) / float(np.abs(space).max())
    if centering == "stimuli":
        values -= values.mean(axis=1, keepdims=True)
    return shape(span(Centered(values, by_feature.rounding)))


def _common_basis(
    shapes: Sequence[Float64[np.ndarray, "n _"]],
) -> tuple[Float64[np.ndarray, "n r"] | None, list[Float64[np.ndarray, "_ _"]]]:
    """Return an orthonormal basis of all directions of the spaces, and each space in it, which
    makes rounds cheap; None and the spaces themselves if that leaves more than half as many rows.
    """
    joined = np.hstack(shapes)
    if 2 * joined.shape[1] > len(joined):
        return None, list(shapes)
    basis, within = np.linalg.qr(joined)
    ends = np.cumsum([each.shape[1] for each in shapes])
    return basis, np.split(within, ends[:-1], axis=1)


def _first_joint(
    shapes: Sequence[Float64[np.ndarray, "n _"]], weights: Float64[np.ndarray, " M"], width: int
) -> Float64[np.ndarray, "n width"]:
    """Return the leading principal coordinates of the weighted mean of all NᵢNᵢᵀ, up to scale."""
    weighted = zip(shapes, weights, strict=True)
    joined = np.hstack([np.sqrt(weight) * each for each, weight in weighted])
    if joined.shape[1] < len(joined):
        coordinates = joined @ np.linalg.eigh(joined.T @ joined)[1]
    else:
        sizes, directions = np.linalg.eigh(joined @ joined.T)
        coordinates = directions * np.sqrt(np.maximum(sizes, 0))
    return _widened(coordinates[:, ::-1][:, :width], width)


def _widened(joint: Float64[np.ndarray, "n _"], width: int) -> Float64[np.ndarray, "n width"]:
    return np.pad(joint, ((0, 0), (0, max(0, width - joint.shape[1]))))


def _alternate(
    shapes: Sequence[Float64[np.ndarray, "n _"]],
    weights: Float64[np.ndarray, " M"],
    joint: Float64[np.ndarray, "n width"],
    pool: ThreadPoolExecutor,
) -> tuple[Float64[np.ndarray, "n width"], Float64[np.ndarray, " rounds"]]:
    # an objective at or below this is rounding
    exact = len(shapes) * (len(joint) * np.finfo(np.float64).eps) ** 2
    objective: list[float] = []
    for _ in range(MOST_ROUNDS):
        turned = list(pool.map(partial(turn, onto=joint), shapes))
        joint = (
            sum(weight * each for weight, each in zip(weights, turned, strict=True)) / weights.sum()
        )
        apart = [np.sum((each - joint) ** 2) for each in turned]
        objective.append(float(weights @ apart))
        if objective[-1] <= exact or (
            len(objective) > 1 and objective[-2] - objective[-1] <= TOLERANCE * objective[-1]
        ):
            return joint, np.array(objective)
    raise MetricError(
        f"no consensus after {MOST_ROUNDS} rounds; leave out one of these {len(shapes)} spaces"
    )


def _axes(joint: Float64[np.ndarray, "n width"]) -> Float64[np.ndarray, "width width"]:
    """Return the rotation to the principal axes, each with its largest coordinate positive."""
    axes = np.linalg.eigh(joint.T @ joint)[1][:, ::-1]
    coordinates = joint @ axes
    largest = np.take_along_axis(coordinates, np.abs(coordinates).argmax(axis=0)[None], axis=0)[0]
    return axes * np.where(largest < 0, -1, 1)
