"""`python -m tests.benchmarks.coverage`: how often an alignment's 95% interval holds what it is to
cover, and how wide it is.

Stimuli are drawn from a world again and again. What is to be covered is the mean score of so many
stimuli; the ideal width is 2 · 1.96 times the standard deviation of their scores. Models see the
stimuli through fixed weights, each with noise of its own: as factors, as clusters, both, or
unrelated.

    --metric mutual_knn   jaccard_knn, cka or unbiased_cka
    --n 256 1024          stimuli
    --k 5 10 20 50        neighbors, for metrics that compare them
    --worlds NAME …       some of the worlds
    --draws 200           of the stimuli, an interval each
    --halves 100          pairs of halves, or halves, for each interval
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from core.metrics import METRICS
from core.metrics.spec import Metric
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows
from core.statistics.intervals import (
    depth_for_halves,
    draw_halves,
    half_interval,
    neighbor_interval,
)

DIMS = 16

Pair = tuple[np.ndarray, np.ndarray]
World = Callable[[np.random.Generator, int], Pair]


def weights(seed: int, rows: int, dims: int = DIMS) -> list[np.ndarray]:
    """Return the weights through which two models see."""
    return list(np.random.default_rng(seed).standard_normal((2, rows, dims)))


def unrelated(rng: np.random.Generator, n: int) -> Pair:
    x, y = rng.standard_normal((2, n, DIMS))
    return x, y


def factors(count: int, dims: int, noise: float, *, tails: float = np.inf) -> World:
    """Return a world of normal factors, or of t-distributed ones with so many degrees of
    freedom.
    """
    seen = weights(0, count, dims)

    def draw(rng: np.random.Generator, n: int) -> Pair:
        heavy = np.sqrt(tails / rng.chisquare(tails, (n, 1))) if np.isfinite(tails) else 1.0
        z = heavy * rng.standard_normal((n, count)) / np.sqrt(count)
        x, y = (z @ each + noise * rng.standard_normal((n, dims)) for each in seen)
        return x, y

    return draw


def clusters(count: int, noise: float, *, moved: float = 0.0, uneven: float = 0.0) -> World:
    """Return a world of clusters, within which stimuli vary in common and by noise.

    moved: share of the stimuli that one model sees in another cluster. uneven: cluster i is as
    likely as i to minus so much.
    """
    centers, seen = weights(1, count), weights(2, 4)
    likely = np.arange(1, count + 1.0) ** -uneven
    likely /= likely.sum()

    def draw(rng: np.random.Generator, n: int) -> Pair:
        one, other = (rng.choice(count, n, p=likely) for _ in range(2))
        two = np.where(rng.random(n) < moved, other, one)
        z = rng.standard_normal((n, 4))
        x, y = (
            center[members] + 0.15 * z @ each + noise * rng.standard_normal((n, DIMS))
            for center, members, each in zip(centers, (one, two), seen, strict=True)
        )
        return x, y

    return draw


WORLDS: Mapping[str, World] = {
    "unrelated": unrelated,
    "3 factors, much noise": factors(3, 6, 1.0),
    "6 factors, little noise": factors(6, 12, 0.1),
    "16 factors": factors(16, 64, 0.5),
    "heavy-tailed factors": factors(3, 12, 0.3, tails=3),
    "10 clusters": clusters(10, 0.1),
    "10 clusters, loose": clusters(10, 0.5),
    "40 clusters": clusters(40, 0.1),
    "10 clusters, moved": clusters(10, 0.1, moved=0.4),
    "20 clusters, uneven": clusters(20, 0.2, uneven=1.0),
}


def main(given: argparse.Namespace) -> None:
    """Print coverage and width for each world, number of stimuli and k."""
    metric = METRICS[given.metric]
    ks = given.k if metric.share else [0]
    print(f"{given.metric}, {given.draws} draws, {given.halves} pairs of halves")
    print(f"{'world':26}{'n':>6}{'k':>4}{'score':>8}{'coverage':>10}{'width':>7}")
    found = []
    for name, n in product(given.worlds or WORLDS, given.n):
        drawn = simulate(metric, WORLDS[name], n, ks, draws=given.draws, halves=given.halves)
        for k, scores, intervals in drawn:
            found.append(judge(scores, intervals))
            case = f"{name:26}{n:6}{k or '':>4}{scores.mean():8.3f}"
            print(f"{case}{found[-1][0]:10.3f}{found[-1][1]:7.2f}", flush=True)
    (low, narrow), (high, wide) = np.min(found, axis=0), np.max(found, axis=0)
    middle = np.mean(found, axis=0)
    print(f"coverage {low:.3f} to {high:.3f}, in the mean {middle[0]:.3f}")
    print(f"width {narrow:.2f} to {wide:.2f} of the ideal, in the mean {middle[1]:.2f}")


def simulate(
    metric: Metric, world: World, n: int, ks: Sequence[int], *, draws: int, halves: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each k with the scores and the intervals of so many draws of n stimuli."""
    rng = np.random.default_rng(n)
    drawn = [list(measure(metric, world(rng, n), ks, halves)) for _ in range(draws)]
    for k, pairs in zip(ks, zip(*drawn, strict=True), strict=True):
        scores, intervals = zip(*pairs, strict=True)
        yield k, np.array(scores), np.array(intervals)


def measure(
    metric: Metric, pair: Pair, ks: Sequence[int], halves: int
) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the score and its interval for each k."""
    x, y = (normalize_rows(space) for space in pair)
    if metric.share is None:
        score, drawn = metric(x, y), draw_halves(len(x), count=halves, seed=0)
        yield score, half_interval(score, metric.halves(x, y, drawn), spec=metric.spec)
        return
    a, b = (nearest(space, k=depth_for_halves(max(ks), len(x))) for space in (x, y))
    for k in ks:
        interval = neighbor_interval(a, b, k=k, share=metric.share, count=halves, seed=0)
        yield float(interval.mean()), interval


def judge(scores: np.ndarray, intervals: np.ndarray) -> tuple[float, float]:
    """Return how often intervals hold the mean score, and their width in units of the ideal."""
    low, high = intervals.T
    covered = (low <= scores.mean()) & (scores.mean() <= high)
    return float(covered.mean()), float((high - low).mean() / (2 * 1.96 * scores.std(ddof=1)))


def read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metric", default="mutual_knn")
    parser.add_argument("--n", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 20, 50])
    parser.add_argument("--worlds", nargs="+", default=[], choices=WORLDS)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--halves", type=int, default=100)
    return parser.parse_args()


if __name__ == "__main__":
    main(read())
