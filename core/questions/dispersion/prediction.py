"""What predicts a value per stimulus: each known property tested by itself.

Image statistics are those of the thumbnails, whose longer side is 224 pixels at most, so that large
and small images compare; only an image's own size is that of the original.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64
from PIL import Image

from core.progress import tell_each
from core.spaces.preprocess import check_k, check_space
from core.statistics.nulls import adjust
from core.stimuli.statistics import describe_captions, describe_images
from core.study.study import Study

LEAST = 10  # stimuli that must have a number, or share a text, for it to be used
K = 10  # neighbors in the consensus
CHUNK = 128  # thumbnails that are held at a time

PerStimulus = Float64[np.ndarray, " n"]


class Association(NamedTuple):
    """How a property of n stimuli is related to a value of theirs.

    spearman: NaN for a text. p: two-sided, NaN if the property or the value does not vary. share:
    of the variance of the value's ranks, at most 1; below 0 if chance would explain more.
    """

    n: int
    spearman: float = np.nan
    test: str = ""
    p: float = np.nan
    share: float = np.nan
    reason: str = ""


def associate(values: pd.Series, target: PerStimulus) -> Association:
    """Test a property against the target over the stimuli that have it.

    A number by Spearman's ρ, its share is 1 − (1 − ρ²)(n − 1) / (n − 2); a text by the test of
    Kruskal and Wallis over its g values (those of fewer than LEAST stimuli are one), its share is
    ε² = (H − g + 1) / (n − g). Source: Spearman 1904; Kruskal, Wallis 1952; Tomczak, Tomczak 2014.
    """
    from scipy import stats  # a third of a second that pages without a test must not pay

    is_number = pd.api.types.is_numeric_dtype(values)
    if is_number:
        values = values.astype(np.float64).replace([np.inf, -np.inf], np.nan)
    present = values.notna().to_numpy()
    known, own, n = values[present], target[present], int(present.sum())
    if n < LEAST:
        return Association(n, reason=f"it is known of {n} stimuli, and at least {LEAST} are needed")
    if is_number:
        if known.nunique() == 1:
            return Association(n, reason="all stimuli of which it is known have the same value")
        if np.ptp(own) == 0:
            return Association(n)
        rho, p = map(float, stats.spearmanr(known, own))
        return Association(n, rho, "Spearman", p, 1 - (1 - rho**2) * (n - 1) / (n - 2))
    classes = ("=" + known.astype(str)).to_numpy(object)  # no value is called "rarer"
    counts = pd.Series(classes).map(pd.Series(classes).value_counts()).to_numpy()
    classes = np.where(counts < LEAST, "rarer", classes)
    groups = [own[classes == each] for each in pd.unique(classes)]
    g = len(groups)
    if g < 2:
        return Association(n, reason=f"no two values occur in {LEAST} stimuli each")
    if np.ptp(own) == 0:
        return Association(n)
    h, p = map(float, stats.kruskal(*groups))
    share = (h - g + 1) / (n - g) if n > g else np.nan
    return Association(n, np.nan, "Kruskal-Wallis", p, share)


def rank_predictors(predictors: Mapping[str, pd.DataFrame], target: PerStimulus) -> pd.DataFrame:
    """Return a row per predictor, the largest share first: kind, predictor, then the fields of
    `Association` and p_adjusted, for the false discovery rate. predictors: tables by kind.
    """
    rows = [
        {"kind": kind, "predictor": str(name), **associate(table[name], target)._asdict()}
        for kind, table in predictors.items()
        for name in table
    ]
    table = pd.DataFrame(rows)
    table = table.assign(p_adjusted=adjust(table["p"].to_numpy()))
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def distance_to_neighbors(consensus: Float64[np.ndarray, "n d"], *, k: int) -> PerStimulus:
    """Return each stimulus's mean Euclidean distance to its k nearest others: small where the space
    is dense.

    0 for a stimulus with k copies. Raises MetricError for k outside 1 … n − 1 and if all stimuli
    are one point. Source: Loftsgaarden, Quesenberry 1965 (density by nearest neighbors).
    """
    from sklearn.neighbors import NearestNeighbors  # a second

    check_space(consensus)
    check_k(k, len(consensus))
    # itself excluded
    distances, _ = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(consensus).kneighbors()
    means: np.ndarray = distances.mean(axis=1)
    return means


def describe_stimuli(study: Study, indices: Int64[np.ndarray, " m"]) -> dict[str, pd.DataFrame]:
    """Return the predictors of some of the dataset's stimuli, all but those that depend on models.

    image: size in pixels and `core.stimuli.statistics`, if there are images; caption: its words,
    characters and rarity among all captions of the default level, if there is one; factor: all that
    the dataset knows.
    """
    name, store = study.dataset.name, study.store
    kinds = {"factor": store.stimuli(name).drop(columns="stimulus").iloc[indices]}
    if study.dataset.levels:
        captions = store.captions(name).query("level == @study.dataset.levels[0]")
        texts = captions.set_index("index")["text"].reindex(range(study.dataset.size))
        described = describe_captions([None if pd.isna(text) else text for text in texts])
        kinds = {"caption": described.iloc[indices], **kinds}
    kinds = {kind: table.reset_index(drop=True) for kind, table in kinds.items()}
    if not study.dataset.has_images:
        return kinds
    parts = []
    for start in tell_each(range(0, len(indices), CHUNK), "batches of images described"):
        held = store.thumbnails(name, indices[start : start + CHUNK].tolist())
        parts.append(describe_images(Image.open(io.BytesIO(webp)) for webp in held))
    images, sizes = pd.concat(parts, ignore_index=True), store.image_sizes(name)
    pixels = np.asarray(sizes["width"] * sizes["height"])[indices]
    return {"image": images.assign(size=pixels), **kinds}
