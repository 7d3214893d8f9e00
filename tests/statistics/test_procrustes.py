"""Generalized Procrustes: theorems, the equations written out, and SciPy's two-space solution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group

from core.errors import MetricError
from core.metrics import METRICS
from core.questions.dispersion.residuals import residuals
from core.statistics.procrustes import generalized_procrustes

EPS = np.finfo(np.float64).eps


def family(seed, *, n=30, dims=(5, 7, 6), noise=0.5):
    """Return spaces that share five latent directions, each with noise of its own."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 5))
    return [shared @ rng.normal(size=(5, d)) + noise * rng.normal(size=(n, d)) for d in dims]


def literal(spaces, weights=None, tolerance=1e-13):
    """Write the equations out: pad with zeros to the widest, square orthogonal maps by SVD, from
    the same first consensus.
    """
    width, weights = (
        max(space.shape[1] for space in spaces),
        np.ones(len(spaces)) if weights is None else np.asarray(weights),
    )
    padded = []
    for space in spaces:
        wide = np.zeros((len(space), width))
        wide[:, : space.shape[1]] = space - space.mean(axis=0)
        padded.append(wide / np.sqrt((wide**2).sum()))
    left, sizes, _ = np.linalg.svd(
        np.hstack([np.sqrt(w) * wide for w, wide in zip(weights, padded, strict=True)])
    )
    joint = np.zeros((len(wide), width))
    kept = min(width, len(sizes))
    joint[:, :kept] = left[:, :kept] * sizes[:kept]
    before = np.inf
    while True:
        maps = [orthogonal_procrustes(wide, joint)[0] for wide in padded]
        turned = [wide @ turn for wide, turn in zip(padded, maps, strict=True)]
        joint = sum(w * one for w, one in zip(weights, turned, strict=True)) / weights.sum()
        objective = sum(
            w * np.linalg.norm(one - joint) ** 2 for w, one in zip(weights, turned, strict=True)
        )
        if before - objective <= tolerance * objective:
            return objective, np.array(
                [[np.linalg.norm(row) for row in one - joint] for one in turned]
            ).T
        before = objective


@pytest.mark.parametrize("weights", [None, [2.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
def test_many_stimuli_have_the_consensus_of_all_and_not_of_their_directions_alone(
    weights, monkeypatch
):
    spaces = family(3, n=200)
    reduced = generalized_procrustes(spaces, weights=weights)
    monkeypatch.setattr(
        "core.statistics.procrustes._common_basis", lambda shapes: (None, list(shapes))
    )
    whole = generalized_procrustes(spaces, weights=weights)
    assert reduced.joint.shape == (200, 7)
    np.testing.assert_allclose(reduced.joint, whole.joint, atol=1e-9)
    np.testing.assert_allclose(reduced.turned[1], whole.turned[1], atol=1e-9)
    assert len(reduced.objective) == len(whole.objective)


@pytest.mark.parametrize("dims", [(5, 7, 6), (40, 33), (12, 3, 40, 29), (29, 29, 29)])
def test_it_solves_the_equations_as_written_out(dims):
    spaces = family(1, dims=dims)
    found = generalized_procrustes(spaces)
    objective, apart = literal(spaces)
    assert found.objective[-1] == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(residuals(found), apart, rtol=2e-3)


def test_two_spaces_have_the_closed_form():
    a, b = family(3, dims=(6, 9))
    found = generalized_procrustes([a, b])
    assert found.objective[-1] == pytest.approx(1 - METRICS["procrustes"](a, b), rel=1e-8)
    np.testing.assert_allclose(residuals(found)[:, 0], residuals(found)[:, 1], rtol=1e-4)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**16), copies=st.integers(2, 4))
def test_turned_scaled_shifted_and_padded_copies_have_no_residual(seed, copies):
    rng = np.random.default_rng(seed)
    space = rng.normal(size=(12, 4))
    turned = [
        10 ** rng.uniform(-3, 3)
        * (space @ ortho_group.rvs(4, random_state=rng) + rng.normal(size=4))
        for _ in range(copies)
    ]
    turned[0] = np.hstack([turned[0], np.zeros((12, 5))])
    turned[1] = turned[1] * [1, 1, 1, -1]  # a reflection
    assert residuals(generalized_procrustes(turned)).max() < 1e-12


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    noise=st.floats(0.1, 5),
    weights=st.lists(st.floats(0.1, 9), min_size=3, max_size=3),
)
def test_the_objective_never_rises(seed, noise, weights):
    found = generalized_procrustes(family(seed, noise=noise), weights=weights)
    assert (np.diff(found.objective) <= 8 * EPS * found.objective[0]).all()
    apart = (residuals(found) ** 2).sum(axis=0)
    assert found.objective[-1] == pytest.approx(apart @ np.array(weights) / np.mean(weights))
    assert found.objective[-2] - found.objective[-1] <= 1e-9 * found.objective[-1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**16), order=st.permutations(range(3)))
