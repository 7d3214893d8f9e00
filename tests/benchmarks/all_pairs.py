"""How long all layer pairs of a study take, next to a direct implementation that starts again for
every pair.

    python -m tests.benchmarks.all_pairs [--scale 0.1]

The study has the size of the published one: 17 vision models of 25 layers and 12 language models of
33, n = 1,024 stimuli, widths 384 to 4,096, random features. Features are made again wherever they
are needed, and making them is not timed. The direct implementation normalizes both spaces, takes
full Gram matrices, sorts whole rows and evaluates the formula; its time for the study is that of a
few real calls on pairs drawn at random, times the number of pairs.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.metrics.catalog import make_engine
from core.pairs.engine import Engine
from core.study.study import KEPT

STIMULI = 1024
VISION_WIDTHS = (
    *(384, 384, 512, 768, 768, 768, 768, 1024, 1024, 1024, 1024, 1152, 1280, 1280, 1408),
    *(1536, 1536),
)
LANGUAGE_WIDTHS = (512, 1024, 1024, 1536, 2048, 2048, 2048, 2560, 2560, 4096, 4096, 4096)
VISION_LAYERS, LANGUAGE_LAYERS = 25, 33
CALLS = 8  # of the direct implementation


@dataclass(frozen=True)
class Model:
    """A model's random features, the same each time they are asked for."""

    seed: int
    layers: int
    width: int

    def features(self) -> list[np.ndarray]:
        return [self.layer(layer) for layer in range(self.layers)]

    def layer(self, layer: int) -> np.ndarray:
        return np.random.default_rng((self.seed, layer)).standard_normal(
            (STIMULI, self.width), dtype=np.float32
        )


