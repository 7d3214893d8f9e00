"""The engines of mutual kNN, CKA and CKNNA on a device that torch knows: the same values as on the
CPU, all work on the device. A layer without scores is NaN throughout, as lists -1. Importing this
takes seconds: import it on first use only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64, Int32
from torch import Tensor

from core.pairs.engine import Order
from core.pairs.prepared import (
    Lists,
    Prepared,
    Preprocess,
    Scores,
    Space,
    check_same_stimuli,
    each_layer,
)
from core.spaces.kernels import check_length, check_unbiased
from core.spaces.neighbors import check_ties, sides_of, tie_order
from core.spaces.preprocess import check_k, check_space, normalize_rows

BLOCK = 2**25  # numbers in one block of similarities, or in the tiles that are multiplied at once


class Local(NamedTuple):
    """What lies near each stimulus, (layers, n, k): which stimuli, and a value for each."""

    lists: Tensor
    values: Tensor


@dataclass(frozen=True)
class _Near:
    device: torch.device
    k: int

    def permuted(self, prepared: Prepared[Local], order: Order) -> Prepared[Local]:
        local = prepared.layers
        places = torch.from_numpy(order).to(local.lists.device)
        lists = torch.where(local.lists < 0, -1, torch.argsort(places)[local.lists])
        return Prepared(Local(lists[:, places], local.values[:, places]), prepared.refusals)


class TorchLists(_Near):
    """Mutual kNN; each neighbor has the value 1."""

    def take(self, lists: Prepared[Lists]) -> Prepared[Local]:
        nearest = np.ascontiguousarray(lists.layers[:, :, : self.k])
        return _prepared_lists(torch.from_numpy(nearest).to(self.device).long(), lists.refusals)

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Local]:
        def lists_of(space: Space) -> Tensor:
            return _nearest(space, self.k, self.device)

        lists, refusals = each_layer(lists_of, layers, preprocess)
        return _prepared_lists(_stacked(lists, missing=-1), refusals)

    def scores(self, x: Prepared[Local], y: Prepared[Local]) -> Scores:
        products = _common_products(x.layers, y.layers)
        return Scores(products / (x.layers.lists.shape[1] * self.k), {})


def _prepared_lists(lists: Tensor, refusals: tuple[str, ...]) -> Prepared[Local]:
    return Prepared(Local(lists, torch.where(lists < 0, torch.nan, 1.0).double()), refusals)


class TorchLocal(_Near):
    """CKNNA as the paper defines it; the values are centered similarities, of length 1 together."""

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Local]:
        parts, refusals = each_layer(self._local, layers, preprocess)
        lists = _stacked([part and part.lists for part in parts], missing=-1)
        values = _stacked([part and part.values for part in parts], missing=torch.nan)
        return Prepared(Local(lists, values), refusals)

    def _local(self, space: Space) -> Local:
        lists = _nearest(space, self.k, self.device)
        wide = torch.from_numpy(space).to(self.device, torch.float64)
        around, rows = wide - wide.mean(dim=0), max(1, BLOCK // len(wide))
        values, squares = [], wide.new_zeros(())
        for some, near in zip(wide.split(rows), lists.split(rows), strict=True):
            similar = some @ around.T
            values.append(similar.gather(1, near))
            squares += similar.square().sum()
        local = torch.cat(values)
        check_length(local.norm().item(), len(wide), squares.sqrt().item())
        return Local(lists, local / local.norm())

    def scores(self, x: Prepared[Local], y: Prepared[Local]) -> Scores:
        return Scores(_common_products(x.layers, y.layers), {})


@dataclass(frozen=True)
class TorchKernels:
    """CKA: layers as centered kernels of length 1, (layers, n, n) in float32."""

    device: torch.device
    center: Callable[[Tensor], Tensor]

    def prepare(
        self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows
    ) -> Prepared[Tensor]:
        kernels, refusals = each_layer(self._kernel, layers, preprocess)
        return Prepared(_stacked(kernels, missing=torch.nan), refusals)

    def _kernel(self, space: Space) -> Tensor:
        wide = torch.from_numpy(space).to(self.device, torch.float64)
        around = wide - wide.mean(dim=0)
        return self.center(around @ around.T).float()

    def scores(self, x: Prepared[Tensor], y: Prepared[Tensor]) -> Scores:
        check_same_stimuli(x.layers.shape[1], y.layers.shape[1])
        rows = max(1, BLOCK // ((len(x.layers) + len(y.layers)) * x.layers.shape[1]))
        tiles = zip(x.layers.split(rows, dim=1), y.layers.split(rows, dim=1), strict=True)
        return Scores(_added(a.flatten(1).double() @ b.flatten(1).double().T for a, b in tiles), {})

    def permuted(self, prepared: Prepared[Tensor], order: Order) -> Prepared[Tensor]:
        places = torch.from_numpy(order).to(prepared.layers.device)
        return Prepared(prepared.layers[:, places][:, :, places], prepared.refusals)


def nearest_on(
    device: torch.device,
    space: Float[np.ndarray, "n d"],
    *,
    k: int,
    report: Callable[[int], None] | None = None,
) -> Int32[np.ndarray, "n k"]:
    """Find neighbors on a device as `core.spaces.neighbors.nearest` does."""
    check_space(space)
    near: np.ndarray = _nearest(space, k, device).int().cpu().numpy()
    if report:
        report(len(space))
    return near


def _nearest(space: Space, k: int, device: torch.device) -> Tensor:
    n = len(space)
    check_k(k, n)
    sides = sides_of(space)
    check_ties(sides, k)
    own, others, order = (
        torch.from_numpy(values).to(device) for values in (*sides, tie_order(sides.own))
    )
    rows, found = max(1, BLOCK // n), []
    for start in range(0, n, rows):
        similar = (own[start : start + rows] @ others.T).float()
        similar.diagonal(start).fill_(-torch.inf)
        bits = (similar + 0).view(torch.int32)  # −0 becomes 0: equal values must have equal bits
        rising = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long()
        # no two keys are equal, so that ties have one order
        keys = rising << 32 | (n - 1 - torch.argsort(order))
        found.append(order[n - 1 - (keys.topk(k, dim=1).values & 0xFFFFFFFF)])
    return torch.cat(found)


def centered(kernel: Tensor) -> Tensor:
    """Return HKH / ‖HKH‖, H = I − 11ᵀ/n."""
    means = kernel.mean(dim=1)
    return _unit(kernel - means[:, None] - means + means.mean(), kernel)


def u_centered(kernel: Tensor) -> Tensor:
    n = len(kernel)
    check_unbiased(n)
    off = kernel.clone().fill_diagonal_(0)
    means = off.sum(dim=1) / (n - 2)
    off += means.sum() / (n - 1) - means[:, None] - means
    return _unit(off.fill_diagonal_(0), kernel)


def _unit(rest: Tensor, kernel: Tensor) -> Tensor:
    length = rest.norm()
    check_length(length.item(), len(kernel), kernel.norm().item())
    unit: Tensor = rest / length
    return unit


def _common_products(x: Local, y: Local) -> Float64[np.ndarray, "Lx Ly"]:
    check_same_stimuli(x.lists.shape[1], y.lists.shape[1])
    n = x.lists.shape[1]
    rows = max(1, BLOCK // ((len(x.lists) + len(y.lists)) * n))
    blocks = zip(*(part.split(rows, dim=1) for part in (*x, *y)), strict=True)
    return _added(
        _scatter(near_x, values_x, n) @ _scatter(near_y, values_y, n).T
        for near_x, values_x, near_y, values_y in blocks
    )


def _scatter(lists: Tensor, values: Tensor, n: int) -> Tensor:
    rows = torch.zeros((*lists.shape[:2], n), dtype=torch.float64, device=lists.device)
    return rows.scatter_(2, lists.clamp(min=0), values).flatten(1)


def _added(products: Iterator[Tensor]) -> Float64[np.ndarray, "Lx Ly"]:
    return reduce(torch.add, products).cpu().numpy()


def _stacked(parts: Sequence[Tensor | None], missing: int | float) -> Tensor:
    like = next(part for part in parts if part is not None)
    return torch.stack([torch.full_like(like, missing) if part is None else part for part in parts])
