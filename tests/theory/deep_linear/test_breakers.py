"""Each way to break the theorem leaves both networks aligned at strength 0, and lowers alignment by
a margin above it, as predicted if the theory predicts it.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.statistics.intervals import mean_interval
from core.theory.deep_linear import breakers
from core.theory.deep_linear.breakers import (
    TRIALS,
    add_private_features,
    break_alignment,
    keep_modes,
)
from core.theory.deep_linear.network import draw_matrix, loss, make_nets
from core.theory.deep_linear.setup import BREAKERS
from core.theory.deep_linear.training import end_entropic, flow
from tests.theory.deep_linear import literal

# a strength, how far below 1 the alignment falls at least, and how near the prediction lies
HARD = {
    "weight-decay": (1.0, 0.1, 1e-3),
    "gradient-flow": (0.5, 0.1, None),
    "labels": (0.5, 0.1, 5e-3),
    "saddle": (2.0, 0.05, 5e-3),
    "private-data": (1.0, 0.05, 5e-3),
    "nonlinear-labels": (1.0, 5e-4, None),
    "quiet-labels": (4.0, 0.05, None),
    "unrelated-data": (1.0, 0.99, 1e-3),
    "two-saddles": (2.0, 0.99, 5e-3),
}
DEEP = ("weight-decay", "gradient-flow")  # the others break networks of one hidden layer, too


@pytest.fixture(autouse=True)
def _shorter(monkeypatch) -> None:
    monkeypatch.setattr(breakers, "FLOW_TIME", 30.0)


@pytest.mark.parametrize(
    "name",
    [name if name == "labels" else pytest.param(name, marks=pytest.mark.slow) for name in BREAKERS],
)
def test_alignment_is_perfect_without_a_breaker_and_falls_with_it(name) -> None:
    strength, margin, near = HARD[name]
    few = {"widths": ((4,), (5, 4))} if name in DEEP else {"d": 4, "c": 4, "widths": ((3,), (4,))}
    none, hard = (break_alignment(name, make_nets(**few), each) for each in (0.0, strength))
    assert none.measured.min() > 1 - 1e-4
    assert none.predicted.min() > 1 - 1e-9
    assert hard.measured.min() < 1 - margin
    assert (hard.predicted is None) == (near is None)
    if near:
        assert hard.measured.numpy() == pytest.approx(hard.predicted.numpy(), abs=near)


def test_private_features_make_the_maps_differ_on_the_same_inputs() -> None:
    """Over five seeds: labels of shared features alone leave one map and full alignment, in closed
    form; labels of private ones do not. The map is the regression of samples.
    """
    reached = []
    for seed in range(5):
        nets = make_nets(((4,), (3, 5)), seed=seed)
        for weight in (0.0, 1.0):
            first, second = add_private_features(nets, weight)
            difference = torch.linalg.matrix_norm(first.world.target - second.world.target)
            share = float(difference / torch.linalg.matrix_norm(first.world.target))
            assert (share < 1e-9) if not weight else (share > 0.2)
        reached.append(float(predicted("private-data", nets, 1.0)))
    high = mean_interval(np.array(reached))[1]
    assert high < 1 - 0.01
    assert predicted("private-data", nets, 0.0) > 1 - 1e-9
    draw = np.random.default_rng(0)  # by samples, of the last seed
    world, seen = nets[0].world, first.world
    parts = []
    basis = np.linalg.svd(world.target.numpy())[0][:, :3]
    for net in nets:
        part = basis @ draw_matrix(3, 5, seed=net.seed + 1000).numpy()
        parts.append(part * np.linalg.norm(world.target.numpy()) / np.linalg.norm(part))
    x = draw.standard_normal((400_000, 5)) @ np.array(
        literal.root_of(literal.rows_of(world.inputs))
    )
    own = draw.standard_normal((2, 400_000, 5))
    labels = x @ world.target.numpy().T + sum(z @ p.T for z, p in zip(own, parts, strict=True))
    fitted, *_ = np.linalg.lstsq(x + own[0], labels, rcond=None)
    assert pytest.approx(seen.target.numpy(), abs=0.02) == fitted.T
    rest = labels - (x + own[0]) @ fitted
    assert np.cov(rest.T) + world.noise.numpy() == pytest.approx(seen.noise.numpy(), abs=0.03)


def predicted(name, nets, strength) -> torch.Tensor:
    """Return the least alignment that the theory predicts, without training."""
    trial = TRIALS[name]
    changed = trial.change(nets, strength)
    solve = trial.solve(changed, strength)
    goals = [solve(net) for net in changed]
    return breakers._align(changed, goals, 1.0).min()


def test_where_the_theory_is_silent_nothing_is_predicted(monkeypatch) -> None:
    monkeypatch.setattr(breakers, "end_entropic", lambda net: net.start)
    three = make_nets(((2,), (2,)), d=3, c=3, rank=2)
    assert break_alignment("quiet-labels", three, 1.0).predicted is not None
    assert break_alignment("quiet-labels", three, 2.0).predicted is None
    assert break_alignment("nonlinear-labels", three, 0.5).predicted is None
    assert break_alignment("weight-decay", three, 0.5).predicted is None


@pytest.mark.slow
def test_flow_keeps_what_is_conserved() -> None:
    net = make_nets([(4,)])[0]
    end = breakers.follow_flow(net, 1.0)
    assert all(
        torch.equal(one, other)
        for one, other in zip(end, list(flow(net, until=30.0))[-1], strict=True)
    )


def test_no_solution_is_asked_to_lack_all_modes() -> None:
    allowed = [BREAKERS["saddle"].allowed(modes=modes, labels=1) for modes in (1, 2, 3, 5)]
    assert allowed == [(0.0,), (0.0, 1.0), (0.0, 1.0, 2.0), (0.0, 1.0, 2.0)]
    assert BREAKERS["quiet-labels"].allowed(modes=1, labels=2) == (0.0, 1.0, 2.0)


@pytest.mark.slow
def test_saddles_are_the_low_rank_solutions_of_the_loss() -> None:
    """At a saddle the gradient is 0 and the loss is that of the missing modes."""
    a = make_nets([(2,)], d=3, c=3, rank=2, seed=2)[0]
    half = literal.root_of(literal.rows_of(a.world.inputs))
    strong, weak, _ = np.linalg.svd(a.world.target.numpy() @ np.array(half))[1]
    for kept, missing in ((range(1), weak), (range(1, 2), strong)):
        moving = [weight.requires_grad_() for weight in end_entropic(keep_modes(a, kept))]
        value = loss(moving, a)
        assert value.item() == pytest.approx(
            float(torch.trace(a.world.missed)) + missing**2, abs=1e-5
        )
        slopes = torch.autograd.grad(value, moving)
        assert max(slope.abs().max().item() for slope in slopes) < 2e-3  # of order η = 1e-4
