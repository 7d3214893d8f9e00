"""Learners end at K_PMI + c; their losses and gradients by the plain formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.errors import MetricError
from core.theory.contrastive.question import Setup, exact_loss, fit_products, learn
from core.theory.contrastive.world import least_offset, pmi_kernel

SETUP = Setup(events=8, window=4)
JOINT = SETUP.cooccur().joint
KERNEL = pmi_kernel(JOINT)


def trained(learner: Setup, **given):
    return learn(learner, JOINT, **given)


def test_infonce_ends_at_a_multiple_of_pmi_with_an_offset_of_its_own() -> None:
    for temperature in (1.0, 0.5):
        fit = fit_products(trained(Setup(width=8, temperature=temperature)), KERNEL)
        assert fit.r2 > 0.9999
        assert fit.slope == pytest.approx(temperature, rel=1e-3)
        assert fit.offset >= temperature * least_offset(KERNEL).value - 1e-3


def test_binary_nce_ends_at_pmi_with_the_offset_of_its_share_of_positives() -> None:
    fit = fit_products(trained(Setup(loss="nce", width=8, positives=0.7)), KERNEL)
    assert fit.r2 > 0.9999
    assert fit.slope == pytest.approx(1, rel=1e-3)
    assert fit.offset == pytest.approx(math.log(0.7 / 0.3), abs=1e-3)
    assert fit.offset > least_offset(KERNEL).value


def test_binary_nce_with_too_few_positives_cannot_reach_its_minimum() -> None:
    learner = Setup(loss="nce", width=8, positives=0.2)
    assert learner.offset < least_offset(KERNEL).value
    fit = fit_products(trained(learner), KERNEL)
    assert fit.offset > learner.offset + 0.1
    assert fit.slope < 0.95


def test_a_world_without_an_offset_is_only_approached() -> None:
    rough = Setup(events=8, window=1, jumps=0.1).cooccur().joint
    kernel = pmi_kernel(rough)
    assert math.isnan(least_offset(kernel).value)
    assert fit_products(learn(Setup(loss="nce", width=8, positives=0.9), rough), kernel).r2 < 0.95


@given(seed=st.integers(0, 100))
def test_losses_are_their_plain_formulas(seed) -> None:
    g = np.random.default_rng(seed).standard_normal((8, 8))
    own = JOINT.sum(axis=1)
    nce = infonce = 0.0
    for a in range(8):
        normal = math.log(sum(own[b] * math.exp(g[a, b] / 0.5) for b in range(8)))
        for b in range(8):
            nce -= 0.3 * JOINT[a, b] * math.log(1 / (1 + math.exp(-g[a, b])))
            nce -= 0.7 * own[a] * own[b] * math.log(1 / (1 + math.exp(g[a, b])))
            infonce += JOINT[a, b] * (normal - g[a, b] / 0.5)
    for learner, expected in (
        (Setup(loss="nce", positives=0.3), nce),
        (Setup(temperature=0.5), infonce),
    ):
        assert float(
            exact_loss(learner, torch.from_numpy(JOINT))(torch.from_numpy(g))
        ) == pytest.approx(expected)


@pytest.mark.parametrize("learner", [Setup(loss="nce", width=3), Setup(width=3, temperature=0.7)])
def test_gradients_are_finite_differences(learner) -> None:
    loss = exact_loss(learner, torch.from_numpy(JOINT))
    start = torch.randn(8, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    moving = start.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(moving @ moving.T), moving)
    for index in ((0, 0), (3, 1), (7, 2)):
        ends = []
        for sign in (1, -1):
            shifted = start.clone()
            shifted[index] += sign * 1e-6
            ends.append(float(loss(shifted @ shifted.T)))
        assert float(gradient[index]) == pytest.approx(
            (ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-9
        )


def test_pmi_is_the_minimum_of_both_losses() -> None:
    joint, kernel = torch.from_numpy(JOINT), torch.from_numpy(KERNEL)
    for learner in (Setup(loss="nce", positives=0.3), Setup(temperature=0.7)):
        offset = 5.0 if math.isnan(learner.offset) else learner.offset
        g = (learner.slope * kernel + offset).requires_grad_()
        (gradient,) = torch.autograd.grad(exact_loss(learner, joint)(g), g)
        assert float(gradient.abs().max()) < 1e-12


def test_a_kernel_without_differences_is_refused() -> None:
    with pytest.raises(MetricError, match="the PMI of all pairs is the same"):
        fit_products(np.eye(8), pmi_kernel(np.full((8, 8), 1 / 64)))
