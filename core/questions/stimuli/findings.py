"""What the dispersion of stimuli says in plain sentences, and which factor goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from core.figures.numbers import p_text, share_text

LEVEL = 0.05  # of p: at most this is beyond chance
LEAST = 20  # stimuli, and known values of a factor
FEWEST = 5  # stimuli with a value, for the value to count
MOST_VALUES = 24  # of a factor whose order counts no more than any other
CAVEAT = "A factor that goes with dispersion need not be its cause."


class Link(NamedTuple):
    """How a factor goes with a value per stimulus.

    n: stimuli that have both. share: of the variance of its ranks, 0 … 1; below 0 where chance
    would explain more. p: of no link at all, before correction.
    """

    factor: str
    n: int
    share: float
    p: float


def spread_of(values: pd.Series, factors: pd.DataFrame) -> list[str]:
    """Say how far apart the most and the least dispersed stimuli are, and which factor goes with
    that most.

    values: the dispersion of each stimulus. factors: a column each, with the same index.
    """
    n = len(values)
    if n < LEAST:
        return [f"With {n} stimuli, fewer than {LEAST}, nothing is said about which ones differ."]
    ranked = np.sort(values.to_numpy())
    tenth = n // 10
    low, high = float(ranked[:tenth].mean()), float(ranked[-tenth:].mean())
    times = f"{high / low:.1f} times as far as" if low > 0 else "beside"
    extent = (
        f"Models lie {high:.3g} from their consensus on the tenth of the stimuli they agree on"
        f" least, {times} on the tenth they agree on most ({low:.3g}; n = {n:,})."
    )
    return [extent, *_strongest(list(link_factors(values, factors)))]


def _strongest(links: list[Link]) -> list[str]:
    """Say which of the factors beyond chance explains most; p is corrected for how many there are
    (Bonferroni).
    """
    if not links:
        return []
    beyond = [link for link in links if link.p * len(links) <= LEVEL]
    if not beyond:
        p = min(1.0, min(link.p for link in links) * len(links))
        return [f"None of {len(links)} factors goes with it beyond chance ({p_text(p)})."]
    best = max(beyond, key=lambda link: link.share)
    p, name = best.p * len(links), best.factor.replace("_", " ")
    share = f"{share_text(best.share)} of the variance of its ranks, n = {best.n:,}, {p_text(p)}"
    return [f"Of {len(links)} factors, {name} goes with it most ({share}). {CAVEAT}"]


def link_factors(values: pd.Series, factors: pd.DataFrame) -> Iterator[Link]:
    """Compare a value per stimulus with every factor that can be compared.

    A number with more than MOST_VALUES values: Spearman's ρ², 1 − (1 − ρ²)(n − 1) / (n − 2) of it,
    and its p. Any other: Kruskal and Wallis's H over values with FEWEST stimuli or more, ε² =
    (H − g + 1) / (n − g) for g values, and p by χ². Source: Tomczak, Tomczak 2014.
    """
    from scipy.stats import kruskal, spearmanr  # a third of a second

    for name in factors:
        factor = factors[name].dropna()
        if len(factor) < LEAST or values[factor.index].nunique() < 2:
            continue
        if pd.api.types.is_numeric_dtype(factor) and factor.nunique() > MOST_VALUES:
            rho, p = spearmanr(factor, values[factor.index])
            n = len(factor)
            yield Link(str(name), n, float(1 - (1 - rho**2) * (n - 1) / (n - 2)), float(p))
            continue
        groups = [
            group for _, group in values[factor.index].groupby(factor) if len(group) >= FEWEST
        ]
        if 2 <= len(groups) <= MOST_VALUES:
            h, p = kruskal(*groups)
            n, g = sum(map(len, groups)), len(groups)
            yield Link(str(name), n, float((h - g + 1) / (n - g)), float(p))
