"""Steps against time, and what layers depend on: each row is a training of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.errors import InputError
from core.theory.deep_linear.breaking.broken import descend_to_end
from core.theory.deep_linear.breaking.saddles import keep_modes, stop_at_two_saddles
from core.theory.deep_linear.closed_form import least_entropy, least_norm
from core.theory.deep_linear.descent.sgd import Descent
from core.theory.deep_linear.layer_cka import disproportion
from core.theory.deep_linear.nets import make_nets
from core.theory.deep_linear.network import conserved, hidden_maps, loss
from core.theory.deep_linear.sweeps import hierarchy, limits
from core.theory.looks import tabulate
from tests.theory.deep_linear import literal


def drawn(net, *, steps, batch, stream=None):
    """Return inputs and labels as SGD draws them, by the formula y = V x + ε."""
    of_x, of_noise = np.random.default_rng(net.seed if stream is None else stream).spawn(2)
    half, noise = (
        np.array(literal.root_of(literal.rows_of(each)))
        for each in (net.world.inputs, net.world.noise)
    )
    xs = of_x.standard_normal((steps, batch, len(half))) @ half
    missed = of_noise.standard_normal((steps, batch, len(noise))) @ noise
    return xs, xs @ net.world.target.numpy().T + missed


def test_every_look_at_steps_and_time_is_a_descent_written_out(monkeypatch) -> None:
    monkeypatch.setattr(limits, "UNTIL", 4.0)
    monkeypatch.setattr(limits, "LOOKS", 3)
    nets = make_nets(d=2, c=2, rank=1, widths=((2,), (2, 2)), seed=3)
    table = tabulate(limits.sweep_limits(nets, [Descent(0.05, 2), Descent(0.02, 2)]))
    assert table["step"].tolist() == [0.0] * 3 + [0.05] * 3 + [0.02] * 3
    assert table["time"].tolist() == pytest.approx([4e-4, 0.04, 4.0] * 3)
    for step, row in ((0.05, 5), (0.02, 8)):
        maps = []
        for net in nets:
            xs, ys = drawn(net, steps=round(4 / step), batch=2)
            weights = literal.descend(net.start, net.frame, xs, ys, step=step, batch=2)
            layer = np.array(literal.rows_of(net.frame.before))
            for weight in weights[:-1]:
                layer = np.array(weight) @ layer
                maps.append(literal.rows_of(layer))
        own = literal.rows_of(nets[0].world.inputs)
        slow = min(literal.cka(x, y, own, own, own) for x in maps for y in maps)
        assert table["min_alignment"][row] == pytest.approx(slow, rel=1e-8)


def test_small_steps_first_is_gradient_flow_written_out(monkeypatch) -> None:
    monkeypatch.setattr(limits, "UNTIL", 1.0)
    monkeypatch.setattr(limits, "LOOKS", 2)
    nets = make_nets(d=2, c=2, rank=1, widths=((2,), (2,)), seed=3)
    table = tabulate(limits.sweep_limits(nets, []))
    maps = []
    for net in nets:
        weights = [weight.numpy() for weight in net.start]
        before, after = net.frame.before.numpy(), net.frame.after.numpy()
        inputs, target = net.world.inputs.numpy(), net.world.target.numpy()
        for _ in range(20_000):  # Euler's steps on the loss
            first, second = weights
            miss = 2 * after.T @ (after @ second @ first @ before - target) @ inputs @ before.T
            weights = [first - 5e-5 * second.T @ miss, second - 5e-5 * miss @ first.T]
        maps.append(literal.rows_of(weights[0] @ before))
    own = literal.rows_of(nets[0].world.inputs)
    first, second = maps
    slow = literal.cka(first, second, own, own, own)
    assert table["min_alignment"].iloc[-1] == pytest.approx(slow, abs=1e-3)


def test_a_run_that_diverges_has_no_number(monkeypatch) -> None:
    monkeypatch.setattr(limits, "UNTIL", 30.0)
    monkeypatch.setattr(limits, "LOOKS", 2)
    nets = make_nets(d=2, c=2, rank=1, widths=((2,), (2,)), seed=3)
    table = tabulate(limits.sweep_limits(nets, [Descent(1.0)]))
    assert np.isnan(table["min_alignment"].iloc[-1])
    assert table["min_alignment"].iloc[:2].notna().all()


def test_what_layers_depend_on_is_what_the_theory_says(monkeypatch) -> None:
    solved = {  # as each way of training ends
        "theorem-1": lambda net, *_: least_entropy(net.world, net.frame, net.widths, seed=net.seed),
        "weight-decay": lambda net, *_: least_norm(net.world, net.frame, net.widths, seed=net.seed),
    }
    monkeypatch.setattr(hierarchy, "TRAININGS", solved)
    table = tabulate(hierarchy.compare_universality(make_nets(), Descent(0.01)))
    same = table.pivot(index="preset", columns="differs", values="same_layer")
    kept = ["samples", "first weights", "widths"]
    for preset, alike in (("theorem-1", [*kept, "view", "output matrix"]), ("weight-decay", kept)):
        assert same.loc[preset][alike].min() > 1 - 1e-9
        assert same.loc[preset].drop(alike).max() < 0.99
    theorem = table[table["preset"] == "theorem-1"]
    assert theorem[["within_a", "within_b"]].min().min() > 1 - 1e-9
    assert theorem.loc[theorem["differs"] != "labels", "between"].min() > 1 - 1e-9
    assert table.loc[table["preset"] == "weight-decay", "within_a"].max() < 0.99


def test_each_way_of_training_is_the_one_that_it_is_called(monkeypatch) -> None:
    monkeypatch.setattr(hierarchy, "SGD_STEPS", 3)
    monkeypatch.setattr(hierarchy, "FLOW_TIME", 5.0)
    net = make_nets(d=2, c=2, rank=2, widths=((2,), (2,)), seed=3)[0]
    trained = {
        name: train(net, Descent(0.02), (3, 1)) for name, train in hierarchy.TRAININGS.items()
    }
    xs, ys = drawn(net, steps=3, batch=1, stream=(3, 1))
    slow = literal.descend(net.start, net.frame, xs, ys, step=0.02, batch=1)
    for one, other in zip(trained["sgd"], slow, strict=True):
        assert one.numpy() == pytest.approx(np.array(other), rel=1e-10)
    solved = {"theorem-1": least_entropy, "weight-decay": least_norm}
    for name, solve in solved.items():
        goal = hidden_maps(solve(net.world, net.frame, net.widths), net.frame)[0]
        assert disproportion(hidden_maps(trained[name], net.frame)[0], goal) < 0.02
    for now, then in zip(conserved(trained["gradient-flow"]), conserved(net.start), strict=True):
        assert now.numpy() == pytest.approx(then.numpy(), abs=1e-5)


def test_every_descent_of_the_hierarchy_sees_samples_of_its_own(monkeypatch) -> None:
    seen = []

    def train(net, _, stream):
        seen.append(stream)
        return net.start

    monkeypatch.setattr(hierarchy, "TRAININGS", {"sgd": train})
    control = next(hierarchy.compare_universality(make_nets(), Descent(0.01)))
    assert control.figures["differs"] == "samples"
    assert control.figures["same_layer"] == pytest.approx(1)  # all else is the same
    list(hierarchy.compare_universality(make_nets(), Descent(0.01)))
    assert len(set(seen[2:])) == 1 + len(hierarchy.DIFFERENCES)


def test_a_descent_of_the_hierarchy_that_diverges_is_told(monkeypatch) -> None:
    monkeypatch.setattr(hierarchy, "SGD_STEPS", 2_000)
    monkeypatch.setattr(hierarchy, "TRAININGS", {"sgd": hierarchy.TRAININGS["sgd"]})
    with pytest.raises(InputError, match="diverged before 2,000 steps of size 3;"):
        list(hierarchy.compare_universality(make_nets(), Descent(3.0)))


def test_a_difference_is_in_one_thing_alone() -> None:
    a, b = make_nets()
    for name, change in hierarchy.DIFFERENCES.items():
        other = change(a, b)
        same = {
            "first weights": other.seed == a.seed,
            "widths": other.widths == a.widths,
            "view": bool((other.frame.before == a.frame.before).all()),
            "output matrix": bool((other.frame.after == a.frame.after).all()),
            "labels": bool((other.world.target == a.world.target).all()),
        }
        changed = [key for key, kept in same.items() if not kept]
        assert changed == ([] if name == hierarchy.CONTROL else [name])


@pytest.mark.slow
def test_saddles_are_the_low_rank_solutions_of_the_loss() -> None:
    """At a saddle the gradient is 0, the loss is that of the missing modes, and saddles without a
    common mode have layers that know nothing of each other.
    """
    a, b = make_nets(d=3, c=3, rank=2, widths=((2,), (3,)), seed=2)
    half = literal.root_of(literal.rows_of(a.world.inputs))
    strong, weak, _ = np.linalg.svd(a.world.target.numpy() @ np.array(half))[1]
    for kept, missing in ((range(1), weak), (range(1, 2), strong)):
        end = descend_to_end(replace(a, world=keep_modes(a.world, kept)))
        moving = [weight.requires_grad_() for weight in end]
        value = loss(moving, a.frame, a.world)
        assert value.item() == pytest.approx(a.world.floor + missing**2, abs=1e-5)
        slopes = torch.autograd.grad(value, moving)
        assert max(slope.abs().max().item() for slope in slopes) < 2e-3  # of order η = 1e-4
    broken = stop_at_two_saddles(a, b, 1.0)
    own = literal.rows_of(a.world.inputs)
    first, second = (literal.rows_of(layers[0]) for layers in broken.trained)
    assert literal.cka(first, second, own, own, own) < 1e-6
    assert broken.figures["at the same saddle"] == pytest.approx(1, abs=1e-4)
