"""One interface over all metrics for all layer pairs: make each model ready once, then compare any
two.

    engine = make_engine("cka")
    x, y = engine.prepare(layers_x), engine.prepare(layers_y)
    engine.scores(x, y)                                      # (Lx, Ly)
    engine.scores(x, engine.permuted(y, order))              # the stimuli of y reordered, nothing
    made anew
    make_engine("cka", device="cuda")                        # the same on a GPU

What `prepare` returns belongs to its engine; of neighbor metrics it is the lists themselves, so
that cached ones can be given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Integer

from core.errors import DeviceError, MetricError, UnknownNameError
from core.metrics import METRICS
from core.metrics.cknna import compare_masked, local_kernel
from core.metrics.kernels import centered, linear, rbf, u_centered
from core.metrics.knn import cycle_terms, jaccard_terms
from core.metrics.knn_order import edit_terms, subsequence_terms
from core.metrics.rankings import dissimilarities
from core.metrics.shapes import angle, overlap, shape
from core.metrics.subspaces import leading_basis, mean_correlation, weighted_correlation
from core.pairs.layers import Preprocess, Space
from core.pairs.lists import NeighborLists, mean_terms
from core.pairs.local import CenteredLocal
from core.pairs.overlap import overlaps
from core.pairs.parts import (
    EachPair,
    Predictions,
    basis_of,
    reorder_basis,
    reorder_both,
    reorder_rows,
)
from core.pairs.rows import PairRows, triangle
from core.settings import choose_device
from core.spaces.bases import center, span
from core.spaces.preprocess import normalize_rows


@runtime_checkable
class Engine(Protocol):
    """One metric with its parameters, over all layer pairs of two models."""

    def prepare(self, layers: Sequence[Space], *, preprocess: Preprocess = normalize_rows) -> Any:
        """Preprocess each layer of a model and make it ready to be compared.

        layers: (n, d) each, clamped already; widths may differ. A layer that preprocessing or the
        metric refuses has no scores. Raises MetricError where every layer is refused, with the
        first reason.
        """

    def scores(self, x: Any, y: Any) -> Float64[np.ndarray, "Lx Ly"]:
        """Compare each layer of x with each layer of y: the metric of every pair, NaN where it
        refuses one.

        Threads, tiles and whatever else is compared change no more than the last bits of float64,
        and of counts nothing. Raises MetricError for other stimuli.
        """

    def permuted(self, prepared: Any, order: Integer[np.ndarray, "n"]) -> Any:
        """Give stimulus i all that stimulus order[i] has, as if the layers' rows had been reordered
        before `prepare`.
        """


def make_engine(metric: str, *, device: str | None = None, **parameters: Any) -> Engine:
    """Return the engine of a metric; parameters that are not given have the metric's defaults.

    device: "cpu" or "cuda" for torch, which has the most used metrics; None for numpy, which has
    all. Raises UnknownNameError for the metric, MetricError for a parameter that it does not take
    and for one that torch does not have, DeviceError for a device that is not there or has no
    float64.
    """
    if metric not in ENGINES:
        raise UnknownNameError("metric", metric, ENGINES)
    complete = METRICS[metric].complete(parameters)
    if device is None:
        return ENGINES[metric](**complete)
    from core.pairs.on_torch import ON_TORCH  # seconds that numpy alone must not pay

    if metric not in ON_TORCH:
        raise MetricError(
            f"on a device there are {', '.join(ON_TORCH)}; for {metric} name no device"
        )
    place = choose_device(device)
    if place.type == "mps":
        raise DeviceError(
            "metrics need float64, which mps does not have; name cuda, cpu or no device"
        )
    return ON_TORCH[metric](place, **complete)


def _terms(terms: Callable[..., np.ndarray]) -> Callable[..., Engine]:
    return partial(NeighborLists, partial(mean_terms, terms))


def _cknna(*, k: int, variant: str) -> Engine:
    if variant == "paper":
        return CenteredLocal(k)
    return EachPair(partial(local_kernel, k=k, variant=variant), compare_masked, reorder_both)


def _svcca(*, rank: int) -> Engine:
    return EachPair(partial(leading_basis, rank=rank), mean_correlation, reorder_basis)


ENGINES: dict[str, Callable[..., Engine]] = {
    "mutual_knn": partial(NeighborLists, overlaps),
    "jaccard_knn": _terms(jaccard_terms),
    "cycle_knn": _terms(cycle_terms),
    "lcs_knn": _terms(subsequence_terms),
    "edit_distance_knn": _terms(edit_terms),
    "cka": lambda: PairRows(lambda space: triangle(centered(linear(space)), diagonal=True)),
    "unbiased_cka": lambda: PairRows(
        lambda space: triangle(u_centered(linear(space)), diagonal=False)
    ),
    "rbf_cka": lambda **width: PairRows(
        lambda space: triangle(centered(rbf(space, **width)), diagonal=True)
    ),
    "rsa": lambda correlation: PairRows(partial(dissimilarities, correlation=correlation)),
    "cknna": _cknna,
    "svcca": _svcca,
    "pwcca": lambda: EachPair(
        lambda space: span(center(space)), weighted_correlation, reorder_basis
    ),
    "mean_cca": lambda: EachPair(basis_of, mean_correlation, reorder_basis),
    "procrustes": lambda: EachPair(lambda space: shape(basis_of(space)), overlap, reorder_rows),
    "shape_angle": lambda: EachPair(lambda space: shape(basis_of(space)), angle, reorder_rows),
    "linear_predictivity": Predictions,
}
