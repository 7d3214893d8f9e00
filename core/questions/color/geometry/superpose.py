"""Lay one configuration of points over another: turned, scaled and moved, and mirrored where that
fits better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError


@dataclass(frozen=True)
class Superposed:
    """Points laid over others, and how: scale · points · mirror · rotationᵀ + shift.

    rotation: of determinant 1. scale: 0 or more. mirror: the sign of each axis before the rotation.
    """

    points: Float64[np.ndarray, "n d"]
    rotation: Float64[np.ndarray, "d d"]
    scale: float
    shift: Float64[np.ndarray, "d"]
    mirror: Float64[np.ndarray, "d"]


def superpose(points: Float[np.ndarray, "n d"], onto: Float[np.ndarray, "n d"]) -> Superposed:
    """Turn, scale and move points so that Σ ‖onto − points‖² is least, as they are and mirrored;
    the better of the two is kept.

    Mirrored is −points, as in the paper, where that is a reflection: with 1 or 3 axes. With 2 it is
    half a turn, so one axis alone changes its sign. Raises MetricError where the points, or those
    they are laid over, are all in one place. Source: Kabsch 1976, 1978; Umeyama 1991, equations 39
    to 43; Huh et al. 2024, appendix D.
    """
    if min(np.ptp(points, axis=0).max(), np.ptp(onto, axis=0).max()) == 0:
        raise MetricError(
            "expected points in different places; got points that are all in one, which have no"
            " shape to turn"
        )
    axes = points.shape[1]
    reflection = -np.ones(axes) if axes % 2 else np.append(-1.0, np.ones(axes - 1))
    tried = [_turned(points, onto, mirror) for mirror in (np.ones(axes), reflection)]
    return min(tried, key=lambda one: float(np.square(onto - one.points).sum()))


def _turned(
    points: Float[np.ndarray, "n d"],
    onto: Float[np.ndarray, "n d"],
    mirror: Float64[np.ndarray, "d"],
) -> Superposed:
    seen, goal = points * mirror, onto.astype(np.float64)
    around, wanted = seen - seen.mean(axis=0), goal - goal.mean(axis=0)
    left, sizes, right = np.linalg.svd(wanted.T @ around)
    signs = np.append(
        np.ones(len(sizes) - 1), np.sign(np.linalg.det(left) * np.linalg.det(right))
    )  # else it may be a reflection
    rotation = (left * signs) @ right
    scale = float((sizes * signs).sum() / np.square(around).sum())
    shift = goal.mean(axis=0) - scale * rotation @ seen.mean(axis=0)
    return Superposed(scale * seen @ rotation.T + shift, rotation, scale, shift, mirror)


def disparity(points: Float[np.ndarray, "n dx"], onto: Float[np.ndarray, "n dy"]) -> float:
    """Return what no turn, scale, move or mirror image removes: 1 − (‖XᵀY‖⁎ / (‖X‖ ‖Y‖))², X and Y
    centered.

    Range [0, 1], lower is more alike; symmetric. NaN where either has all its points in one place.
    Source: Gower 1975; Dryden, Mardia 2016 (full Procrustes distance, squared).
    """
    x, y = points - points.mean(axis=0), onto - onto.mean(axis=0)
    sizes = np.linalg.norm(x) * np.linalg.norm(y)
    if sizes == 0:
        return float("nan")
    return max(
        0.0, 1 - float(np.linalg.svd(x.T @ y, compute_uv=False).sum() / sizes) ** 2
    )  # rounding alone takes it below 0
