"""What the tables of adapters say beside their verdict, in a sentence each: the baselines, and what
fewer pairs do.
"""

from __future__ import annotations

from math import isnan

import pandas as pd

from core.questions.adapters.measures import ADAPTERS, ALIGNMENT, CHANCE, MEAN, PAIRS, RECALL


def tell_baselines(found: pd.DataFrame) -> str:
    """Say whether any method that needs no training retrieves better than the adapters, by recall
    at 10 over all directions.

    found: as `core.questions.adapters.measures.summarize` gives it, of one number of pairs.
    """
    recalls = (
        _recalls(found).groupby("method", sort=False)["value"].mean().round(3)
    )  # compared as they are printed
    adapters, chance, others = (
        recalls[ADAPTERS],
        recalls[CHANCE],
        recalls.drop([ADAPTERS, CHANCE]).dropna(),
    )
    if isnan(adapters):
        return "The adapters' retrieval cannot be measured."
    said = (
        f"By recall at 10, mean over the directions, the adapters reach {adapters:.3f} (chance"
        f" {chance:.3f})"
    )
    if others.empty:
        return f"{said}; no baseline can be compared."
    best = others.max()
    beside = "more than" if adapters > best else "less than" if adapters < best else "as much as"
    return f"{said}, {beside} the best method without training, {others.idxmax()}, with {best:.3f}."


def tell_cost(found: pd.DataFrame) -> str:
    """Say what the fewest and the most training pairs reach; found: of several numbers of pairs."""
    few, most = found[PAIRS].min(), found[PAIRS].max()
    chosen = (
        (found["measure"] == ALIGNMENT) & (found["method"] == ADAPTERS) & (found["what"] == MEAN)
    )
    align = found[chosen].set_index(PAIRS)["value"]
    recalls = _recalls(found[found["method"] == ADAPTERS]).groupby(PAIRS)["value"].mean()
    said = [
        f"{name} goes from {values[few]:.3f} to {values[most]:.3f}"
        for name, values in (("alignment of the mean", align), ("recall at 10", recalls))
        if not isnan(values[few] + values[most])
    ]
    return f"From {few:,} to {most:,} pairs {', '.join(said) or 'nothing can be compared'}."


def _recalls(found: pd.DataFrame) -> pd.DataFrame:
    return found[found["measure"] == f"{RECALL}_10"]
