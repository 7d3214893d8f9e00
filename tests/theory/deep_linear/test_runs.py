"""Steps against time, what layers depend on, and the symmetry: each row is what it says."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from core.errors import InputError
from core.theory.deep_linear import runs
from core.theory.deep_linear.figures import layer_maps
from core.theory.deep_linear.minima import least, least_entropy, least_norm, move, whiten
from core.theory.deep_linear.network import (
    entropy,
    gradient_moments,
    hidden_maps,
    make_nets,
    sharpness,
)
from core.theory.deep_linear.runs import (
    DIFFERENCES,
    approach_edge,
    compare_universality,
    follow_sharpness,
    generators,
    move_along,
    sweep,
    sweep_limits,
    train_noisily,
)
from core.theory.deep_linear.setup import CONTROL, NO_NOISE, NOISE, Descent
from core.theory.deep_linear.training import run_sgd
from tests.theory.deep_linear import literal

FEW = {"d": 2, "c": 2, "rank": 1, "seed": 3}
WORLD = {"d": 3, "c": 3, "rank": 2, "seed": 0}


def least_alignment(nets, held) -> float:
    own = literal.rows_of(nets[0].world.inputs)
    maps = [
        literal.rows_of(layer)
        for net, weights in zip(nets, held, strict=True)
        for layer in hidden_maps(weights, net)
    ]
    return min(literal.cka(x, y, own, own, own) for x in maps for y in maps)


def test_every_look_at_training_measures_all_networks() -> None:
    nets = make_nets(((2,), (2, 2), (3,)), **FEW)
    found = train_noisily(nets, Descent(0.05, 2), counts=(0, 40))
    looks, pairs, layers = (found[name] for name in ("looks", "pairs", "layers"))
    assert looks["network"].tolist() == ["a", "b", "c"] * 4
    for run, batch in ((NOISE, 2), (NO_NOISE, 0)):
        held = [list(run_sgd(net, Descent(0.05, batch), counts=[40]))[-1] for net in nets]
        rows = looks[(looks["run"] == run) & (looks["at"] == 40)]
        expected = least_alignment(nets, held)
        assert rows["min_alignment"].tolist() == pytest.approx([expected] * 3, rel=1e-8)
        scores = pairs[(pairs["run"] == run) & (pairs["at"] == 40)]
        assert scores["alignment"].min() == pytest.approx(expected, rel=1e-8)
        assert list(scores["row"].unique()) == ["a1", "b1", "b2", "c1"]
    assert layers.groupby("network")["layer"].max().to_dict() == {"a": 2, "b": 3, "c": 2}


def test_every_look_at_steps_and_time_is_a_descent(monkeypatch) -> None:
    monkeypatch.setattr(runs, "UNTIL", 4.0)
    monkeypatch.setattr(runs, "LIMIT_LOOKS", 3)
    nets = make_nets(((2,), (2, 2)), **FEW)
    descents = [Descent(0.05, 2), Descent(0.02, 2)]
    table = sweep_limits(nets, descents)["looks"]
    assert table["step"].tolist() == [0.0] * 3 + [0.05] * 3 + [0.02] * 3
    assert table["time"].tolist() == pytest.approx([4e-4, 0.04, 4.0] * 3)
    for descent, row in zip(descents, (5, 8), strict=True):
        counts = [round(4 / descent.step)]
        held = [list(run_sgd(net, descent, counts=counts))[-1] for net in nets]
        assert table["min_alignment"][row] == pytest.approx(least_alignment(nets, held), rel=1e-8)
    monkeypatch.setattr(runs, "UNTIL", 100.0)
    lost = sweep_limits(nets, [Descent(1.0)])["looks"]
    assert np.isnan(lost["min_alignment"].iloc[-1])
    assert lost["min_alignment"].iloc[:2].notna().all()


def test_what_layers_depend_on_is_what_the_theory_says(monkeypatch) -> None:
    solved = {  # as each way of training ends
        "whitening": lambda net, *_: whiten(net),
        "entropy": lambda net, *_: least_entropy(net, seed=net.seed),
        "norm": lambda net, *_: least_norm(net, seed=net.seed),
    }
    monkeypatch.setattr(runs, "TRAININGS", solved)
    table = compare_universality(make_nets(), Descent(0.01))["looks"]
    same = table.pivot(index="training", columns="differs", values="same_layer")
    kept = ["samples", "first weights", "widths"]
    views = [*kept, "view", "output matrix"]
    for training, alike in (("whitening", [*views, "labels"]), ("entropy", views), ("norm", kept)):
        assert same.loc[training][alike].min() > 1 - 1e-9
        assert same.loc[training].drop(alike).max() < 0.99 or training == "whitening"
    theorem = table[table["training"] == "entropy"]
    assert theorem[["within_a", "within_b"]].min().min() > 1 - 1e-9
    assert theorem.loc[theorem["differs"] != "labels", "between"].min() > 1 - 1e-9
    assert table.loc[table["training"] == "norm", "within_a"].max() < 0.99


def test_every_descent_of_the_hierarchy_sees_samples_of_its_own(monkeypatch) -> None:
    seen, by_sgd = [], runs.TRAININGS["SGD"]

    def train(net, _, stream):
        seen.append(stream)
        return net.start

    monkeypatch.setattr(runs, "TRAININGS", {"sgd": train})
    table = compare_universality(make_nets(), Descent(0.01))["looks"]
    assert table["differs"][0] == CONTROL
    assert table["same_layer"][0] == pytest.approx(1)  # all else is the same
    assert len(set(seen)) == 1 + len(DIFFERENCES)
    monkeypatch.setattr(runs, "HIERARCHY_STEPS", 2_000)
    monkeypatch.setattr(runs, "TRAININGS", {"sgd": by_sgd})
    with pytest.raises(InputError, match="diverged before 2,000 steps of size 3;"):
        compare_universality(make_nets(), Descent(3.0))


def test_a_difference_is_in_one_thing_alone() -> None:
    a, b = make_nets()
    for name, change in DIFFERENCES.items():
        other = change(a, b)
        same = {
            "first weights": other.seed == a.seed,
            "widths": other.widths == a.widths,
            "view": bool((other.before == a.before).all()),
            "output matrix": bool((other.after == a.after).all()),
            "labels": bool((other.world.target == a.world.target).all()),
        }
        changed = [key for key, kept in same.items() if not kept]
        assert changed == ([] if name == CONTROL else [name])


def test_the_entropy_along_the_symmetry_is_that_of_moved_weights_with_one_minimum() -> None:
    """Anywhere in training: equation 27, equation 36 by hand, and equation 31 at λ*."""
    net = make_nets([(2, 3)], **FEW)[0]
    weights = net.start
    _, begun, sides = literal.moments(weights, net)
    for layer, (inward, outward) in enumerate(sides, start=1):
        pair = gradient_moments(weights, net)[layer - 1]
        for name, by in generators(net.widths[layer - 1]).items():
            table = move_along(net, weights, layer=layer, by=by)["looks"]
            assert table["entropy"].to_numpy() == pytest.approx(table["predicted"], rel=1e-9)
            assert np.ptp(table["excess_loss"]) < 1e-9
            assert (np.diff(table["entropy"], 2) > 0).all()  # convex: one minimum
            best = least(pair, by)
            if name.startswith("unit"):
                unit = int(name.split()[1]) - 1
                ratio = inward[unit, unit] / outward[unit, unit]
                assert best == pytest.approx(math.log(ratio) / 4)
            if name == "all units":
                assert best == pytest.approx(math.log(np.trace(inward) / np.trace(outward)) / 4)
            moved = move(weights, layer=layer, by=by, to=best)
            _, size, after = literal.moments(moved, net)
            slope = np.trace(by.numpy() @ (after[layer - 1][1] - after[layer - 1][0]))
            assert slope == pytest.approx(0, abs=1e-8 * np.trace(after[layer - 1][0]))
            assert size <= begun + 1e-9
            for beside in (best - 0.1, best + 0.1):
                there = move(weights, layer=layer, by=by, to=beside)
                assert float(entropy(there, net)) > size


def test_a_symmetry_without_a_minimum_says_so() -> None:
    one, nothing = torch.eye(2, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.float64)
    assert least((one, nothing), one) == math.inf
    assert least((nothing, one), one) == -math.inf
    assert math.isnan(least((nothing, nothing), one))


def test_courses_measure_what_they_say(monkeypatch) -> None:
    monkeypatch.setattr(runs, "COURSE_STEPS", 100)
    monkeypatch.setattr(runs, "EDGE_TIME", 40.0)
    table = follow_sharpness(WORLD, (3,), Descent(0.01, 64))["looks"]
    assert table.groupby(["data", "run"]).size().nunique() == 1
    edge = approach_edge(WORLD, 3, (0.05, 1.0))["looks"]
    small, large = (edge[edge["step"] == step] for step in (0.05, 1.0))
    assert small["edge"].to_numpy() == pytest.approx(small["sharpness"] * 0.025)
    assert np.isnan(large["sharpness"].iloc[-1])  # it diverged
    (net,) = make_nets([[3]], **WORLD, **runs.WORLDS["edge"])
    solved = least_entropy(net)
    assert edge["sharpness_theory"][0] == pytest.approx(sharpness(solved, net))


def test_a_sweep_has_a_row_for_each_strength() -> None:
    found = sweep("saddle", make_nets(((2,), (3,)), d=3, c=3, rank=2), (0.0, 1.0))
    looks = found["looks"]
    assert looks["strength"].tolist() == [0.0, 1.0]
    assert looks["measured"].tolist() == pytest.approx(looks["predicted"].tolist(), abs=5e-3)


def test_layer_maps_name_networks_and_layers():
    names = ["a1", "a2", "b1"]
    pairs = pd.DataFrame(list(product(names, names)), columns=["row", "column"])
    figure = layer_maps(pairs.assign(alignment=1.0)).draw("light")
    rows = ["network a, layer 1", "2", "network b, layer 1"]
    assert list(figure.layout.yaxis.ticktext) == rows
    assert list(figure.layout.xaxis.ticktext) == ["a 1", "2", "b 1"]
    single = pd.DataFrame({"row": ["h1", "h2"], "column": ["h1", "theory"], "alignment": 1.0})
    figure = layer_maps(single).draw("light")
    assert list(figure.layout.yaxis.ticktext) == ["layer 1", "layer 2"]
    assert list(figure.layout.xaxis.ticktext) == ["layer 1", "theory"]
