"""Colors laid out by how unlike they are, and one layout laid over another."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64

from core.errors import MetricError
from core.machine.memory import check_memory
from core.machine.processes import count_threads
from core.progress import Progress
from core.questions.color.parts import STARTS

ITERATIONS, TOLERANCE = 300, 1e-7  # of every start
POLISH, POLISHED = 100_000, 1e-16  # of the best one
MOST_DIMS = 3
_BATCH = 50  # starts between two reports


@dataclass(frozen=True)
class Layout:
    """Points around their mean and how badly they fit.

    stress: Kruskal's stress-1, √(Σ (dᵢⱼ − δᵢⱼ)² / Σ dᵢⱼ²), i < j; 0 is a perfect fit. start:
    "classical", or "random" with its number from 0.
    """

    points: Float64[np.ndarray, "n dims"]
    stress: float
    start: str


def lay_out(
    dissimilarities: Float[np.ndarray, "n n"],
    *,
    dims: int = 3,
    starts: int = STARTS,
    seed: int = 0,
    report: Progress | None = None,
) -> Layout:
    """Return the best of `starts` random starts (uniform in the unit cube, seeded) and one from
    classical scaling, then polished.

    dissimilarities: symmetric, 0 or more, 0 on the diagonal, finite. dims: 1, 2 or 3, and below n.
    starts: with 0 there is classical scaling alone. Raises MetricError for anything else. Source:
    de Leeuw 1977 (majorization); Kruskal 1964 (stress); Torgerson 1952 (the start).
    """
    target = _checked(dissimilarities, dims)
    check_memory(
        5 * 8 * starts * len(target) * dims,
        f"{starts:,} starts of a layout of {len(target):,} colors",
        "ask for fewer",
    )
    fixed = classical(target, dims=dims)[None]
    drawn = np.random.default_rng(seed).random((starts, len(target), dims))
    tried = np.concatenate([fixed, drawn])
    layouts = [smacof(target, batch) for batch in _batches(tried, report)]
    points, stresses = (np.concatenate(part) for part in zip(*layouts, strict=True))
    best = int(stresses.argmin())
    (polished,), _ = smacof(target, points[best : best + 1], iterations=POLISH, tolerance=POLISHED)
    start = f"random {best - 1}" if best else "classical"
    return Layout(polished - polished.mean(axis=0), stress(target, polished), start)


def smacof(
    dissimilarities: Float[np.ndarray, "n n"],
    starts: Float[np.ndarray, "S n dims"],
    *,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> tuple[Float64[np.ndarray, "S n dims"], Float64[np.ndarray, "S"]]:
    """Improve every start by Guttman transforms; return the points and their raw stresses Σ (dᵢⱼ −
    δᵢⱼ)², i < j.

    The stress never rises. A start ends where a transform gains at most `tolerance` · Σ δᵢⱼ², or
    after `iterations`. The starts are shared among threads; each is worked on by one, so that their
    number changes nothing.
    """
    from core.questions.color.loops import majorize

    target = np.ascontiguousarray(dissimilarities, np.float64)
    count, n, dims = starts.shape
    flat = np.zeros(
        (count, n, MOST_DIMS)
    )  # transforms leave an axis of zeros at zero, so that all dimensions share one loop
    flat[:, :, :dims] = starts
    points, stresses = np.empty_like(flat), np.empty(count)
    least = tolerance * float(np.square(target).sum()) / 2
    threads = min(count_threads(), count)
    parts = (np.array_split(array, threads) for array in (flat, points, stresses))
    with ThreadPoolExecutor(threads) as pool:
        done = [
            pool.submit(majorize, target, a, iterations, least, b, c)
            for a, b, c in zip(*parts, strict=True)
        ]
        for each in done:
            each.result()
    return points[:, :, :dims].copy(), stresses


def classical(
    dissimilarities: Float[np.ndarray, "n n"], *, dims: int
) -> Float64[np.ndarray, "n dims"]:
    """Return classical scaling: the leading eigenvectors of −½ HΔ²H times the roots of their
    eigenvalues, negative ones as 0.

    Exact for Euclidean distances of points in `dims` dimensions. Each axis has its largest
    coordinate positive. Source: Torgerson 1952; Gower 1966.
    """
    squares = np.square(dissimilarities.astype(np.float64))
    means = squares.mean(axis=0)
    values, axes = np.linalg.eigh((means[:, None] + means - squares - means.mean()) / 2)
    points = axes[:, ::-1][:, :dims] * np.sqrt(np.maximum(values[::-1][:dims], 0))
    largest = points[np.abs(points).argmax(axis=0), np.arange(dims)]
    turned: np.ndarray = points * np.where(largest < 0, -1.0, 1.0)
    return turned


def stress(dissimilarities: Float[np.ndarray, "n n"], points: Float[np.ndarray, "n dims"]) -> float:
    """Return Kruskal's stress-1 of a layout, √(Σ (dᵢⱼ − δᵢⱼ)² / Σ dᵢⱼ²) over i < j: 0 or more,
    lower is better.
    """
    from scipy.spatial import distance

    apart = distance.pdist(points)
    return float(
        np.linalg.norm(apart - distance.squareform(dissimilarities, checks=False))
        / np.linalg.norm(apart)
    )


def _batches(
    starts: Float64[np.ndarray, "S n dims"], report: Progress | None
) -> Iterator[Float64[np.ndarray, "_ n dims"]]:
    for first in range(0, len(starts), _BATCH):
        yield starts[first : first + _BATCH]
        if report:
            report(min(first + _BATCH, len(starts)), len(starts), "starts of the layout")


def _checked(dissimilarities: Float[np.ndarray, "n n"], dims: int) -> Float64[np.ndarray, "n n"]:
    target, n = dissimilarities.astype(np.float64), len(dissimilarities)
    if not 1 <= dims <= MOST_DIMS or n <= dims:
        raise MetricError(
            f"a layout has 1 to {MOST_DIMS} dimensions and more colors than that; got {n} colors"
            f" in {dims} dimensions"
        )
    if not (np.isfinite(target).all() and (target >= 0).all()):
        raise MetricError(
            "dissimilarities are finite and 0 or more; got others: leave out what was never seen"
        )
    if not np.allclose(target, target.T) or target.diagonal().any():
        raise MetricError("dissimilarities are symmetric with 0 on the diagonal; got others")
    if not target.any():
        raise MetricError("all dissimilarities are 0, so there is nothing to lay out")
    return target


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
