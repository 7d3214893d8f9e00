"""The benchmark of many stimuli runs, at a small size, and compares the same spaces both ways."""

import numpy as np
import pytest

from core.metrics import METRICS
from core.metrics.cka import cka_of_sums
from core.pairs.streamed import add_up
from tests.benchmarks.many_stimuli import chunks, main


def test_it_prints_every_comparison_with_its_memory(capsys):
    main(300, 8, 5)
    streamed, blocks = capsys.readouterr().out.splitlines()[1:]
    assert all(word in streamed for word in ("cka", "procrustes", "linear_predictivity", "GB"))
    assert "mutual_knn" in blocks


def test_chunks_are_the_spaces_in_parts():
    x, y = (np.concatenate(parts) for parts in zip(*chunks(5000, 6), strict=True))
    assert x.shape == y.shape == (5000, 6)
    assert cka_of_sums(add_up(chunks(5000, 6))) == pytest.approx(METRICS["cka"](x, y), rel=1e-5)
