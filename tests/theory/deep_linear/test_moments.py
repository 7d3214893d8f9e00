"""Loss, entropy and gradient balance by moments are those of a sum over samples, written out by
hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.theory.deep_linear.breakers import break_alignment
from core.theory.deep_linear.minima import least_entropy, least_entropy_value, transform
from core.theory.deep_linear.network import (
    draw_matrix,
    entropy,
    gradient_moments,
    hidden_maps,
    layer_moments,
    linear_cka,
    loss,
    make_nets,
)
from core.theory.deep_linear.runs import weigh
from tests.theory.deep_linear import literal


@pytest.fixture(scope="module")
def nets():
    return make_nets(((2, 3), (2,)), d=2, c=2, rank=1, seed=3)


def bent(net, size=0.7):
    curve = size * draw_matrix(2, 2, seed=5)
    return replace(net, world=replace(net.world, curve=curve))


@pytest.mark.parametrize("case", ["anywhere", "nonlinear", "minimum", "nonlinear minimum"])
def test_moments_are_those_of_samples_anywhere_in_training(nets, case) -> None:
    net = bent(nets[0]) if "nonlinear" in case else nets[0]
    weights = least_entropy(net) if "minimum" in case else net.start
    value, size, sides = literal.moments(weights, net)
    assert float(loss(weights, net)) == pytest.approx(value, rel=1e-10)
    assert float(entropy(weights, net)) == pytest.approx(size, rel=1e-10)
    found = gradient_moments(weights, net)
    for (inward, outward), (first, second) in zip(found, sides, strict=True):
        assert inward.numpy() == pytest.approx(first, rel=1e-8, abs=1e-10)
        assert outward.numpy() == pytest.approx(second, rel=1e-8, abs=1e-10)
    balanced = all(torch.allclose(*each) for each in found)
    assert balanced == (case == "minimum")  # nonlinear labels move the least entropy elsewhere


def test_nonlinear_labels_raise_the_floor_and_move_what_has_the_least_entropy(nets) -> None:
    net = bent(nets[0])
    weights = least_entropy(net)
    curve = float(net.world.curve.square().sum())
    assert float(torch.trace(net.world.missed)) == pytest.approx(
        float(torch.trace(net.world.noise)) + curve
    )
    assert float(loss(weights, net)) == pytest.approx(float(torch.trace(net.world.missed)))
    least = float(entropy(weights, net))
    ((inward, outward),) = gradient_moments(weights, net)[:1]
    slope = (outward - inward) / torch.linalg.matrix_norm(outward - inward)
    moved = [
        transform(weights, layer=1, by=torch.matrix_exp(sign * 1e-3 * slope)) for sign in (1, -1)
    ]
    assert min(float(entropy(each, net)) for each in moved) < least


def test_layer_moments_are_those_of_samples(nets) -> None:
    for net in (nets[0], bent(nets[0])):
        weights = net.start
        hidden = [np.zeros((2, 2)), np.zeros((3, 3))]
        back = [np.zeros((2, 2)), np.zeros((3, 3))]
        layers = [net.before.numpy()]
        for weight in weights:
            layers.append(weight.numpy() @ layers[-1])
        pulls = [net.after.numpy()]
        for weight in reversed(weights):
            pulls.insert(0, pulls[0] @ weight.numpy())
        for share, x, y in literal.samples(net.world, x_nodes=4, noise_nodes=2):
            error = net.after.numpy() @ layers[-1] @ x - y
            for i in (1, 2):
                h, g = layers[i] @ x, pulls[i].T @ error
                hidden[i - 1] += share * np.outer(h, h)
                back[i - 1] += share * np.outer(g, g)
        found = layer_moments(weights, net)
        for (first, second), *slow in zip(
            found, hidden[: len(found)], back[: len(found)], strict=True
        ):
            assert first.numpy() == pytest.approx(slow[0], abs=1e-10)
            assert second.numpy() == pytest.approx(slow[1], abs=1e-10)


def test_the_closed_form_needs_noise_in_the_modes_alone() -> None:
    few = make_nets(((2,), (2,)), d=2, c=2, rank=1, seed=1)
    broken = break_alignment("quiet-labels", few, 1.0)
    assert broken.predicted is not None  # some noise is left in the one mode
    assert broken.measured.numpy() == pytest.approx(broken.predicted.numpy(), abs=2e-3)


def test_without_noise_in_a_label_the_least_entropy_is_that_of_samples() -> None:
    net = make_nets([(2,)], d=2, c=2, rank=1, seed=2)[0]
    values, vectors = torch.linalg.eigh(net.world.noise)
    values[0] = 0.0
    quiet = replace(net, world=replace(net.world, noise=(vectors * values) @ vectors.T))
    weights = least_entropy(quiet)
    value, size, sides = literal.moments(weights, quiet)
    assert value == pytest.approx(float(torch.trace(quiet.world.missed)))
    assert size == pytest.approx(least_entropy_value(quiet))
    assert sides[0][0] == pytest.approx(sides[0][1], abs=1e-9)


def test_linear_cka_is_that_of_the_formula_also_where_inputs_are_only_related(nets) -> None:
    layers = [hidden_maps(net.start, net)[0] for net in nets]
    own, between = nets[0].world.inputs, 0.4 * nets[0].world.inputs
    fast = linear_cka(*layers, of_x=own, of_y=own, between=between)
    first, second = (literal.rows_of(layer) for layer in layers)
    slow = literal.cka(first, second, literal.rows_of(between), own, own)
    assert fast == pytest.approx(slow, rel=1e-10)


def test_matrices_are_weighed_as_by_hand(nets) -> None:
    net = nets[0]
    rows = list(weigh(net, net.start))
    _, _, sides = literal.moments(net.start, net)
    assert [row["layer"] for row in rows] == [0, 1, 2, 3]
    for row, matrix in zip(rows[:2], [net.before, net.start[0]], strict=True):
        assert row["norm"] == pytest.approx(sum(float(v) ** 2 for v in matrix.ravel()) ** 0.5)
    half = np.array(literal.root_of(literal.rows_of(net.world.inputs)))
    first = (net.start[0] @ net.before).numpy() @ half
    _, vectors = np.linalg.eigh(first @ first.T)  # the largest direction is the last
    assert rows[2]["norm"] == pytest.approx(np.linalg.norm(net.start[1].numpy() @ vectors[:, -1]))
    assert [row["stretch"] for row in rows] == [1.0] * 4  # of a single mode
    for row, (inward, outward) in zip(rows[1:-1], sides, strict=True):
        norms = [np.linalg.norm(each) for each in (inward, outward, inward - outward)]
        assert row["gradients_apart"] == pytest.approx(norms[2] / (norms[0] + norms[1]))
        ratio = np.trace(inward) / np.trace(outward)
        assert row["offset"] == pytest.approx(np.log(ratio) / 4)
    assert "gradients_apart" not in rows[-1]


def test_at_least_entropy_inner_matrices_are_rotations_and_the_first_whitens() -> None:
    net = make_nets([(4, 5, 4)], condition=20.0)[0]
    rows = list(weigh(net, least_entropy(net)))
    assert [row["stretch"] for row in rows[2:-1]] == pytest.approx([1, 1])
    assert rows[2]["norm"] == pytest.approx(rows[3]["norm"])
    assert [row["spread"] for row in rows[1:-1]] == pytest.approx([rows[1]["spread_theory"]] * 3)
    other = make_nets([(4, 5, 4)], condition=1.0)[0]  # another view
    again = list(weigh(other, least_entropy(other)))
    assert again[1]["spread"] == pytest.approx(rows[1]["spread"])
    assert again[0]["spread"] != pytest.approx(rows[0]["spread"], rel=0.1)
    for row in rows[1:-1]:
        assert row["gradients_apart"] < 1e-9
        assert row["offset"] == pytest.approx(0, abs=1e-9)
        assert row["proportion"] == pytest.approx(1)
