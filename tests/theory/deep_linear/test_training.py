"""Three ways to train end where the theory says; what differentiates and integrates is checked by
slower means.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from core.errors import InputError, TrainingError
from core.theory.deep_linear.minima import least_entropy, least_norm
from core.theory.deep_linear.network import (
    disproportion,
    hidden_maps,
    loss,
    make_nets,
    sharpness,
)
from core.theory.deep_linear.runs import draw_minima, train_noisily
from core.theory.deep_linear.setup import Descent
from core.theory.deep_linear.training import (
    descend_entropic,
    draw_samples,
    end_entropic,
    end_mixed,
    entropic_loss,
    flow,
    run_sgd,
)
from core.theory.simulation import descend
from tests.theory.deep_linear import literal


@pytest.fixture(scope="module")
def nets():
    return make_nets(((4,), (5, 4)), seed=4)


def conserved(weights):
    """Return W_{i+1}ᵀ W_{i+1} − W_i W_iᵀ, which gradient flow never changes (equation 62)."""
    return [after.T @ after - before @ before.T for before, after in pairwise(weights)]


def drawn(net, *, steps, batch, stream=None):
    """Return inputs and labels as SGD draws them, by the formula y = V x + ε."""
    of_x, of_noise, _ = np.random.default_rng(net.seed if stream is None else stream).spawn(3)
    half, noise = (
        np.array(literal.root_of(literal.rows_of(each)))
        for each in (net.world.inputs, net.world.noise)
    )
    xs = of_x.standard_normal((steps, batch, len(half))) @ half
    missed = of_noise.standard_normal((steps, batch, len(noise))) @ noise
    return xs, xs @ net.world.target.numpy().T + missed


def test_gradients_of_the_entropic_loss_are_finite_differences(nets) -> None:
    net = nets[1]
    objective = entropic_loss(net, step=0.05)
    moving = [weight.requires_grad_() for weight in net.start]
    gradients = torch.autograd.grad(objective(moving), moving)
    for place, gradient in enumerate(gradients):
        for index in ((0, 0), (1, 2)):
            shifted = []
            for sign in (1, -1):
                weights = net.start
                weights[place][index] += sign * 1e-6
                shifted.append(float(objective(weights)))
            assert float(gradient[index]) == pytest.approx(
                (shifted[0] - shifted[1]) / 2e-6, rel=1e-5, abs=1e-7
            )


def test_a_step_of_descent_is_one_of_the_plain_formula(nets) -> None:
    net = replace(nets[1], seed=5)
    (found,) = run_sgd(net, Descent(0.01, batch=2), counts=[1])
    drawn, missed = np.random.default_rng(5).spawn(2)
    values, vectors = torch.linalg.eigh(net.world.inputs), torch.linalg.eigh(net.world.noise)
    roots = [
        (each.eigenvectors * each.eigenvalues.sqrt()) @ each.eigenvectors.T
        for each in (values, vectors)
    ]
    x = torch.from_numpy(drawn.standard_normal((1, 2, 5))[0]) @ roots[0]
    y = x @ net.world.target.T + torch.from_numpy(missed.standard_normal((1, 2, 5))[0]) @ roots[1]
    moving = [weight.requires_grad_() for weight in net.start]
    value = x @ net.before.T
    for weight in moving:
        value = value @ weight.T
    gradients = torch.autograd.grad((value @ net.after.T - y).square().sum() / 2, moving)
    for new, old, gradient in zip(found, net.start, gradients, strict=True):
        assert torch.allclose(new, old - 0.01 * gradient)


def test_a_large_batch_is_one_of_as_many_samples_by_its_moments() -> None:
    """E[x xᵀ] and E[ε xᵀ] of a batch have the mean and the variance of a Wishart matrix."""
    draws = np.random.default_rng(0).spawn(3)
    x, noise = draw_samples(draws, 20_000, 40, (2, 3))
    assert x.shape == (20_000, 3, 3)
    own = np.einsum("tki,tkj->tij", x, x) / 3
    cross = np.einsum("tki,tkj->tij", noise, x) / 3
    assert own.mean(0) == pytest.approx(np.eye(3), abs=0.01)
    assert own.var(0) == pytest.approx((1 + np.eye(3)) / 40, rel=0.05)
    assert cross.mean(0) == pytest.approx(np.zeros((2, 3)), abs=0.01)
    assert cross.var(0) == pytest.approx(np.full((2, 3), 1 / 40), rel=0.05)
    few, _ = draw_samples(draws, 10, 2, (2, 3))
    assert few.shape == (10, 2, 3)


def test_without_noise_a_step_is_one_on_the_loss(nets) -> None:
    net = nets[1]
    (found,) = run_sgd(net, Descent(0.01, batch=0), counts=[1])
    moving = [weight.requires_grad_() for weight in net.start]
    slopes = torch.autograd.grad(loss(moving, net), moving)
    for new, old, slope in zip(found, net.start, slopes, strict=True):
        assert torch.allclose(new, old - 0.01 * slope)


def test_many_steps_are_those_written_out() -> None:
    net = make_nets([(2, 3)], d=2, c=2, rank=1, seed=3)[0]
    (found,) = run_sgd(net, Descent(0.05, batch=2), counts=[30], stream=(3, 1))
    xs, ys = drawn(net, steps=30, batch=2, stream=(3, 1))
    slow = literal.descend(net.start, net, xs, ys, step=0.05, batch=2)
    for one, other in zip(found, slow, strict=True):
        assert one.numpy() == pytest.approx(np.array(other), rel=1e-8)


def test_looking_does_not_change_what_is_learned(nets) -> None:
    net = replace(nets[0], seed=5)
    for batch in (1, 32):
        once, often = (
            list(run_sgd(net, Descent(0.01, batch), counts=counts))[-1]
            for counts in ([50], [7, 20, 50])
        )
        assert all(torch.equal(one, other) for one, other in zip(once, often, strict=True))


def test_a_run_that_diverges_is_told(nets) -> None:
    with pytest.raises(
        InputError, match="descent diverged before 2,000 steps of size 3; take a smaller step"
    ):
        train_noisily(nets, Descent(3.0), counts=(0, 2_000))


def test_flow_is_euler_written_out_and_keeps_what_is_conserved() -> None:
    net = make_nets([(2,)], d=2, c=2, rank=1, seed=3)[0]
    ends = list(flow(net, until=1.0, looks=5))
    losses = [float(loss(weights, net)) for weights in ends]
    assert all(after <= before + 1e-9 for before, after in pairwise(losses))
    before, after = net.before.numpy(), net.after.numpy()
    inputs, target = net.world.inputs.numpy(), net.world.target.numpy()
    first, second = (weight.numpy() for weight in net.start)
    for _ in range(20_000):
        miss = 2 * after.T @ (after @ second @ first @ before - target) @ inputs @ before.T
        first, second = first - 5e-5 * second.T @ miss, second - 5e-5 * miss @ first.T
    assert ends[-1][0].numpy() == pytest.approx(first, abs=1e-3)
    for now, then in zip(conserved(ends[-1]), conserved(net.start), strict=True):
        assert torch.allclose(now, then, atol=1e-6)
    noisy = list(descend_entropic(net))[-1]
    assert not torch.allclose(conserved(noisy)[0], conserved(net.start)[0], atol=1e-2)


def test_descent_on_penalties_ends_at_the_closed_forms() -> None:
    net = make_nets([(2,)], d=2, c=2, rank=2, seed=3)[0]
    for end, solve in ((end_entropic(net), least_entropy), (end_mixed(net, 1.0), least_norm)):
        goal = hidden_maps(solve(net), net)[0]
        assert disproportion(hidden_maps(end, net)[0], goal) < 0.02


def test_an_objective_that_is_no_number_is_told(nets) -> None:
    with pytest.raises(TrainingError, match="the loss is no longer a number"):
        list(descend(nets[0].start, lambda weights: weights[0].sum() * float("nan")))


def test_sharpness_is_the_largest_eigenvalue_of_the_whole_hessian(nets) -> None:
    net = nets[0]
    sizes = [weight.shape for weight in net.start]
    flat = torch.cat([weight.ravel() for weight in net.start])

    def of_flat(values):
        parts = values.split([a * b for a, b in sizes])
        return loss([part.view(size) for part, size in zip(parts, sizes, strict=True)], net)

    whole = torch.linalg.eigvalsh(torch.autograd.functional.hessian(of_flat, flat))
    assert sharpness(net.start, net) == pytest.approx(float(whole[-1]), rel=1e-6)


def test_most_global_minima_are_not_aligned() -> None:
    def least(**given) -> list[float]:
        looks = draw_minima(make_nets(), Descent(0.003), steps=10, **given)["looks"]
        drawn_ones = looks[looks["by"] == "chance"]
        assert drawn_ones["excess_loss"].abs().max() < 1e-9  # they are minima
        return drawn_ones["min_alignment"].tolist()

    found = least(count=20)
    assert max(found) < 0.99
    assert least(count=2, spread=0.0) == pytest.approx([1, 1])
    assert found == least(count=20)
