"""Each stimulus's distance to the consensus, in one model and over models, and what predicts it.

Image statistics are those of the thumbnails, whose longer side is 224 pixels at most, so that large
and small images compare; only an image's own size is that of the original. Source: the
single-stimulus dispersion method (Generalized Procrustes), equations 1 and 2, and its supplements.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64, Int64
from PIL import Image

from core.errors import MetricError
from core.pairs.prepared import one_core_each
from core.progress import tell_each
from core.spaces.kernels import ROUNDING
from core.spaces.preprocess import check_k, check_space
from core.statistics.correlations import correlate_rows
from core.statistics.nulls import adjust, draw_orders
from core.statistics.procrustes import Consensus, Space, generalized_procrustes, turn
from core.stimuli.statistics import describe_captions, describe_images
from core.study.spaces import Layer
from core.study.study import Study

SHUFFLES = 199  # of a space left out: p is 0.005 or more

Residuals = Float64[np.ndarray, "n M"]
PerStimulus = Float64[np.ndarray, " n"]


class HeldOut(NamedTuple):
    """Each space next to the consensus of the others, a column per space left out.

    dispersion: the mean residual of the others in their own consensus. deviation: the residual of
    the space left out, turned onto that consensus. shuffled: Pearson's r of both with the stimuli
    of the space left out in a random order and turned again.
    """

    dispersion: Residuals
    deviation: Residuals
    shuffled: Float64[np.ndarray, "shuffles M"]


def residuals(consensus: Consensus) -> Residuals:
    """Return the distance of every stimulus to the consensus in each space: rᵢⱼ = ‖(NᵢTᵢ)ⱼ − Cⱼ‖.

    Spaces have Frobenius norm 1, so √n times a residual is in units of a typical stimulus's
    distance from the mean. Lower is more agreement; copies of one stimulus have equal residuals.
    """
    return np.stack(
        [np.linalg.norm(turned - consensus.joint, axis=1) for turned in consensus.turned], axis=1
    )


def leave_one_out(
    spaces: Sequence[Space],
    *,
    centering: str = "features",
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> HeldOut:
    """Compare each space with the consensus of the others alone.

    The shuffles give what both have in common only since both contain the distance from the mean.
    Raises MetricError for fewer than three spaces, and as `generalized_procrustes`.
    """
    if len(spaces) < 3:
        raise MetricError(
            f"a consensus of the others needs at least three spaces; got {len(spaces)}: add a model"
        )
    orders = draw_orders(len(spaces[0]), count=shuffles, seed=seed)
    each = []
    for left_out in tell_each(range(len(spaces)), "spaces left out of the consensus"):
        weights = np.ones(len(spaces))
        weights[left_out] = 0
        others = generalized_procrustes(spaces, centering=centering, weights=weights.tolist())
        joint, own, apart = others.joint, others.turned[left_out], residuals(others)
        dispersion = np.delete(apart, left_out, axis=1).mean(axis=1)

        def deviation(
            order: np.ndarray, own: np.ndarray = own, joint: np.ndarray = joint
        ) -> PerStimulus:
            distances: np.ndarray = np.linalg.norm(turn(own[order], onto=joint) - joint, axis=1)
            return distances

        with one_core_each() as pool:
            shuffled = correlate_rows(dispersion[None], np.stack(list(pool.map(deviation, orders))))
        each.append((dispersion, apart[:, left_out], shuffled))
    return HeldOut(*(np.stack(columns, axis=1) for columns in zip(*each, strict=True)))


def tail(value: float, null: Float64[np.ndarray, " draws"]) -> float:
    """Return the one-sided p-value of a value among draws, (1 + #{as large}) / (draws + 1); NaN
    if one is not known.
    """
    if np.isnan(value) or np.isnan(null).any():
        return np.nan
    return float((1 + np.count_nonzero(null >= value)) / (len(null) + 1))


def summarize(residuals: Residuals) -> pd.DataFrame:
    """Summarize each stimulus's residuals over models, a row per stimulus.

    mean; pc1: the score on the first principal axis of the residuals around each model's own mean,
    its sign such that it grows with the mean; explained: that axis's share of the variance. pc1 and
    explained are NaN if the residuals are rounding, or the same for all stimuli.
    """
    mean = residuals.mean(axis=1)
    left, sizes, _ = np.linalg.svd(residuals - residuals.mean(axis=0), full_matrices=False)
    pc1, explained = np.full(len(residuals), np.nan), np.nan
    # spaces have norm 1
    if np.linalg.norm(residuals) > np.sqrt(residuals.shape[1]) * ROUNDING and sizes[0] > 0:
        scores = left[:, 0] * sizes[0]
        pc1 = scores * (1 if scores @ (mean - mean.mean()) >= 0 else -1)
        explained = float(sizes[0] ** 2 / (sizes**2).sum())
    return pd.DataFrame({"mean": mean, "pc1": pc1, "explained": explained})


def relate(x: PerStimulus, y: PerStimulus) -> dict[str, float]:
    """Correlate two values of the same stimuli, and fit y = slope · x + intercept.

    The interval of Pearson's r is Fisher's, at 95%, over stimuli. Raises MetricError for fewer than
    four stimuli and if either value is the same everywhere.
    """
    from scipy.stats import linregress, pearsonr, spearmanr

    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        raise MetricError(
            f"a correlation needs at least four stimuli whose values differ; got {len(x)} stimuli"
        )
    linear, line = pearsonr(x, y), linregress(x, y)
    low, high = linear.confidence_interval(0.95)
    return {
        "n": len(x),
        "pearson": float(linear.statistic),
        "pearson_low": float(low),
        "pearson_high": float(high),
        "spearman": float(spearmanr(x, y).statistic),
        "slope": float(line.slope),
        "intercept": float(line.intercept),
    }


def read(study: Study, places: Sequence[Layer]) -> list[Float32[np.ndarray, "n _"]]:
    """Read spaces, not normalized; raises MetricError that names the one that is degenerate."""
    layers = {
        model: study.spaces(model) for model in dict.fromkeys(place.model for place in places)
    }
    for place in places:
        try:
            check_space(layers[place.model][place.layer])
        except MetricError as error:
            raise MetricError(f"{place}: {error}") from error
    return [layers[place.model][place.layer] for place in places]


LEAST = 10  # stimuli that must have a number, or share a text, for it to be used
K = 10  # neighbors in the consensus
CHUNK = 128  # thumbnails that are held at a time


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
