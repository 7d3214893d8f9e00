"""Linear probes against scikit-learn, against labels that mean nothing, and against a factor that
is planted.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from core.competence.probes import STRENGTHS, Split, fit, probe, split, standardize, wilson
from core.errors import FeatureError


def clusters(
    classes: int, *, n: int = 1500, d: int = 40, apart: float = 0.3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return overlapping clouds in correlated features of very different scales, and which cloud
    each row is of.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    rows = apart * rng.standard_normal((classes, d))[labels] + rng.standard_normal((n, d))
    rows = rows @ (np.eye(d) + 0.3 * rng.standard_normal((d, d))) * rng.exponential(
        size=d
    ) * 10 + rng.standard_normal(d)
    return rows.astype(np.float32), labels


def answers(rows: np.ndarray, labels: np.ndarray, parts: Split) -> list[tuple[float, float]]:
    """Return accuracy on validation and test by scikit-learn, strongest regularization first."""
    scaled = StandardScaler().fit(rows[parts.train]).transform(rows)
    found = []
    vectors = (
        2 if labels.max() == 1 else 1
    )  # of two classes it has one vector, as long as our two together
    for strength in sorted(STRENGTHS, reverse=True):
        model = LogisticRegression(
            C=vectors / (strength * len(parts.train)), max_iter=3000, tol=1e-7
        )
        model.fit(scaled[parts.train], labels[parts.train])
        found.append(
            tuple(
                model.score(scaled[part], labels[part]) for part in (parts.validation, parts.test)
            )
        )
    return found


@pytest.mark.parametrize(
    ("classes", "apart", "n", "d"),
    [(2, 0.1, 1500, 40), (4, 0.3, 1500, 40), (16, 0.35, 1500, 40), (5, 0.3, 600, 400)],
)
def test_a_probe_is_as_right_as_scikit_learn_s(classes, apart, n, d):
    rows, labels = clusters(classes, apart=apart, n=n, d=d)
    parts = split(len(rows))
    theirs = answers(rows, labels, parts)
    best = max(theirs, key=lambda pair: pair[0])
    assert probe(rows, labels, parts).value == pytest.approx(best[1], abs=0.005)
    scaled = standardize(torch.from_numpy(rows), torch.from_numpy(rows[parts.train]))
    weights = fit(
        scaled[parts.train],
        torch.from_numpy(labels[parts.train]),
        classes=classes,
        strengths=STRENGTHS[::-1],
    )
    for each, (_, test) in zip(weights, theirs, strict=True):
        found = (scaled[parts.test] @ each[:-1] + each[-1]).argmax(1).numpy()
        assert (found == labels[parts.test]).mean() == pytest.approx(test, abs=0.005)


@pytest.mark.parametrize("classes", [2, 8])
def test_a_planted_factor_is_found(classes):
    rng = np.random.default_rng(2)
    labels = rng.integers(classes, size=1800)
    planted = np.eye(classes)[labels] @ rng.standard_normal(
        (classes, 64)
    ) + 0.1 * rng.standard_normal((1800, 64))
    assert probe(planted.astype(np.float32), labels, split(1800)).value >= 0.99


def test_features_without_any_content_give_the_largest_class():
    labels = np.random.default_rng(3).choice(3, size=600, p=[0.6, 0.3, 0.1])
    score = probe(np.full((600, 5), 7.1, dtype=np.float32), labels, split(600))
    assert score.value == score.chance == (labels[400:] == 0).mean()


def test_an_interval_is_wilson_s():
    # worked out by hand: center (0.8 + 0.19207) / 1.38415, half 1.95996 · sqrt(0.016 + 0.0096036) /
    # 1.38415
    assert wilson(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-5)
    assert wilson(0, 10) == pytest.approx((0.0, 0.277533), abs=1e-5)
    assert wilson(10, 10) == pytest.approx((0.722467, 1.0), abs=1e-5)


def test_features_that_do_not_fit_are_refused():
    rows, labels = clusters(2, n=60)
    with pytest.raises(FeatureError, match="60 rows of features were given for 59 labels"):
        probe(rows, labels[1:], split(59))
    rows[5, 1] = np.nan
    with pytest.raises(FeatureError, match="NaN or infinity"):
        probe(rows, labels, split(60))


@pytest.mark.gpu
def test_a_gpu_answers_as_the_cpu_does():
    rows, labels = clusters(16, apart=0.35)
    parts = split(len(rows))
    assert probe(rows, labels, parts, device="cuda").value == pytest.approx(
        probe(rows, labels, parts).value, abs=0.005
    )
