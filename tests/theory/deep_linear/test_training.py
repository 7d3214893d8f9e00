"""Three ways to train end where the theory says; what differentiates and integrates is checked by
slower means.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from core.errors import InputError, TrainingError, UnknownNameError
from core.theory.deep_linear.descent.entropic import descend_entropic, entropic_loss, flow
from core.theory.deep_linear.descent.sgd import Descent, run_sgd
from core.theory.deep_linear.descent.sharpness import sharpness
from core.theory.deep_linear.nets import make_nets
from core.theory.deep_linear.network import conserved, entropy, loss
from core.theory.deep_linear.runs import draw_minima, train_entropic, train_noisily
from core.theory.lbfgs import descend

STEPS = Descent(0.003)


@pytest.fixture(scope="module")
def nets():
    return make_nets(widths=((4,), (5, 4)), seed=4)


def sampled_entropy(weights, net, count):
    """Return the mean over samples of the squared gradient of each sample's loss, by automatic
    differentiation.
    """
    draw = torch.Generator().manual_seed(1)
    x = (
        torch.randn(count, 5, generator=draw, dtype=torch.float64)
        @ torch.linalg.cholesky(net.world.inputs).T
    )
    noise = (
        torch.randn(count, 5, generator=draw, dtype=torch.float64)
        @ torch.linalg.cholesky(net.world.noise).T
    )

    def of_one(moving, x, y):
        value = net.frame.before @ x
        for weight in moving:
            value = weight @ value
        return (net.frame.after @ value - y).square().sum()

    gradients = torch.func.vmap(torch.func.grad(of_one), (None, 0, 0))(
        tuple(weights), x, x @ net.world.target.T + noise
    )
    return float(sum(each.square().sum() for each in gradients)) / count


def test_entropy_by_moments_is_the_mean_squared_gradient_of_samples_also_far_from_the_minimum(
    nets,
) -> None:
    weights = nets[1].start
    exact = float(entropy(weights, nets[1].frame, nets[1].world))
    assert sampled_entropy(weights, nets[1], 50_000) == pytest.approx(exact, rel=0.05)


def test_gradients_of_the_entropic_loss_are_finite_differences(nets) -> None:
    net = nets[1]
    objective = entropic_loss(net.frame, net.world, step=0.05)
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


@pytest.mark.slow
def test_the_entropic_minimum_is_aligned_at_every_layer_pair_and_is_the_closed_form() -> None:
    first, *_, last = train_entropic(make_nets())
    assert first.figures["min_alignment"] < 0.5
    assert last.figures["min_alignment"] > 1 - 1e-4
    assert max(last.figures["distance_a"], last.figures["distance_b"]) < 5e-3
    assert last.figures["excess_loss_a"] < 1e-4
    assert last.figures["entropy_a"] == pytest.approx(1, abs=0.01)
    assert last.matrix.shape == (5, 5)


@pytest.mark.slow
def test_noisy_descent_comes_close_to_what_the_entropic_loss_singles_out() -> None:
    first, *_, last = train_noisily(make_nets(), STEPS, counts=(0, 1_000, 60_000))
    assert first.figures["min_alignment"] < 0.5
    assert last.figures["min_alignment"] > 0.9


def test_with_an_activation_layers_are_compared_on_samples(nets) -> None:
    linear, bent = (
        [
            found.figures["min_alignment"]
            for found in train_noisily(nets, STEPS, counts=(0, 500), activation=name)
        ]
        for name in ("linear", "tanh")
    )
    assert 0 < bent[0] <= 1
    assert bent != pytest.approx(linear, abs=1e-3)
    with pytest.raises(UnknownNameError, match="no activation named 'relo'; did you mean relu"):
        list(train_noisily(nets, STEPS, counts=(0, 1), activation="relo"))


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
    value = x @ net.frame.before.T
    for weight in moving:
        value = value @ weight.T
    gradients = torch.autograd.grad((value @ net.frame.after.T - y).square().sum() / 2, moving)
    for new, old, gradient in zip(found, net.start, gradients, strict=True):
        assert torch.allclose(new, old - 0.01 * gradient)


def test_looking_does_not_change_what_is_learned(nets) -> None:
    net = replace(nets[0], seed=5)
    once, often = (
        list(run_sgd(net, Descent(0.01), counts=counts))[-1] for counts in ([50], [7, 20, 50])
    )
    assert all(torch.equal(one, other) for one, other in zip(once, often, strict=True))


def test_a_run_that_diverges_is_told(nets) -> None:
    with pytest.raises(
        InputError, match="descent diverged before 2,000 steps of size 3; take a smaller step"
    ):
        list(train_noisily(nets, Descent(3.0), counts=(0, 2_000)))


@pytest.mark.slow
def test_flow_never_raises_the_loss_and_keeps_what_is_conserved(nets) -> None:
    net = nets[1]
    ends = list(flow(net.start, net.frame, net.world, until=30.0))
    losses = [float(loss(weights, net.frame, net.world)) for weights in ends]
    assert all(after <= before + 1e-9 for before, after in pairwise(losses))
    assert losses[-1] == pytest.approx(net.world.floor, abs=0.02)
    for now, then in zip(conserved(ends[-1]), conserved(net.start), strict=True):
        assert torch.allclose(now, then, atol=1e-5)
    noisy = list(descend_entropic(net.start, net.frame, net.world))[-1]
    assert not torch.allclose(conserved(noisy)[0], conserved(net.start)[0], atol=1e-2)


def test_an_objective_that_is_no_number_is_told(nets) -> None:
    with pytest.raises(TrainingError, match="the loss is no longer a number"):
        list(descend(nets[0].start, lambda weights: weights[0].sum() * float("nan")))


def test_sharpness_is_the_largest_eigenvalue_of_the_whole_hessian(nets) -> None:
    net = nets[0]
    sizes = [weight.shape for weight in net.start]
    flat = torch.cat([weight.ravel() for weight in net.start])

    def of_flat(values):
        parts = values.split([a * b for a, b in sizes])
        return loss(
            [part.view(size) for part, size in zip(parts, sizes, strict=True)], net.frame, net.world
        )

    whole = torch.linalg.eigvalsh(torch.autograd.functional.hessian(of_flat, flat))
    assert sharpness(net.start, net.frame, net.world) == pytest.approx(float(whole[-1]), rel=1e-6)


def test_most_global_minima_are_not_aligned() -> None:
    def least(**given) -> list[float]:
        looks = list(draw_minima(make_nets(), **given))
        assert max(abs(look.figures["excess_loss"]) for look in looks) < 1e-9  # they are minima
        return [look.figures["min_alignment"] for look in looks]

    found = least(count=20)
    assert max(found) < 0.99
    assert least(count=2, spread=0.0) == pytest.approx([1, 1])
    assert found == least(count=20)
