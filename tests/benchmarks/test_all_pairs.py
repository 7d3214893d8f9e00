"""The benchmark compares like with like: its direct implementation gives the metrics' values, its
study has the published size.
"""

from __future__ import annotations

import numpy as np
import pytest

from core.metrics import METRICS
from core.spaces.preprocess import normalize_rows
from tests.benchmarks.all_pairs import DIRECT, make_study


@pytest.mark.parametrize("metric", DIRECT)
def test_the_direct_implementation_gives_the_metric(metric):
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((40, 6))
    x, y = (shared + rng.standard_normal((40, 6)) for _ in range(2))
    assert DIRECT[metric](x, y) == pytest.approx(
        METRICS[metric](normalize_rows(x), normalize_rows(y)), abs=1e-9
    )


def test_the_study_has_the_published_size():
    study = make_study(1)
    assert (len(study.vision), len(study.language), study.pairs) == (17, 12, 168_300)


def test_a_scale_shrinks_models_and_layers_alike():
    study = make_study(0.1)
    assert 0.05 < study.pairs / 168_300 * 10 < 2
    assert {model.layers for model in study.vision} == {8}
    assert len(study.vision[0].features()) == 8
