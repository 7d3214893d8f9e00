"""Layouts of known distances: planes are found again, clusters stay clusters, and what a picture
loses is told.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist, pdist, squareform

from core.errors import InputError, UnknownNameError
from core.metrics import METRICS
from core.questions.models.pairs import distances
from core.statistics.layouts import classical, lay_out, stress, trustworthiness

PLANE = np.random.default_rng(0).normal(size=(20, 2))
FAR = squareform(pdist(PLANE))
FAR.flags.writeable = False  # no layout may change what it is given
GROUPS = np.repeat([0, 1, 2], 6)
EACH = [pytest.param("umap", marks=pytest.mark.slow), "mds"]  # it compiles for long


def planted(seed: int = 0) -> np.ndarray:
    """Return distances of three groups of six in eight dimensions."""
    rng = np.random.default_rng(seed)
    return squareform(pdist(rng.normal(size=(3, 8))[GROUPS] * 4 + rng.normal(size=(18, 8)) * 0.3))


def slow_trustworthiness(far: np.ndarray, points: np.ndarray, k: int) -> float:
    m, drawn, lost = len(far), cdist(points, points), 0
    for i in range(m):
        others = [j for j in range(m) if j != i]
        near = sorted(others, key=lambda j: far[i, j])
        shown = sorted(others, key=lambda j: drawn[i, j])[:k]
        lost += sum(max(0, near.index(j) + 1 - k) for j in shown)
    return 1 - 2 / (m * k * (2 * m - 3 * k - 1)) * lost


def test_stress_of_a_triangle_laid_on_a_line():
    far = np.ones((3, 3)) - np.eye(3)
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    assert stress(far, line) == pytest.approx(1 / 3)  # distances 1, 1, 2: 1 − 16/(3 · 6)


@given(st.integers(0, 1000))
def test_stress_is_kruskals_at_the_best_scale(seed):
    rng = np.random.default_rng(seed)
    far, points = squareform(pdist(rng.normal(size=(7, 4)))), rng.normal(size=(7, 2))
    drawn, apart = pdist(points), squareform(far)
    best = minimize_scalar(
        lambda scale: ((scale * drawn - apart) ** 2).sum() / (apart**2).sum(),
        bounds=(0, 100),
        method="bounded",
    )
    assert stress(far, points) == pytest.approx(np.sqrt(best.fun), abs=1e-4)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_trustworthiness_by_its_definition(k):
    points = np.random.default_rng(1).normal(size=(18, 2))
    assert trustworthiness(planted(), points, neighbors=k) == pytest.approx(
        slow_trustworthiness(planted(), points, k)
    )
    assert trustworthiness(FAR, PLANE, neighbors=k) == 1


def test_distances_in_a_plane_are_drawn_as_they_are():
    for points in (classical(FAR), lay_out(FAR, layout="mds").points):
        np.testing.assert_allclose(pdist(points), squareform(FAR), atol=1e-5)
    found = lay_out(FAR, layout="mds")
    assert (found.stress, found.trustworthiness, found.neighbors) == (
        pytest.approx(0, abs=1e-5),
        1,
        5,
    )


@pytest.mark.parametrize("seed", range(3))
def test_permuted_items_turn_or_mirror_mds(seed):
    far, order = planted(seed), np.random.default_rng(seed).permutation(18)
    straight, permuted = (
        lay_out(far, layout="mds").points,
        lay_out(far[np.ix_(order, order)], layout="mds").points,
    )
    np.testing.assert_allclose(pdist(permuted), pdist(straight[order]), atol=1e-4)


@pytest.mark.parametrize("layout", EACH)
def test_planted_clusters_stay_clusters(layout):
    found = lay_out(planted(), layout=layout)
    drawn = cdist(found.points, found.points) + np.diag(np.full(18, np.inf))
    nearest = np.argsort(drawn, axis=1)[:, :5]
    assert (GROUPS[nearest] == GROUPS[:, None]).all()
    assert found.trustworthiness > 0.85


@pytest.mark.parametrize("layout", EACH)
def test_the_same_seed_gives_the_same_points(layout):
    first, again = (lay_out(planted(), layout=layout, seed=3).points for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.slow
def test_umap_of_models_in_any_order_is_the_same():
    far = planted()
    rows = [(f"m{i:02d}", f"m{j:02d}", np.exp(-far[i, j]), "") for i in range(18) for j in range(i)]
    pairs = pd.DataFrame(rows, columns=["model_x", "model_y", "score", "reason"])
    turned = pairs.sample(frac=1, random_state=0).rename(
        columns={"model_x": "model_y", "model_y": "model_x"}
    )
    found = [distances(table, spec=METRICS["mutual_knn"].spec) for table in (pairs, turned)]
    np.testing.assert_array_equal(*(lay_out(each.matrix, layout="umap").points for each in found))


@pytest.mark.parametrize("layout", EACH)
@pytest.mark.parametrize(
    "far",
    [
        FAR[:4, :4],
        squareform(pdist(np.arange(6.0)[:, None])),
        np.kron(FAR[:3, :3], np.ones((2, 2))),
    ],
)
def test_four_items_items_on_a_line_and_items_in_one_place_are_drawn(layout, far):
    assert np.isfinite(lay_out(far, layout=layout).points).all()


@pytest.mark.parametrize("count", [2, 3])
def test_few_items_are_drawn_by_mds_and_refused_by_umap(count):
    far = FAR[:count, :count]
    found = lay_out(far, layout="mds")
    np.testing.assert_allclose(pdist(found.points), squareform(far), rtol=1e-4)
    assert np.isnan(found.trustworthiness) == (count == 2)
    with pytest.raises(InputError, match=f"umap places at least 4 models, and there are {count}"):
        lay_out(far, layout="umap")


def test_no_map_of_one_model_of_one_place_or_of_an_unknown_kind():
    with pytest.raises(InputError, match="mds places at least 2 models, and there are 1"):
        lay_out(np.zeros((1, 1)), layout="mds")
    with pytest.raises(InputError, match="all models are at distance 0"):
        lay_out(np.zeros((5, 5)), layout="umap")
    with pytest.raises(UnknownNameError, match="no layout named 'umpa'; did you mean umap"):
        lay_out(FAR, layout="umpa")
    for seed in (-1, 2**32):
        with pytest.raises(InputError, match=f"a seed of umap lies in 0 … 4294967295; got {seed}"):
            lay_out(FAR, layout="umap", seed=seed)
