"""What an alignment owes to the metric: a study's models by every metric, over neighborhoods,
against nulls and over sample sizes.

Every table is kept in the store with its recipe. Kernels of all pairs of stimuli bound the work: of
more than LARGEST stimuli as many are drawn, seeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int64

from core.metrics import METRICS
from core.progress import Progress
from core.questions.metrics.agreement import COMPARED, score_pairs
from core.questions.metrics.calibrated import calibrate_metrics
from core.questions.metrics.neighborhoods import curve_over_k, scores_over_k, spread_ks
from core.questions.metrics.sample_size import fixed_k, fixed_share, size_curve
from core.spaces.preprocess import normalize_rows
from core.statistics.nulls import draw_orders
from core.study.keeping import keep
from core.study.study import Study

LARGEST = 1024
REPEATS = 10
SMALLEST_SAMPLE = 16  # stimuli from which curves over the sample size start
FIXED_K, FIXED_SHARE = "mutual k-NN, k fixed", "mutual k-NN, k/n fixed"


@dataclass(frozen=True)
class Pair:
    """One layer of each of two models, counted from 0."""

    x: str
    layer_x: int
    y: str
    layer_y: int


def sample_sizes(n: int) -> list[int]:
    """Return the numbers of stimuli that metrics are compared on: 128, 256, 512 where there are
    more, and all, at most LARGEST.
    """
    return [size for size in (128, 256, 512) if size < n] + [min(n, LARGEST)]


def compare_metrics(
    study: Study,
    names: Sequence[str],
    *,
    size: int,
    k: int,
    seed: int = 0,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score every pair of models by every metric in their last layers over `size` stimuli; see
    `score_pairs`.
    """
    recipe = study.recipe(
        "metrics", names, layers="last", size=size, k=k, seed=seed, metrics=list(COMPARED)
    )
    return keep(
        study,
        recipe,
        lambda: score_pairs(_last_layers(study, names, size, seed), k=k, report=report),
    )


def compare_neighborhoods(
    study: Study,
    x: Sequence[str],
    y: Sequence[str],
    *,
    seed: int = 0,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Score the last layers of x's models against those of y's from k = 2 to n − 1; see
    `scores_over_k`.
    """
    size = min(study.size, LARGEST)
    recipe = study.recipe(
        "neighborhoods", [*x, *y], x=list(x), y=list(y), layers="last", size=size, seed=seed
    )

    def score() -> pd.DataFrame:
        left, right = (_last_layers(study, names, size, seed) for names in (x, y))
        return scores_over_k(left, right, ks=spread_ks(size, count=8), report=report)

    return keep(study, recipe, score)


def sweep_neighborhood(
    study: Study, pair: Pair, *, seed: int = 0, report: Progress | None = None
) -> pd.DataFrame:
    """Score one pair of layers from k = 2 to n − 1 beside its chance; see `curve_over_k`."""
    size = min(study.size, LARGEST)
    recipe = study.recipe("neighborhood", [pair.x, pair.y], **vars(pair), size=size, seed=seed)
    return keep(
        study,
        recipe,
        lambda: curve_over_k(
            *_layers(study, pair, seed), ks=spread_ks(size), seed=seed, report=report
        ),
    )


def calibrate_pair(
    study: Study, pair: Pair, *, k: int, null: int, seed: int = 0, report: Progress | None = None
) -> pd.DataFrame:
    """Calibrate every metric on one pair of layers; see `calibrate_metrics`."""
    recipe = study.recipe(
        "calibrated-metrics",
        [pair.x, pair.y],
        **vars(pair),
        size=min(study.size, LARGEST),
        k=k,
        null=null,
        seed=seed,
        metrics=list(COMPARED),
    )
    return keep(
        study,
        recipe,
        lambda: calibrate_metrics(
            *_layers(study, pair, seed), k=k, count=null, seed=seed, report=report
        ),
    )


def grow_sample(
    study: Study, pair: Pair, *, k: int, seed: int = 0, report: Progress | None = None
) -> pd.DataFrame:
    """Score one pair of layers over ever more stimuli, by mutual kNN at fixed k and at fixed k/n,
    by CKA and by unbiased CKA.

    Returns a row per curve and size: curve, metric, k (NaN for CKA) and the other columns of
    `size_curve`. The share is that of k among all n stimuli, so that the two curves of mutual kNN
    meet at n.
    """
    size = min(study.size, LARGEST)
    recipe = study.recipe(
        "sample-size", [pair.x, pair.y], **vars(pair), size=size, k=k, seed=seed, repeats=REPEATS
    )

    def grow() -> pd.DataFrame:
        x, y = (normalize_rows(layer) for layer in _layers(study, pair, seed))
        return _grown(x, y, k=k, seed=seed, report=report)

    return keep(study, recipe, grow)


def _grown(
    x: np.ndarray, y: np.ndarray, *, k: int, seed: int, report: Progress | None
) -> pd.DataFrame:
    sizes, share = growing(len(x)), k / len(x)
    shared = [
        size for size in sizes if share * size >= 1 and round(share * size) < size
    ]  # else no neighbor, or all of them
    curves = {  # metric, parameters, sizes
        FIXED_K: ("mutual_knn", fixed_k(k), [size for size in sizes if size > k]),
        FIXED_SHARE: ("mutual_knn", fixed_share(share), shared),
        "CKA": ("cka", lambda _: {}, sizes),
        "unbiased CKA": ("unbiased_cka", lambda _: {}, sizes),
    }
    found = []
    for done, (curve, (metric, parameters, few)) in enumerate(curves.items(), start=1):
        table = size_curve(
            METRICS[metric], x, y, sizes=few, parameters=parameters, seed=seed, repeats=REPEATS
        )
        found.append(table.assign(curve=curve, metric=metric))
        if report:
            report(done, len(curves), "curves over the number of stimuli")
    return pd.concat(found, ignore_index=True)


def growing(n: int) -> list[int]:
    """Return n and its halves, quarters … down to SMALLEST_SAMPLE, rising."""
    halvings = range(max(0, int(np.log2(n / SMALLEST_SAMPLE))) + 1)
    return sorted(n >> halving for halving in halvings)


def _sample(study: Study, size: int, seed: int) -> Int64[np.ndarray, " size"]:
    """Draw stimuli; with one seed the smaller sample lies within the larger."""
    return np.sort(draw_orders(study.size, count=1, seed=seed)[0, :size])


def _last_layers(
    study: Study, names: Sequence[str], size: int, seed: int
) -> dict[str, Float32[np.ndarray, "size _"]]:
    rows = _sample(study, size, seed)
    return {name: study.spaces(name)[-1][rows] for name in names}


def _layers(
    study: Study, pair: Pair, seed: int
) -> tuple[Float32[np.ndarray, "size dx"], Float32[np.ndarray, "size dy"]]:
    rows = _sample(study, min(study.size, LARGEST), seed)
    return study.spaces(pair.x)[pair.layer_x][rows], study.spaces(pair.y)[pair.layer_y][rows]
