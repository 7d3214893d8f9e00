"""What comparing many stimuli costs, where no n × n kernel fits: seconds, peak memory, and how both
grow.

    python -m tests.benchmarks.many_stimuli [--stimuli N …] [--dims D …] [--limit SECONDS]

Two spaces of random features with a part in common, then all pairs of layers of two models: mutual
k-NN over neighbors found in blocks, CKA from sums over stimuli. Their values mean nothing, their
cost is that of any features of this size. Each measurement has a process of its own. It prints the
seconds that passed, those that processors worked, which do not count what else the machine does,
and the highest memory. All pairs that would be worked on for longer than the limit are not run:
their seconds, marked ~, are those of one pair times the number of searches, or of pairs. Growth is
the exponent of n in the seconds worked, from the row of fewer stimuli.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int32

from core.metrics import METRICS
from core.metrics.knn import mutual_terms
from core.pairs.prepared import Prepared
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows

K = 10
SHARED = 32  # dimensions that all layers have in common
Space = Float32[np.ndarray, "n d"]
Lists = Int32[np.ndarray, "layers n k"]


class Cost(NamedTuple):
    """What a measurement took, and the score: seconds that passed and that processors worked, which
    do not count what else the machine does, and gigabytes of the whole process.
    """

    seconds: float
    worked: float
    memory: float
    score: float


class Clock:
    """Adds up the seconds of the blocks that it is held over: those that passed, and those that the
    processors worked.
    """

    def __init__(self) -> None:
        self.seconds = self.worked = 0.0

    def __enter__(self) -> Clock:
        self.seconds -= time.perf_counter()
        self.worked -= time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter()
        self.worked += time.process_time()


def main(stimuli: Sequence[int], dims: Sequence[int], layers: int, limit: float) -> None:
    """Print a row per way of comparing, width and number of stimuli."""
    heads = " ".join(f"{head:>9}" for head in ("passed", "worked", "by pairs", "memory"))
    print(f"{'':31} {'n':>7} {'d':>5} {heads} growth")
    for width in dims:
        for name, compare in WAYS.items():
            for count, times in ((1, 1), (layers, TIMES[name](layers))):
                what = f"{name}, {f'{count} × {count} layers' if count > 1 else 'one pair'}"
                before: tuple[int, float] | None = None
                for n in stimuli:
                    one = one_pair(name, n, width)
                    within = count == 1 or one.worked * times <= limit
                    cost = one if count == 1 else None
                    if within and count > 1:
                        cost = in_own_process(partial(compare, n, width, count))
                    worked = cost.worked if cost else one.worked * times
                    print_row(what, n, width, cost, worked, growth(before, n, worked))
                    before = n, worked


def growth(before: tuple[int, float] | None, n: int, seconds: float) -> str:
    """Return the exponent of growth from fewer stimuli, empty where there are none."""
    if before is None:
        return ""
    return f"{np.log(seconds / before[1]) / np.log(n / before[0]):.2f}"


def print_row(
    what: str, n: int, dims: int, cost: Cost | None, worked: float, exponent: str
) -> None:
    """Print a measurement, or the seconds that processors would work."""
    cells = ["", "", f"~{worked:.0f} s", ""]
    if cost:
        cells = [f"{cost.seconds:.1f} s", f"{worked:.1f} s", "", f"{cost.memory:.2f} GB"]
    print(
        f"{what:31} {n:7,} {dims:5,} {' '.join(f'{cell:>9}' for cell in cells)} {exponent:>6}",
        flush=True,
    )


ONCE: dict[tuple[str, int, int], Cost] = {}


def one_pair(name: str, n: int, dims: int) -> Cost:
    """Measure one pair of layers, once."""
    if (name, n, dims) not in ONCE:
        ONCE[name, n, dims] = in_own_process(partial(WAYS[name], n, dims, 1))
    return ONCE[name, n, dims]


def in_own_process(task: Callable[[], Cost]) -> Cost:
    """Run a measurement in a fresh process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(task).result()


def by_neighbors(n: int, dims: int, layers: int) -> Cost:
    """Find each layer's neighbors, and compare all pairs of layers by them."""
    clock, sides = Clock(), []
    for side in range(2):
        lists = []
        for space in spaces(n, dims, layers, side):  # a layer is made, searched and let go
            with clock:
                lists.append(nearest(space, k=K))
        sides.append(np.stack(lists))
    with clock:
        score = compare_lists(*sides)
    return Cost(clock.seconds, clock.worked, peak(), score)


def compare_lists(x: Lists, y: Lists) -> float:
    """Return the highest score of all pairs of layers."""
    if len(x) == 1:
        return float(mutual_terms(x[0], y[0]).mean())
    engine = METRICS["mutual_knn"].engine(k=K)
    taken = [engine.from_neighbors.take(Prepared(side, ("",) * len(side))) for side in (x, y)]
    return float(engine.scores(*taken).values.max())


def by_sums(n: int, dims: int, layers: int) -> Cost:
    """Sum each layer's products of features, and those of all pairs."""
    sides = [list(spaces(n, dims, layers, side)) for side in range(2)]
    engine = METRICS["cka"].streamed()
    with Clock() as clock:
        score = float(engine.scores(*map(engine.prepare, sides)).values.max())
    return Cost(clock.seconds, clock.worked, peak(), score)


WAYS: dict[str, Callable[[int, int, int], Cost]] = {
    "mutual k-NN": by_neighbors,
    "CKA, streamed": by_sums,
}
TIMES: dict[str, Callable[[int], int]] = {  # of one pair: searches of layers, or pairs of them
    "mutual k-NN": lambda layers: layers,
    "CKA, streamed": lambda layers: layers**2,
}


def spaces(n: int, dims: int, layers: int, side: int) -> Iterator[Space]:
    """Yield a model's layers: a part in common with all others, and a part of their own."""
    shared = np.random.default_rng(0).standard_normal((n, SHARED), dtype=np.float32)
    for layer in range(layers):
        rng = np.random.default_rng((1 + side, layer))
        own = 2 * rng.standard_normal((n, dims), dtype=np.float32)
        own += shared @ rng.standard_normal((SHARED, dims), dtype=np.float32)
        yield normalize_rows(own)


def peak() -> float:
    """Return the highest memory of this process so far, in GB."""
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stimuli", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--dims", type=int, nargs="+", default=[384, 1024])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--limit", type=float, default=600, help="seconds that all pairs may take")
    given = parser.parse_args()
    main(given.stimuli, given.dims, given.layers, given.limit)
