"""Kernels of the encoders, of the reference and of the common space, over the same test stimuli."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from core.questions.adapters.lesson import Lesson, Space
from core.questions.adapters.maps import Adapters, Products, compared
from core.questions.adapters.measures import score_views, views_after, views_before
from core.spaces.kernels import order_alike
from core.spaces.preprocess import normalize_rows
from core.study.parts import Measure

SHOWN = 96  # stimuli
REFERENCE, BEFORE, AFTER = "reference", "before", "after"


def kernel_table(
    lesson: Lesson,
    name: str,
    reference: Space,
    measure: Measure,
    adapters: Adapters | None,
    products: Products,
) -> pd.DataFrame:
    """Return a row per kernel and two stimuli: when, what, alignment, x, y (indices), product.

    The kernels are of the reference (name), of the encoders, and of the common space if there are
    adapters: by the mean first, then by each encoder. Their stimuli are in one order, which groups
    what the reference finds similar. alignment: with the reference over all test stimuli, NaN for
    itself.
    """
    test = lesson.parts.test
    truth = compared(reference[test], products)
    similar = normalize_rows(truth[:SHOWN])
    order = order_alike(similar @ similar.T)
    spaces, parts = lesson.spaces, lesson.parts
    shown: dict[str, Mapping[str, np.ndarray]] = {
        REFERENCE: {name: truth},
        BEFORE: views_before(spaces, parts, centered=False, products=products),
    }
    if adapters:
        after = views_after(adapters, spaces, parts)
        shown[AFTER] = {"mean": after.pop("mean"), **after}
    x, y = (side.ravel() for side in np.meshgrid(test[order], test[order], indexing="ij"))
    tables = []
    for when, views in shown.items():
        scores = {} if when == REFERENCE else score_views(views, truth, measure)
        for what, view in views.items():
            product = (view[order] @ view[order].T).ravel()
            named = {"when": when, "what": what, "alignment": scores.get(what, np.nan)}
            tables.append(pd.DataFrame({**named, "x": x, "y": y, "product": product}))
    return pd.concat(tables, ignore_index=True)