def test_neither_the_order_nor_a_rotation_of_a_space_changes_the_consensus(seed, order):
    spaces = family(seed, noise=0.3)
    turned = [
        space @ ortho_group.rvs(space.shape[1], random_state=np.random.default_rng(seed))
        for space in spaces
    ]
    found, other = (
        generalized_procrustes(spaces),
        generalized_procrustes([turned[i] for i in order]),
    )
    np.testing.assert_allclose(residuals(other), residuals(found)[:, order], rtol=1e-4)
    np.testing.assert_allclose(other.joint @ other.joint.T, found.joint @ found.joint.T, atol=1e-5)


def test_weights_are_the_equations_weights():
    spaces, weights = family(7), [3.0, 1.0, 0.5]
    objective, apart = literal(spaces, weights)
    found = generalized_procrustes(spaces, weights=weights)
    assert found.objective[-1] == pytest.approx(objective / np.mean(weights), rel=1e-6)
    np.testing.assert_allclose(residuals(found), apart, rtol=2e-3)


def test_a_space_of_weight_0_has_no_part_in_the_consensus_but_is_turned_onto_it():
    spaces = family(8)
    other = np.random.default_rng(0).normal(size=(30, 4))
    alone, beside = (
        generalized_procrustes(spaces),
        generalized_procrustes([*spaces, other], weights=[2.0, 2.0, 2.0, 0.0]),
    )
    np.testing.assert_allclose(residuals(beside)[:, :3], residuals(alone), rtol=1e-9)
    centered = other - other.mean(axis=0)
    centered = np.pad(centered / np.linalg.norm(centered), ((0, 0), (0, alone.joint.shape[1] - 4)))
    turned = centered @ orthogonal_procrustes(centered, alone.joint)[0]
    np.testing.assert_allclose(
        residuals(beside)[:, 3], np.linalg.norm(turned - alone.joint, axis=1), rtol=1e-6
    )


def test_centering_is_as_asked():
    spaces = [space + 3 for space in family(9)]
    by_hand = [space - space.mean(axis=1, keepdims=True) for space in spaces]
    apart = residuals(generalized_procrustes(spaces, centering="stimuli"))
    np.testing.assert_allclose(
        apart, residuals(generalized_procrustes(by_hand, centering="none")), rtol=1e-6
    )
    assert not np.allclose(apart, residuals(generalized_procrustes(spaces)), rtol=1e-2)
    assert not np.allclose(
        apart, residuals(generalized_procrustes(spaces, centering="none")), rtol=1e-2
    )


@pytest.mark.parametrize(
    ("spaces", "options", "message"),
    [
        (family(0)[:1], {}, "at least two spaces of a positive weight; got 1"),
        ([], {}, "at least two spaces of a positive weight; got 0"),
        (
            [family(0)[0], family(0, n=20)[0]],
            {},
            "over the same stimuli; got 20 and 30 stimuli",
        ),
        ([family(0)[0], np.ones((30, 4))], {}, "all 30 stimuli have the same vector"),
        (
            [family(0)[0], np.ones((30, 4)) * np.arange(30)[:, None]],
            {},
            "these 30 stimuli lie on one line",
        ),
        ([family(0)[0], family(0)[1] * np.nan], {}, "a space must be finite; stimulus 0 has NaN"),
        (family(0), {"weights": [1.0, 1.0]}, "expected one weight for each of 3 spaces; got 2"),
        (family(0), {"weights": [1.0, -1.0, 1.0]}, "weights must be 0 or more and finite"),
        (family(0), {"weights": [0.0, 0.0, 1.0]}, "of a positive weight; got 1: add a model"),
        (
            family(0),
            {"centering": "rows"},
            "centering is one of features, stimuli, none; got rows",
        ),
    ],
)
def test_what_has_no_consensus_is_refused(spaces, options, message):
    with pytest.raises(MetricError, match=message):
        generalized_procrustes(spaces, **options)


def test_stretching_one_dimension_does_change_it():
    spaces = family(4)
    stretched = [spaces[0] * [5, 1, 1, 1, 1], *spaces[1:]]
    assert not np.allclose(
        residuals(generalized_procrustes(stretched)),
        residuals(generalized_procrustes(spaces)),
        rtol=1e-2,
    )
