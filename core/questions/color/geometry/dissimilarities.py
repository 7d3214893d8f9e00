"""How unlike colors are by one source: what all of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Integer
from scipy.spatial import distance

from core.errors import FeatureError, MetricError
from core.questions.color.geometry.cooccurrence import dissimilarity, often, pmi
from core.questions.color.geometry.words import LAB


@dataclass(frozen=True)
class Dissimilarities:
    """Colors, where they lie in CIELAB, how often they were seen (NaN where nothing is counted),
    and how unlike each two are.
    """

    colors: tuple[str, ...]
    lab: Float64[np.ndarray, "n 3"]
    seen: Float64[np.ndarray, " n"]
    matrix: Float64[np.ndarray, "n n"]

    def of(self, colors: Sequence[str]) -> Dissimilarities:
        """Return those of some of the colors, in their order; the dissimilarities stay as they
        are.
        """
        rows = np.array([self.colors.index(color) for color in colors], np.int64)
        return Dissimilarities(
            tuple(colors), self.lab[rows], self.seen[rows], self.matrix[np.ix_(rows, rows)]
        )


def from_counts(
    counts: Integer[np.ndarray, "n n"],
    colors: Sequence[str],
    lab: Float64[np.ndarray, "n 3"],
    *,
    least: int,
    most: int,
    smoothing: float,
) -> Dissimilarities:
    """Return max PMI − PMI of the colors that were seen at least `least` times, of those the `most`
    that were seen most often.

    Raises MetricError where fewer than two were, and as
    `core.questions.color.geometry.cooccurrence.pmi`.
    """
    kept = often(counts, least=least, most=most)
    table = counts[np.ix_(kept, kept)]
    if len(kept) < 2 or not table.any(axis=1).all():
        raise MetricError(
            f"{len(kept)} colors were seen {least} times or more; count more pairs, or ask for"
            " fewer"
        )
    matrix = dissimilarity(pmi(table, smoothing=smoothing))
    seen = counts.sum(axis=1)[kept].astype(np.float64)
    return Dissimilarities(tuple(colors[place] for place in kept), lab[kept], seen, matrix)


def common(
    sources: Sequence[Dissimilarities], words: Sequence[str] | None = None
) -> list[Dissimilarities]:
    """Return all sources over the colors that each of them has, of `words` where given, in the
    first one's order.

    Raises MetricError where they have none in common.
    """
    shared = [
        color
        for color in sources[0].colors
        if all(color in one.colors for one in sources) and (not words or color in words)
    ]
    if not shared:
        raise MetricError(
            "these sources have no color in common; compare sources that count the same words"
        )
    return [one.of(shared) for one in sources]


def from_vectors(vectors: Float[np.ndarray, "n d"], words: pd.DataFrame) -> Dissimilarities:
    """Return the Euclidean distances of vectors, one for each row of `color_words`; raises
    FeatureError where they are not finite.
    """
    if not np.isfinite(vectors).all():
        raise FeatureError(
            "vectors of color words must be finite; got NaN or infinity: choose another layer"
        )
    lab = words[LAB].to_numpy(np.float64)
    distances = distance.squareform(distance.pdist(vectors.astype(np.float64)))
    return Dissimilarities(tuple(words["word"]), lab, np.full(len(lab), np.nan), distances)
