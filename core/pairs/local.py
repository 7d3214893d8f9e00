"""CKNNA of all layer pairs, from each layer's similarities to its nearest stimuli."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int32, Integer

from core.errors import MetricError
from core.pairs.layers import Preprocess, Space, each_layer, stacked
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

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> LocalKernels:
        parts = each_layer(self._local, layers, preprocess)
        lists = stacked([part and part[0] for part in parts], missing=0)
        return LocalKernels(lists, stacked([part and part[1] for part in parts], missing=np.nan))

    def _local(self, space: Space) -> tuple[Int32[np.ndarray, "n k"], Float64[np.ndarray, "n k"]]:
        kernel = local_kernel(space, k=self.k, variant="paper")
        return kernel.indices.reshape(-1, self.k).astype(np.int32), kernel.data.reshape(-1, self.k)

    def scores(self, x: LocalKernels, y: LocalKernels) -> Float64[np.ndarray, "Lx Ly"]:
        """Share x's layers among threads; each sum runs over stimuli and neighbors in order, so
        threads cannot change it.
        """
        from core.pairs.loops.scattered import add_products

        if x.lists.shape[1] != y.lists.shape[1]:
            raise MetricError(
                f"kernels over the same stimuli expected; given {x.lists.shape[1]} and"
                f" {y.lists.shape[1]} stimuli"
            )
        near_x, near_y, values_x, values_y = map(
            _by_stimulus, (x.lists, y.lists, x.values, y.values)
        )
        totals = np.zeros((len(x.lists), len(y.lists)))
        cores = os.cpu_count() or 1
        parts = (
            np.array_split(near_x, cores, axis=1),
            np.array_split(values_x, cores, axis=1),
            np.array_split(totals, cores),
        )
        with ThreadPoolExecutor(cores) as pool:
            done = [
                pool.submit(add_products, near, values, near_y, values_y, total)
                for near, values, total in zip(*parts, strict=True)
            ]
            for each in done:
                each.result()
        totals[np.isnan(x.values[:, 0, 0])] = np.nan
        totals[:, np.isnan(y.values[:, 0, 0])] = np.nan
        return totals

    def permuted(self, prepared: LocalKernels, order: Integer[np.ndarray, "n"]) -> LocalKernels:
        renamed = np.argsort(order).astype(np.int32)[prepared.lists[:, order]]
        rising = np.argsort(renamed, axis=2)
        values = np.take_along_axis(prepared.values[:, order], rising, axis=2)
        return LocalKernels(np.take_along_axis(renamed, rising, axis=2), values)


def _by_stimulus(array: np.ndarray) -> np.ndarray:
    """Copy a (layers, n, k) array stimulus first: the loop then walks through memory in order."""
    return np.ascontiguousarray(array.transpose(1, 0, 2))
