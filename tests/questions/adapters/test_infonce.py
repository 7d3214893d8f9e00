"""The loss, by its formula: sums over pairs of stimuli, and the slope of the sum."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.questions.adapters.training import infonce, joint_infonce


def literal(x: np.ndarray, y: np.ndarray, tau: float) -> float:
    """Return the loss as the proposal writes it, stimulus by stimulus."""
    n, total = len(x), 0.0
    for i in range(n):
        below = 0.0
        for j in range(n):
            below += math.exp(float(x[i] @ y[j]) / tau)
        total -= math.log(math.exp(float(x[i] @ y[i]) / tau) / below)
    return total / n


def rows(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def loss(x: np.ndarray, y: np.ndarray, tau: float, direction: str = "both") -> float:
    sides = (torch.from_numpy(side) for side in (x, y))
    return infonce(*sides, torch.tensor(tau, dtype=torch.float64), direction=direction).item()


@given(n=st.integers(1, 7), d=st.integers(1, 5), tau=st.floats(0.3, 5), seed=st.integers(0, 99))
def test_it_is_the_literal_double_loop(n: int, d: int, tau: float, seed: int) -> None:
    x, y = rows(n, d, seed), rows(n, d, seed + 100)
    forward, back = literal(x, y, tau), literal(y, x, tau)
    assert loss(x, y, tau, "forward") == pytest.approx(forward, rel=1e-9, abs=1e-12)
    assert loss(x, y, tau) == pytest.approx((forward + back) / 2, rel=1e-9, abs=1e-12)


def test_two_stimuli_by_hand() -> None:
    x, y = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]])
    # rows: log(1 + 1) for the first, log(1 + 1) for the second; columns: log(1 + e^-1) and log(1 +
    # e)
    expected = (2 * math.log(2) + math.log(1 + math.exp(-1)) + math.log(1 + math.e)) / 4
    assert loss(x, y, 1.0) == pytest.approx(expected)


def test_its_gradient_is_that_of_finite_differences() -> None:
    x, y = (torch.from_numpy(rows(5, 3, seed)).requires_grad_() for seed in (0, 1))
    z = torch.from_numpy(rows(5, 3, 2)).requires_grad_()
    tau = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(infonce, (x, y, tau))
    joint_infonce([x, y, z], tau).backward()
    for values in (x, z):
        step = 1e-6
        for place in ((0, 0), (4, 2)):
            moved = values.detach().clone()
            sides = []
            for sign in (1, -1):
                moved[place] = values.detach()[place] + sign * step
                views = [moved if view is values else view.detach() for view in (x, y, z)]
                sides.append(joint_infonce(views, tau.detach()).item())
            assert values.grad is not None
            assert values.grad[place].item() == pytest.approx(
                (sides[0] - sides[1]) / (2 * step), rel=1e-5
            )


def test_equal_products_give_log_n_and_matches_nearly_none() -> None:
    flat = np.zeros((8, 3))
    assert loss(flat, rows(8, 3, 0), 0.07) == pytest.approx(math.log(8))
    assert loss(np.eye(8), np.eye(8), 0.01) < 1e-6


def test_three_encoders_are_averaged_over_all_pairs() -> None:
    views = [rows(4, 3, seed) for seed in range(3)]
    mean = (
        loss(views[0], views[1], 0.5)
        + loss(views[0], views[2], 0.5)
        + loss(views[1], views[2], 0.5)
    ) / 3
    joint = joint_infonce(
        [torch.from_numpy(view) for view in views], torch.tensor(0.5, dtype=torch.float64)
    )
    assert joint.item() == pytest.approx(mean)


@given(seed=st.integers(0, 99))
def test_order_of_sides_and_of_stimuli_does_not_matter_but_who_is_paired_does(seed: int) -> None:
    x, y = rows(6, 4, seed), rows(6, 4, seed + 100)
    order = np.random.default_rng(seed).permutation(6)
    assert loss(x, y, 0.5) == pytest.approx(loss(y, x, 0.5))
    assert loss(x, y, 0.5) == pytest.approx(loss(x[order], y[order], 0.5))
    assert loss(x, y, 0.5) != pytest.approx(loss(x, np.roll(y, 1, axis=0), 0.5), abs=1e-6)
