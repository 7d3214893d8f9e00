"""Kernels of the encoders, of the reference and of the common space, over the same test stimuli."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64

from core.errors import MetricError
from core.questions.adapters.lesson import Lesson, Space
from core.questions.adapters.maps.model import Adapters, compared
from core.questions.adapters.measures import score_views, views_after, views_before
from core.questions.adapters.parts import Products
from core.spaces.preprocess import normalize_rows
from core.study.parts import Measure

SHOWN = 96  # stimuli
FEWEST = 2  # stimuli
REFERENCE, BEFORE, AFTER = "reference", "before", "after"


class Kernel(NamedTuple):
    """The cosines of some stimuli in one space, or their inner products where those are compared.

    when: REFERENCE, BEFORE or AFTER training. what: the space, or `mean` of all. alignment: with
    the reference over all test stimuli, NaN for itself.
    """

    when: str
    what: str
    alignment: float
    products: Float[np.ndarray, "n n"]


class Compared(NamedTuple):
    """Kernels over the same stimuli, in one order that puts together what is alike for the
    reference.
    """

    stimuli: Int64[np.ndarray, " n"]
    kernels: list[Kernel]


def compare_kernels(
    lesson: Lesson,
    name: str,
    reference: Space,
    measure: Measure,
    adapters: Adapters | None,
    *,
    products: Products = "cosine",
) -> Compared:
    """Return the kernels of the reference, of the encoders, and of what adapters make of them: by
    the mean first, then by each.

    name: of the reference. adapters: None before any training.
    """
    parts = lesson.parts
    truth = compared(reference[parts.test], products)
    likeness = normalize_rows(truth[:SHOWN])
    order = order_alike(likeness @ likeness.T)
    kernels = [Kernel(REFERENCE, name, np.nan, _products(truth, order))]
    before = views_before(lesson.spaces, parts, centered=False, products=products)
    kernels += _kernels(BEFORE, before, score_views(before, truth, measure), order)
    if adapters:
        after = views_after(adapters, lesson.spaces, parts)
        after = {"mean": after.pop("mean"), **after}
        kernels += _kernels(AFTER, after, score_views(after, truth, measure), order)
    return Compared(parts.test[order], kernels)


def tabulate(compared: Compared) -> pd.DataFrame:
    """Return a row per kernel and two stimuli: when, what, alignment, x, y (indices), product."""
    x, y = (side.ravel() for side in np.meshgrid(compared.stimuli, compared.stimuli, indexing="ij"))
    tables = [
        pd.DataFrame(
            {
                "when": one.when,
                "what": one.what,
                "alignment": one.alignment,
                "x": x,
                "y": y,
                "product": one.products.ravel(),
            }
        )
        for one in compared.kernels
    ]
    return pd.concat(tables, ignore_index=True)


def _kernels(
    when: str,
    views: dict[str, np.ndarray],
    scores: dict[str, float],
    order: Sequence[int] | np.ndarray,
) -> list[Kernel]:
    return [
        Kernel(when, what, scores[what], _products(view, order)) for what, view in views.items()
    ]


def _products(view: np.ndarray, order: Sequence[int] | np.ndarray) -> np.ndarray:
    products: np.ndarray = view[order] @ view[order].T
    return products


def order_alike(kernel: Float[np.ndarray, "n n"]) -> Int64[np.ndarray, "n"]:
    """Return an order of stimuli in which those alike by a kernel of cosines stand together: the
    leaves of a tree.

    Average linkage of 1 − cosine, its leaves turned so that neighbors are as alike as they can be.
    Raises MetricError for fewer than two stimuli. Source: Sokal, Michener 1958; Bar-Joseph,
    Gifford, Jaakkola 2001 (order).
    """
    if len(kernel) < FEWEST:
        raise MetricError(f"an order needs at least {FEWEST} stimuli; got {len(kernel)}")
    from scipy.cluster import hierarchy  # a third of a second
    from scipy.spatial import distance

    apart = np.clip(1 - (kernel + kernel.T) / 2, 0, None)
    np.fill_diagonal(apart, 0)
    condensed = distance.squareform(apart, checks=False)
    tree = hierarchy.linkage(condensed, method="average", optimal_ordering=True)
    return hierarchy.leaves_list(tree).astype(np.int64)