@dataclass(frozen=True)
class Study:
    """The models of a study."""

    vision: Sequence[Model]
    language: Sequence[Model]

    @property
    def pairs(self) -> int:
        """Return the number of pairs of layers."""
        return sum(model.layers for model in self.vision) * sum(
            model.layers for model in self.language
        )

    def samples(self, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Draw pairs of layers at random, every pair of models being equally likely."""
        rng = np.random.default_rng(0)
        for _ in range(count):
            x, y = (side[rng.integers(len(side))] for side in (self.vision, self.language))
            yield x.layer(int(rng.integers(x.layers))), y.layer(int(rng.integers(y.layers)))


def make_study(scale: float) -> Study:
    """Return the published study, or a share of the models and layers of it."""
    vision, language = (
        widths[:: round(1 / scale**0.5)] for widths in (VISION_WIDTHS, LANGUAGE_WIDTHS)
    )
    layers_x, layers_y = (
        max(1, round(layers * scale**0.5)) for layers in (VISION_LAYERS, LANGUAGE_LAYERS)
    )
    models_x = [Model(seed, layers_x, width) for seed, width in enumerate(vision)]
    return Study(
        models_x, [Model(100 + seed, layers_y, width) for seed, width in enumerate(language)]
    )


def timed(work: Callable[..., object], *given: object) -> tuple[object, float]:
    start = time.perf_counter()
    made = work(*given)
    return made, time.perf_counter() - start


def prepare(engine: Engine, models: Sequence[Model]) -> tuple[list, float]:
    """Return all models made ready, and the seconds that this took without the making of
    features.
    """
    made, seconds = zip(*(timed(engine.prepare, model.features()) for model in models), strict=True)
    return list(made), sum(seconds)


def compare(engine: Engine, x: Sequence[object], y: Sequence[object]) -> float:
    """Compare all models with all others and return the seconds."""
    return timed(lambda: [engine.scores(a, b) for a in x for b in y])[1]


def gram(space: np.ndarray) -> np.ndarray:
    space = space / np.linalg.norm(space, axis=1, keepdims=True)
    return space @ space.T


def sorted_neighbors(kernel: np.ndarray, k: int) -> np.ndarray:
    kernel = kernel.copy()
    np.fill_diagonal(kernel, -np.inf)
    return np.argsort(-kernel, axis=1)[:, :k]


def direct_mutual_knn(x: np.ndarray, y: np.ndarray, k: int = 10) -> float:
    lists = zip(sorted_neighbors(gram(x), k), sorted_neighbors(gram(y), k), strict=True)
    return float(np.mean([len(np.intersect1d(a, b, assume_unique=True)) / k for a, b in lists]))


def direct_cka(x: np.ndarray, y: np.ndarray) -> float:
    """tr(KHLH) / √(tr(KHKH) tr(LHLH))."""
    kernels = [
        kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
        for kernel in (gram(x), gram(y))
    ]
    return float(
        (kernels[0] * kernels[1]).sum() / np.sqrt((kernels[0] ** 2).sum() * (kernels[1] ** 2).sum())
    )


def direct_hsic(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    """Return the unbiased estimator of kernels without a diagonal (Song et al. 2012, equation
    5).
    """
    n = len(k)
    sums = k.sum() * l.sum() / ((n - 1) * (n - 2)) - 2 * (k.sum(axis=0) @ l.sum(axis=1)) / (n - 2)
    return float(((k * l).sum() + sums) / (n * (n - 3)))


def direct_unbiased_cka(x: np.ndarray, y: np.ndarray) -> float:
    k, l = gram(x), gram(y)  # noqa: E741
    np.fill_diagonal(k, 0)
    np.fill_diagonal(l, 0)
    return direct_hsic(k, l) / (direct_hsic(k, k) * direct_hsic(l, l)) ** 0.5


def direct_cknna(x: np.ndarray, y: np.ndarray, k: int = 10) -> float:
    """Center rows, then sum products over the pairs that are neighbors in both."""
    kernels = gram(x), gram(y)
    masks = []
    for kernel in kernels:
        mask = np.zeros(kernel.shape, dtype=bool)
        np.put_along_axis(mask, sorted_neighbors(kernel, k), True, axis=1)
        masks.append(mask)
    a, b = (kernel - kernel.mean(axis=1, keepdims=True) for kernel in kernels)
    own = (a**2 * masks[0]).sum() * (b**2 * masks[1]).sum()
    return float((a * b * (masks[0] & masks[1])).sum() / np.sqrt(own))


DIRECT: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "mutual_knn": direct_mutual_knn,
    "cka": direct_cka,
    "unbiased_cka": direct_unbiased_cka,
    "cknna": direct_cknna,
}


def direct_seconds(metric: str, study: Study) -> float:
    """Return the seconds of one call of the direct implementation, the mean over a few pairs; the
    results must be ours.
    """
    engine, seconds = make_engine(metric), []
    for x, y in study.samples(CALLS):
        value, taken = timed(DIRECT[metric], x, y)
        seconds.append(taken)
        ours = engine.scores(engine.prepare([x]), engine.prepare([y])).values[0, 0]
        if abs(value - ours) > 1e-4:  # float32 against float64
            raise SystemExit(
                f"{metric}: the direct implementation gives {value}, all pairs at once {ours}"
            )
    return float(np.mean(seconds))


def report(work: str, seconds: float, reference: float) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        2**30 if sys.platform == "darwin" else 2**20
    )
    print(
        f"{work:34} {seconds:9.1f} {reference:13,.0f} {reference / seconds:8,.0f} {memory:8.2f}",
        flush=True,
    )


def measure_neighbors(study: Study) -> None:
    """Measure mutual kNN from raw features, then from the neighbors that were kept, at two k."""
    reference = direct_seconds("mutual_knn", study) * study.pairs
    x, seconds_x = prepare(make_engine("mutual_knn", k=KEPT), study.vision)
    y, seconds_y = prepare(make_engine("mutual_knn", k=KEPT), study.language)
    cached = {k: compare(make_engine("mutual_knn", k=k), x, y) for k in (10, 50)}
    report("mutual_knn, k = 10, raw", seconds_x + seconds_y + cached[10], reference)
    for k, seconds in cached.items():
        report(f"mutual_knn, k = {k}, cached", seconds, reference)


def measure(metric: str, study: Study) -> None:
    """Measure a metric from raw features; one side's models are held, the other's come and go."""
    reference = direct_seconds(metric, study) * study.pairs
    engine = make_engine(metric)
    held, total = prepare(engine, study.vision)
    for model in study.language:
        (made,), seconds = prepare(engine, [model])
        total += seconds + compare(engine, held, [made])
    report(f"{metric}, raw", total, reference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="share of the study's layer pairs, for a quick trial (1.0)",
    )
    study = make_study(parser.parse_args().scale)
    print(
        f"{len(study.vision)} × {len(study.language)} models, {study.pairs:,} pairs of layers, n ="
        f" {STIMULI}"
    )
    print(f"{'':34} {'seconds':>9} {'pair by pair':>13} {'ratio':>8} {'peak GB':>8}")
    measure_neighbors(study)
    for metric in ("cka", "unbiased_cka", "cknna"):
        measure(metric, study)


if __name__ == "__main__":
    main()
