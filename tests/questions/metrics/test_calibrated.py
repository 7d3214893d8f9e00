"""Every metric next to its null: the same shuffles for all, as one call each gives them."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import MetricError
from core.metrics import METRICS
from core.progress import heard_by
from core.questions.metrics.scores import COMPARED, calibrate_metrics, make_engines
from core.spaces.preprocess import normalize_rows
from core.statistics.nulls import calibrate, draw_orders


def spaces(noise: float = 0.6, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    shared = rng.standard_normal((n, 4))
    return tuple(shared + noise * rng.standard_normal((n, 4)) for _ in range(2))


def test_every_metric_is_calibrated_against_the_same_shuffles():
    x, y = spaces()
    table = calibrate_metrics(x, y, make_engines(k=4), count=20, seed=5).set_index("metric")
    assert list(table.index) == list(COMPARED)
    wide_x, wide_y = normalize_rows(x), normalize_rows(y)
    for name in ("mutual_knn", "cknna", "unbiased_cka", "shape_angle"):
        parameters = {"k": 4} if "k" in METRICS[name].spec.defaults else {}
        null = [
            METRICS[name](wide_x, wide_y[order], **parameters)
            for order in draw_orders(40, count=20, seed=5)
        ]
        score = METRICS[name](wide_x, wide_y, **parameters)
        direct = calibrate(
            np.array([score]), np.array(null)[:, None], spec=METRICS[name].spec
        ).iloc[0]
        found = table.loc[name]
        for column in ("score", "null_mean", "null_sd", "threshold", "p", "calibrated"):
            assert found[column] == pytest.approx(direct[column], rel=1e-5, abs=1e-7)


def test_kindred_spaces_lie_above_chance_and_unrelated_ones_do_not():
    kindred = calibrate_metrics(*spaces(0.2), make_engines(k=4), count=40, seed=0).set_index(
        "metric"
    )
    assert (kindred["calibrated"] > 0).all()
    x, y = spaces()
    unrelated = calibrate_metrics(
        x, np.random.default_rng(9).permutation(y), make_engines(k=4), count=40, seed=0
    )
    assert unrelated["calibrated"].max() < 0.15


def test_a_refusal_is_kept_and_progress_goes_on():
    x, y = spaces(n=4)
    heard = []
    with heard_by(lambda *told: heard.append(told[:2])):
        table = calibrate_metrics(x, y, make_engines(k=5), count=20, seed=0)
    row = table.set_index("metric").loc["mutual_knn"]
    assert np.isnan(row["score"])
    assert "k must lie in 1 … 3" in row["reason"]
    assert heard[-1] == (len(COMPARED), len(COMPARED))


def test_other_stimuli_and_too_few_shuffles_are_refused():
    x, y = spaces()
    with pytest.raises(MetricError, match="got 40 and 39 stimuli"):
        calibrate_metrics(x, y[1:], make_engines(k=4), count=20, seed=0)
    with pytest.raises(MetricError, match="at least 19 permutations"):
        calibrate_metrics(x, y, make_engines(k=4), count=10, seed=0)
