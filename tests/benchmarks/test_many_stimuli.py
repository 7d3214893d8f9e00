"""The benchmark of many stimuli runs, at a small size, and extrapolates what it does not run."""

import numpy as np
import pytest

from tests.benchmarks import many_stimuli
from tests.benchmarks.many_stimuli import WAYS, growth, main, spaces


@pytest.mark.slow
def test_it_prints_what_was_measured_and_what_was_not(capsys, monkeypatch):
    monkeypatch.setattr(many_stimuli, "in_own_process", lambda task: task())
    main([200, 400], [8], layers=2, limit=1000)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["n", "d", "passed", "worked", "by", "pairs", "memory", "growth"]
    assert len(rows) == 2 * 2 * len(WAYS)
    assert all(" GB" in row and "~" not in row for row in rows)
    main([400], [8], layers=2, limit=0)
    rows = capsys.readouterr().out.splitlines()[1:]
    assert ["~" in row for row in rows] == [False, True] * len(WAYS)


def test_growth_is_the_exponent_of_n():
    assert growth(None, 10, 1.0) == ""
    assert growth((100, 2.0), 300, 18.0) == "2.00"


def test_layers_share_a_part_and_models_differ():
    (x, other), (y, _) = (list(spaces(500, 40, 2, side)) for side in range(2))
    assert x.shape == y.shape == (500, 40)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-5)
    assert not np.allclose(x, y)
    assert not np.allclose(x, other)


def test_both_ways_see_the_part_in_common():
    for compare in WAYS.values():
        assert compare(300, 40, 2).score > 0.2
