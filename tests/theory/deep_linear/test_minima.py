"""The theorem and its conditions, at the solutions that are written down."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError, MetricError
from core.theory.deep_linear.minima import (
    least_entropy,
    least_entropy_value,
    least_norm,
    transform,
    whiten,
)
from core.theory.deep_linear.network import (
    Net,
    World,
    align_layers,
    disproportion,
    entropy,
    gradient_moments,
    hidden_maps,
    layer_moments,
    linear_cka,
    loss,
    make_nets,
    make_world,
)

FEW = settings(max_examples=25)  # each solves two networks
WIDTHS = st.lists(st.integers(3, 7), min_size=1, max_size=4)


def both_layers(solve, nets):
    return [layer for net in nets for layer in hidden_maps(solve(net, seed=net.seed), net)]


@FEW
@given(a=WIDTHS, b=WIDTHS, seed=st.integers(0, 50), condition=st.floats(1.0, 30.0))
def test_at_least_entropy_every_layer_of_both_networks_is_aligned(a, b, seed, condition) -> None:
    nets = make_nets(widths=(a, b), seed=seed, condition=condition)
    layers = both_layers(least_entropy, nets)
    assert align_layers(layers, layers, nets[0].world.inputs).min() > 1 - 1e-9
    assert max(disproportion(x, y) for x in layers for y in layers) < 1e-6


@FEW
@given(widths=WIDTHS, seed=st.integers(0, 50))
def test_least_entropy_is_a_global_minimum_of_the_loss_with_the_entropy_that_is_written_down(
    widths, seed
) -> None:
    net = make_nets(widths=(widths, widths), seed=seed)[0]
    weights = least_entropy(net, seed=seed)
    assert float(loss(weights, net)) == pytest.approx(
        float(torch.trace(net.world.missed)), rel=1e-10
    )
    least = least_entropy_value(net)
    assert float(entropy(weights, net)) == pytest.approx(least, rel=1e-9)


@FEW
@given(widths=WIDTHS, seed=st.integers(0, 50), spread=st.floats(0.05, 1.0))
def test_no_other_minimum_of_the_loss_has_less_entropy(widths, seed, spread) -> None:
    net = make_nets(widths=(widths, widths), seed=seed)[0]
    weights = least_entropy(net)
    draw = torch.Generator().manual_seed(seed)
    for layer, width in enumerate(widths, start=1):
        noise = torch.randn(width, width, generator=draw, dtype=torch.float64)
        moved = transform(
            weights, layer=layer, by=torch.matrix_exp(spread * (noise + noise.T) / width)
        )
        assert float(loss(moved, net)) == pytest.approx(
            float(torch.trace(net.world.missed)), rel=1e-8
        )
        assert entropy(moved, net) > entropy(weights, net)


@FEW
@given(widths=WIDTHS, seed=st.integers(0, 50))
def test_gradients_of_neighboring_layers_are_balanced_at_least_entropy_and_nowhere_else(
    widths, seed
) -> None:
    net = make_nets(widths=(widths, widths), seed=seed)[0]
    weights = least_entropy(net)
    for inward, outward in gradient_moments(weights, net):
        assert torch.allclose(inward.diagonal(), outward.diagonal(), rtol=1e-8)  # equation 33
        assert torch.allclose(
            inward, outward, atol=1e-8 * float(inward.abs().max())
        )  # equations 39 and 41
    for hidden, back in layer_moments(weights, net):  # footnote 16
        first, second = (moment / torch.linalg.matrix_norm(moment) for moment in (hidden, back))
        assert torch.allclose(first, second, atol=1e-8)
    moved = transform(
        weights, layer=1, by=torch.diag(torch.linspace(0.5, 2.0, widths[0], dtype=torch.float64))
    )
    inward, outward = gradient_moments(moved, net)[0]
    assert not torch.allclose(inward, outward, rtol=0.05)
    hidden, back = layer_moments(moved, net)[0]
    norms = torch.linalg.matrix_norm(hidden) * torch.linalg.matrix_norm(back)
    assert float((hidden * back).sum() / norms) < 0.99


def test_the_transformed_minimum_has_the_same_loss_and_a_lower_alignment() -> None:
    a, b = make_nets()
    weights, other = (least_entropy(net) for net in (a, b))
    stretch = torch.diag(torch.logspace(-1, 1, 6, dtype=torch.float64))
    moved = transform(weights, layer=1, by=stretch)
    assert float(loss(moved, a)) == pytest.approx(float(torch.trace(a.world.missed)))
    layers = hidden_maps(moved, a), hidden_maps(other, b)
    scores = align_layers(*layers, a.world.inputs)
    assert scores[0].max() < 0.9  # the layer that was transformed
    assert scores[1:].min() > 1 - 1e-9  # the others are as they were


def test_least_norm_where_all_commute_is_a_product_of_powers() -> None:
    world = World(
        *(
            torch.diag(torch.tensor(values, dtype=torch.float64))
            for values in ([1.0, 1, 1], [3.0, 2, 1], [0.1, 0.1, 0.1])
        )
    )
    view = torch.diag(torch.tensor([0.5, 1.0, 4.0], dtype=torch.float64))
    net = Net(world, view, torch.eye(3, dtype=torch.float64), (3, 3, 3), 0)
    for i, layer in enumerate(hidden_maps(least_norm(net), net), start=1):
        expected = torch.diag(world.target.diagonal() ** (i / 4) * view.diagonal() ** ((4 - i) / 4))
        assert disproportion(layer, expected) < 1e-7
        assert torch.allclose(layer.T @ layer, expected.T @ expected)


@FEW
@given(widths=WIDTHS, seed=st.integers(0, 50))
def test_least_norm_is_a_global_minimum_of_balanced_weights(widths, seed) -> None:
    net = make_nets(widths=(widths, widths), seed=seed)[0]
    weights = least_norm(net)
    assert float(loss(weights, net)) == pytest.approx(
        float(torch.trace(net.world.missed)), rel=1e-10
    )
    norms = [float(weight.square().sum()) for weight in weights]
    assert norms == pytest.approx([norms[0]] * len(norms))


def test_whitened_layers_depend_on_neither_view_frozen_matrices_nor_labels() -> None:
    nets = make_nets(((6, 5), (8,)), condition=20.0)
    relabeled = make_world(d=5, c=5, rank=3, seed=9)  # other labels over the same inputs
    worlds = (nets[0].world, World(nets[0].world.inputs, relabeled.target, relabeled.noise))
    layers = []
    for net, world in zip(nets, worlds, strict=True):
        changed = replace(net, world=world)
        weights = whiten(changed)
        assert float(loss(weights, changed)) == pytest.approx(float(torch.trace(world.missed)))
        assert entropy(weights, changed) > 1.01 * least_entropy_value(changed)
        layers += hidden_maps(weights, net)
    assert align_layers(layers, layers, worlds[0].inputs).min() > 1 - 1e-9
    # the note's W_1 = Σ_x⁻¹, of the inputs Z x, keeps the view
    first, second = (
        torch.linalg.inv(net.before @ worlds[0].inputs @ net.before.T) @ net.before for net in nets
    )
    inputs = worlds[0].inputs
    assert linear_cka(first, second, of_x=inputs, of_y=inputs, between=inputs) < 0.9
    with pytest.raises(InputError, match="keeps all 5 inputs, but a hidden layer is only 4 wide"):
        whiten(replace(nets[0], widths=(4,)))


def test_what_cannot_be_is_refused() -> None:
    world = make_world(d=5, c=4, rank=3, seed=0)
    with pytest.raises(
        InputError,
        match="the map has rank 3, but a hidden layer is only 2 wide; make it 3 or wider",
    ):
        least_entropy(make_nets([[4, 2]])[0])
    with pytest.raises(InputError, match="5 inputs to 4 labels has a rank of 1 … 4, not 5"):
        make_world(d=5, c=4, rank=5, seed=0)
    nothing, moment = torch.zeros(3, 5, dtype=torch.float64), world.inputs
    with pytest.raises(MetricError, match="0 for every input has no representation"):
        linear_cka(nothing, nothing, of_x=moment, of_y=moment, between=moment)
