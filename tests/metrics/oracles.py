"""Literal, slow definitions in plain Python, written from the formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.spaces.neighbors import tie_order, unit_scaled


def nearest_literally(space: np.ndarray, k: int) -> list[list[int]]:
    """Sort all others by falling exact inner product, ties as the space's own order has them."""
    rank = np.argsort(tie_order(unit_scaled(space))).tolist()
    vectors = [[float(value) for value in row] for row in space]
    found = []
    for i, own in enumerate(vectors):
        similarity = {
            j: sum(a * b for a, b in zip(own, other, strict=True))
            for j, other in enumerate(vectors)
            if j != i
        }
        found.append(sorted(similarity, key=lambda j: (-similarity[j], rank[j]))[:k])
    return found


def mutual_knn_literally(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Average the shares of common neighbors over the stimuli."""
    pairs = zip(nearest_literally(x, k), nearest_literally(y, k), strict=True)
    return sum(len(set(a) & set(b)) for a, b in pairs) / (len(x) * k)


def clamp_literally(layers: Sequence[np.ndarray], q: float) -> list[list[list[float]]]:
    """Clamp every value at the sorted absolute values' entry int(q · m)."""
    sizes = sorted(abs(float(value)) for layer in layers for value in layer.flat)
    threshold = sizes[int(q * len(sizes))]
    return [
        [[max(-threshold, min(threshold, float(value))) for value in row] for row in layer]
        for layer in layers
    ]


def clamp_average_literally(layers: Sequence[np.ndarray], q: float) -> list[list[list[float]]]:
    """Clamp every value at the mean over stimuli of the quantile of a stimulus's absolute values,
    linear between the two sorted values that it lies between.
    """
    quantiles = []
    for stimulus in range(len(layers[0])):
        sizes = sorted(abs(float(value)) for layer in layers for value in layer[stimulus])
        place = q * (len(sizes) - 1)
        below = int(place)
        above = min(below + 1, len(sizes) - 1)
        quantiles.append(sizes[below] + (place - below) * (sizes[above] - sizes[below]))
    bound = sum(quantiles) / len(quantiles)
    return [
        [[max(-bound, min(bound, float(value))) for value in row] for row in layer]
        for layer in layers
    ]


def permuted_neighbors(neighbors: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Give stimulus i the neighbors of stimulus order[i], renamed likewise: a space whose rows are
    shuffled.
    """
    return np.argsort(order)[neighbors[order]].astype(np.int32)


def song_hsic(K: np.ndarray, L: np.ndarray) -> float:
    """Estimate HSIC without bias, term by term: Song et al. 2012, for kernels whose diagonals are
    disregarded.
    """
    n, (K, L) = len(K), (kernel - np.diag(np.diag(kernel)) for kernel in (K, L))
    ones = np.ones(n)
    sums = (ones @ K @ ones) * (ones @ L @ ones) / ((n - 1) * (n - 2))
    return float((np.trace(K @ L) + sums - 2 / (n - 2) * (ones @ K @ L @ ones)) / (n * (n - 3)))
