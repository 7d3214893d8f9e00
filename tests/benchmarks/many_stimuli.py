"""`python -m tests.benchmarks.many_stimuli`: seconds and peak memory of two spaces of 100,000
stimuli, where no n × n kernel fits.

Random features with a part in common: their values mean nothing, their cost is that of any features
of this size.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32

from core.metrics import METRICS
from core.metrics.knn import mutual_terms
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows

CHUNK = 4096  # stimuli
STREAMED = ("cka", "unbiased_cka", "procrustes", "linear_predictivity")


def main(n: int, dims: int, k: int) -> None:
    """Print what each way of comparing costs, and the highest memory so far."""
    print(f"n = {n:,}, {dims} dimensions each")
    x, y = (np.concatenate(parts) for parts in zip(*chunks(n, dims), strict=True))
    for name in STREAMED:
        began = time.perf_counter()
        engine = METRICS[name].streamed(**METRICS[name].spec.defaults)
        value = engine.scores(engine.prepare([x]), engine.prepare([y])).values.item()
        report(f"streamed: {name} {value:.3f}", began)
    began = time.perf_counter()
    score = mutual_terms(nearest(x, k=k), nearest(y, k=k)).mean()
    report(f"in blocks: mutual_knn {score:.3f} (k = {k}, chance {k / (n - 1):.1e})", began)


def chunks(
    n: int, dims: int
) -> Iterator[tuple[Float32[np.ndarray, "_ dx"], Float32[np.ndarray, "_ dy"]]]:
    """Yield both spaces' next stimuli: a part in common and a part of their own."""
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((2, 32, dims)).astype(np.float32)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        shared = rng.standard_normal((size, 32), dtype=np.float32)
        own = rng.standard_normal((2, size, dims), dtype=np.float32)
        x, y = (
            normalize_rows(shared @ to + 2 * noise) for to, noise in zip(maps, own, strict=True)
        )
        yield x, y


def report(what: str, began: float) -> None:
    """Print what was done with its seconds and the highest memory so far."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        2**30 if sys.platform == "darwin" else 2**20
    )
    print(f"{what}: {time.perf_counter() - began:.0f} s, peak {memory:.2f} GB", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stimuli", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--k", type=int, default=10)
    given = parser.parse_args()
    main(given.stimuli, given.dims, given.k)
