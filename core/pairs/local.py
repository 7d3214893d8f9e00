"""CKNNA of all layer pairs, from each layer's similarities to its nearest stimuli."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int32, Integer

from core.errors import MetricError
from core.machine.processes import count_threads
from core.pairs.layers import Preprocess, Space, each_layer, stacked
from core.pairs.prepared import Prepared, Scores
from core.spaces.local_kernels import local_kernel
from core.spaces.preprocess import normalize_rows


@dataclass(frozen=True)
class LocalKernels:
    """Local kernels of length 1: which stimuli are near each one, by rising index, and how similar;
    NaN for a layer without any.
    """

    lists: Int32[np.ndarray, "L n k"]
    values: Float64[np.ndarray, "L n k"]


@dataclass(frozen=True)
class CenteredLocal:
    """CKNNA as the paper defines it: the sum of products of two local kernels over the pairs that
    are neighbors in both.
    """

    k: int

    @property
    def from_neighbors(self) -> None:
        return None

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[LocalKernels]:
        parts, refusals = each_layer(self._local, layers, preprocess)
        lists = stacked([part and part[0] for part in parts], missing=0)
        values = stacked([part and part[1] for part in parts], missing=np.nan)
        return Prepared(LocalKernels(lists, values), refusals)

    def _local(self, space: Space) -> tuple[Int32[np.ndarray, "n k"], Float64[np.ndarray, "n k"]]:
        kernel = local_kernel(space, k=self.k, variant="paper")
        return kernel.indices.reshape(-1, self.k).astype(np.int32), kernel.data.reshape(-1, self.k)

    def scores(self, x: Prepared[LocalKernels], y: Prepared[LocalKernels]) -> Scores:
        """Share x's layers among threads; each sum runs over stimuli and neighbors in order, so
        threads cannot change it.
        """
        _check_same_stimuli(x.layers, y.layers)
        totals = _products(x.layers, y.layers)
        totals[np.isnan(x.layers.values[:, 0, 0])] = np.nan
        totals[:, np.isnan(y.layers.values[:, 0, 0])] = np.nan
        return Scores(totals, {})

    def permuted(
        self, prepared: Prepared[LocalKernels], order: Integer[np.ndarray, "n"]
    ) -> Prepared[LocalKernels]:
        lists, values = prepared.layers.lists, prepared.layers.values
        renamed = np.argsort(order).astype(np.int32)[lists[:, order]]
        rising = np.argsort(renamed, axis=2)
        moved = LocalKernels(
            np.take_along_axis(renamed, rising, axis=2),
            np.take_along_axis(values[:, order], rising, axis=2),
        )
        return Prepared(moved, prepared.refusals)


def _check_same_stimuli(x: LocalKernels, y: LocalKernels) -> None:
    n, m = x.lists.shape[1], y.lists.shape[1]
    if n != m:
        raise MetricError(f"expected kernels over the same stimuli; got {n} and {m} stimuli")


def _products(x: LocalKernels, y: LocalKernels) -> Float64[np.ndarray, "Lx Ly"]:
    from core.pairs.loops.scattered import add_products  # numba, half a second

    near_x, near_y, values_x, values_y = map(_by_stimulus, (x.lists, y.lists, x.values, y.values))
    totals = np.zeros((len(x.lists), len(y.lists)))
    threads = count_threads()
    parts = (
        np.array_split(near_x, threads, axis=1),
        np.array_split(values_x, threads, axis=1),
        np.array_split(totals, threads),
    )
    with ThreadPoolExecutor(threads) as pool:
        done = [
            pool.submit(add_products, near, values, near_y, values_y, total)
            for near, values, total in zip(*parts, strict=True)
        ]
        for each in done:
            each.result()
    return totals


def _by_stimulus(array: np.ndarray) -> np.ndarray:
    """Copy a (layers, n, k) array stimulus first: the loop then walks through memory in order."""
    return np.ascontiguousarray(array.transpose(1, 0, 2))
