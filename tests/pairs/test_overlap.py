"""All layer pairs at once give exactly what the metric gives pair by pair, on every road through
the compiled loop.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MetricError
from core.metrics import METRICS
from core.pairs import lists
from core.pairs.lists import overlaps
from core.spaces.neighbors import nearest

ROOT = Path(lists.__file__).parents[2]


def lists(seed: int, layers: int, n: int, kept: int) -> np.ndarray:
    """Return random neighbor lists without the stimulus itself."""
    rng = np.random.default_rng(seed)
    ranks = rng.random((layers, n, n))
    ranks[:, np.arange(n), np.arange(n)] = 2  # the stimulus itself comes last
    return ranks.argsort(axis=2)[:, :, :kept].astype(np.int32)


def overlaps_literally(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    n = x.shape[1]
    return np.array(
        [[sum(len({*a[i, :k]} & {*b[i, :k]}) for i in range(n)) / (n * k) for b in y] for a in x]
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    layers=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    n=st.integers(3, 30),
    data=st.data(),
)
def test_equals_python_s_sets(seed, layers, n, data):
    k = data.draw(st.integers(1, n - 1))
    x, y = lists(seed, layers[0], n, n - 1), lists(seed + 1, layers[1], n, k)
    np.testing.assert_array_equal(overlaps(x, y, k=k), overlaps_literally(x, y, k))


@pytest.mark.parametrize(("n", "k"), [(64, 63), (65, 64), (129, 20), (300, 7), (700, 70)])
def test_equals_python_s_sets_across_word_and_thread_boundaries(n, k):
    x, y = lists(0, 4, n, k), lists(1, 3, n, k)
    np.testing.assert_array_equal(overlaps(x, y, k=k), overlaps_literally(x, y, k))


@pytest.mark.parametrize("k", [1, 10, 39])
def test_equals_the_metric_of_every_pair(k):
    rng = np.random.default_rng(2)
    shared = rng.standard_normal((40, 6))
    x, y = (
        [shared + scale * rng.standard_normal((40, 6)) for scale in scales]
        for scales in ((0.1, 1, 3), (0.3, 1))
    )
    near_x, near_y = (np.stack([nearest(space, k=39) for space in spaces]) for spaces in (x, y))
    expected = [[METRICS["mutual_knn"](a, b, k=k) for b in y] for a in x]
    assert overlaps(near_x, near_y, k=k).tolist() == expected


def test_a_model_with_itself_is_symmetric_with_ones_on_the_diagonal():
    x = lists(3, 6, 50, 10)
    scores = overlaps(x, x, k=10)
    np.testing.assert_array_equal(scores, scores.T)
    assert (np.diag(scores) == 1).all()


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_does_not_depend_on_the_number_of_threads(cores, monkeypatch):
    x, y = lists(4, 3, 1000, 10), lists(5, 4, 1000, 10)
    expected = overlaps(x, y, k=10)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("core.machine.processes.count_cores", lambda: cores)
    np.testing.assert_array_equal(overlaps(x, y, k=10), expected)


def test_threads_of_a_server_may_ask_at_once():
    x, y = lists(6, 3, 300, 10), lists(7, 4, 300, 10)
    expected = overlaps(x, y, k=10)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: overlaps(x, y, k=10), range(40)))
    assert all((answer == expected).all() for answer in answers)


def test_read_only_neighbors_are_taken():
    x = lists(8, 2, 20, 5)
    x.flags.writeable = False
    assert overlaps(x, x, k=5)[0, 0] == 1


def test_a_layer_without_neighbors_has_no_score_and_spoils_no_other():
    x, y = lists(9, 3, 30, 5), lists(10, 2, 30, 5)
    whole = overlaps(x, y, k=5)
    x[1] = -1
    y[0] = -1
    scores = overlaps(x, y, k=5)
    assert np.isnan(scores).tolist() == [[True, False], [True, True], [True, False]]
    np.testing.assert_array_equal(scores[[0, 2], 1], whole[[0, 2], 1])


def test_other_stimuli_are_refused():
    with pytest.raises(
        MetricError, match="expected neighbors over the same stimuli; got 20 and 21 stimuli"
    ):
        overlaps(lists(0, 1, 20, 5), lists(0, 1, 21, 5), k=5)


@pytest.mark.parametrize("k", [0, -1, 6])
def test_more_neighbors_than_were_kept_are_refused(k):
    with pytest.raises(
        MetricError, match=rf"k must lie in 1 … 5, the neighbors kept for each stimulus; got {k}"
    ):
        overlaps(lists(0, 1, 20, 9), lists(0, 1, 20, 5), k=k)


def test_importing_the_study_does_not_import_numba_or_scipy():
    """Pages must start fast: the compiler and the statistics come with the first question that
    needs them.
    """
    code = (
        "import sys, core.study.study, core.metrics.catalog\nprint([name for name in ('numba',"
        " 'scipy.stats', 'torch', 'streamlit') if name in sys.modules])"
    )
    assert _python(code).strip() == "[]"


def test_compiles_anew_where_no_folder_takes_the_cache():
    """A shared installation may be read-only, and so may the home folder; the answer must still
    come.
    """
    code = (
        "import numpy as np\n"
        "from core.pairs.lists import overlaps\n"
        "x = np.array([[[1], [0], [0]]], dtype=np.int32)\n"
        "print(overlaps(x, x, k=1))"
    )
    assert _python(code, NUMBA_CACHE_LOCATOR_CLASSES="ZipCacheLocator").strip() == "[[1.]]"


def _python(code: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
