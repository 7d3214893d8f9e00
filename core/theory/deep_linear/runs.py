"""What is shown of deep linear networks: runs of training and sweeps, each a few tables.

Every function returns tables by name: `looks`, a row per moment or setting; `layers`, a row per
layer at each; `pairs`, the linear CKA of hidden layers at each, `row` with `column`, named a1, a2,
b1 … of networks a, b ….
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
import torch

from core.progress import Progress
from core.theory.deep_linear.breakers import FLOW_TIME, break_alignment, relabel
from core.theory.deep_linear.minima import (
    least_entropy,
    least_entropy_value,
    least_norm,
    transform,
    whiten,
)
from core.theory.deep_linear.network import (
    Weights,
    align_layers,
    disproportion,
    entropy,
    forward_maps,
    gradient_moments,
    hidden_maps,
    layer_moments,
    loss,
    sharpness,
)
from core.theory.deep_linear.symmetry import entropy_change, least, move
from core.theory.deep_linear.training import (
    Descent,
    check_finite,
    descend_entropic,
    end_entropic,
    end_mixed,
    flow,
    is_finite,
    run_sgd,
)
from core.theory.deep_linear.world import Frame, Matrix, Net, make_nets, root

Row = dict[str, Any]
Tables = dict[str, pd.DataFrame]
NETWORKS = "abcd"
NOISE, NO_NOISE = "with noise", "without noise"
COUNTS = (0, 30, 100, 200, 400, 800, 1_500, 3_000, 6_000, 12_000, 25_000, 50_000, 75_000, 100_000)
EVERY = 25  # steps of descent on the entropic loss between two looks


# --- training, look by look ---


def train_entropic(nets: Sequence[Net]) -> Tables:
    """Descend on the entropic loss with every network; see `_look`."""
    runs = [descend_entropic(net, every=EVERY) for net in nets]
    found: dict[str, list[Row]] = {}
    held: list[Weights] = [net.start for net in nets]
    _look(found, nets, held, {"run": "entropic loss", "at": 0})
    for number, latest in enumerate(zip_longest(*runs), start=1):
        held = [before if now is None else now for now, before in zip(latest, held, strict=True)]
        _look(found, nets, held, {"run": "entropic loss", "at": EVERY * number})
    return _tables(found)


def train_noisily(
    nets: Sequence[Net],
    descent: Descent,
    *,
    counts: Sequence[int] = (),
    report: Progress | None = None,
) -> Tables:
    """Train every network by SGD, and by the same steps without noise; see `_look`.

    counts: COUNTS if empty. Raises InputError if a run diverges.
    """
    found: dict[str, list[Row]] = {}
    counts = counts or COUNTS
    for place, (run, batch) in enumerate({NOISE: descent.batch, NO_NOISE: 0}.items()):
        way = replace(descent, batch=batch)
        runs = [run_sgd(net, way, counts=counts) for net in nets]
        for number, (count, *held) in enumerate(zip(counts, *runs, strict=True), start=1):
            for weights in held:
                check_finite(weights, descent, count=count)
            _look(found, nets, held, {"run": run, "at": count})
            if report:
                report(place * len(counts) + number, 2 * len(counts), "looks")
    return _tables(found)


def _look(
    found: dict[str, list[Row]], nets: Sequence[Net], held: Sequence[Weights], about: Row
) -> None:
    """Measure all networks by exact moments and add rows to the tables.

    looks, a row per network: min_alignment, the smallest linear CKA of any two hidden layers of any
    networks; max_disproportion, of them, from definition 1; and of the network itself excess_loss,
    above its floor, entropy over its least, and distance, the largest disproportion of a layer with
    the closed form's. layers: `weigh`. pairs: all hidden layers with all.
    """
    maps = [hidden_maps(weights, net.frame) for net, weights in zip(nets, held, strict=True)]
    every = [layer for layers in maps for layer in layers]
    names = [
        f"{name}{i}"
        for name, own in zip(NETWORKS, maps, strict=False)
        for i in range(1, len(own) + 1)
    ]
    scores = align_layers(every, every, nets[0].world.inputs)
    both = {
        "min_alignment": float(scores.min()),
        "max_disproportion": max(disproportion(x, y) for x in every for y in every),
    }
    for name, net, weights, hidden in zip(NETWORKS, nets, held, maps, strict=False):
        aligned = hidden_maps(least_entropy(net.world, net.frame, net.widths), net.frame)
        own = {
            "network": name,
            "excess_loss": float(loss(weights, net.frame, net.world)) - net.world.floor,
            "entropy": float(entropy(weights, net.frame, net.world))
            / least_entropy_value(net.world, net.frame, len(weights)),
            "distance": max(disproportion(x, y) for x, y in zip(hidden, aligned, strict=True)),
        }
        found.setdefault("looks", []).append({**about, **both, **own})
        found.setdefault("layers", []).extend(
            {**about, "network": name, **row} for row in weigh(net, weights)
        )
    found.setdefault("pairs", []).extend(_pairs(scores, names, names, about))


def weigh(net: Net, weights: Weights) -> Iterator[Row]:
    """Yield a row for each matrix: the frozen M^I Z, layer 0, and W_1 … W_D with what it puts out.

    norm, stretch: of W_i on the r largest directions of what it gets (what a wide matrix does next
    to them changes neither loss nor entropy), its norm and its first over its last singular value,
    1 for a rotation. spread: the first over the r-th eigenvalue of E[h hᵀ]. With the ending
    _theory: at the least entropy. Of hidden layers: incoming, outgoing, E‖∇_{W_i} ℓ‖² and
    E‖∇_{W_{i+1}} ℓ‖²; offset, λ* of T = 1, where the entropy is least along the layer's scale;
    gradients_apart, weights_apart, ‖X − Y‖ / (‖X‖ + ‖Y‖) of both sides of the gradient balance, and
    of W_i W_iᵀ and W_{i+1}ᵀ W_{i+1}, which weight decay balances; proportion, the cosine of E[h hᵀ]
    and E[g gᵀ]. Source: Ziyin and Chuang 2025, equations 33, 36, 39 and 63, footnote 16, section 6.
    """
    rank = int(torch.linalg.matrix_rank(net.world.target))
    aligned = least_entropy(net.world, net.frame, net.widths)
    moments = gradient_moments(weights, net.frame, net.world)
    layers = layer_moments(weights, net.frame, net.world)
    measured, theory = (_measure(net, each, rank) for each in (weights, aligned))
    for place, (row, goal) in enumerate(zip(measured, theory, strict=True)):
        row |= {f"{name}_theory": value for name, value in goal.items()}
        if 0 < place < len(weights):
            (inward, outward), (hidden, back) = moments[place - 1], layers[place - 1]
            before, after = weights[place - 1], weights[place]
            norms = torch.linalg.matrix_norm(hidden) * torch.linalg.matrix_norm(back)
            row |= {
                "incoming": float(torch.trace(inward)),
                "outgoing": float(torch.trace(outward)),
                "offset": least((inward, outward), torch.eye(len(inward), dtype=torch.float64)),
                "gradients_apart": _apart(inward, outward),
                "weights_apart": _apart(before @ before.T, after.T @ after),
                "proportion": float((hidden * back).sum() / norms) if norms else math.nan,
            }
        yield {"layer": place, **row}


def _measure(net: Net, weights: Weights, rank: int) -> list[Row]:
    half, rows = root(net.world.inputs), []
    seen = torch.eye(len(half), dtype=torch.float64)  # the directions in which a matrix works
    matrices = [net.frame.before, *weights]
    for place, layer in enumerate(forward_maps(weights, net.frame)):
        working = matrices[place] @ seen
        modes = torch.linalg.svdvals(working)[:rank]
        left, sizes, _ = torch.linalg.svd(layer @ half, full_matrices=False)
        seen = left[:, :rank] if place else seen
        rows.append(
            {
                "norm": float(torch.linalg.matrix_norm(working)),
                "stretch": float(modes[0] / modes[-1]),
                "spread": float(sizes[0].square() / sizes[rank - 1].square()),
            }
        )
    return rows


def _apart(x: Matrix, y: Matrix) -> float:
    first, second, both = (float(torch.linalg.matrix_norm(each)) for each in (x, y, x - y))
    return both / (first + second)


# --- sharpness, and its edge ---

SHARPENS: Mapping[str, Any] = {
    "quiet": 1e3,
    "condition": 1.0,
}  # strong modes of V have little noise
FLATTENS: Mapping[str, Any] = {
    "quiet": None,
    "condition": 10.0,
}  # Z is ill-conditioned, noise is even
COURSE: Mapping[str, Any] = {"noise": 24.0, "scale": 0.5}
COURSE_STEPS, COURSE_LOOKS = 150_000, 16
SETTLED = 1_500  # steps after which the loss has settled


def follow_sharpness(
    world: Mapping[str, int],
    widths: Sequence[int],
    descent: Descent,
    report: Progress | None = None,
) -> Tables:
    """Train a network with and without noise on data on which noise sharpens it, and on data on
    which it flattens it. world: d, c, rank and seed, as of `make_nets`.

    looks: data, run, at, time η · at; sharpness; entropy over its least; alignment with the
    solution of least entropy, the smallest CKA of a layer; excess_loss.
    """
    counts = _rising(COURSE_STEPS, COURSE_LOOKS)
    rows: list[Row] = []
    for data, choices in (("sharpens", SHARPENS), ("flattens", FLATTENS)):
        (net,) = make_nets([widths], **world, **choices, **COURSE)
        for run, batch in ((NOISE, descent.batch), (NO_NOISE, 0)):
            about = {"data": data, "run": run}
            rows += _course(net, replace(descent, batch=batch), counts, about)
            if report:
                report(len(rows), 4 * len(counts), "looks")
    return {"looks": pd.DataFrame(rows)}


EDGE: Mapping[str, Any] = {"quiet": 1e3, "condition": 4.0, "noise": 40.0, "scale": 0.5}
EDGE_BATCH, EDGE_TIME, EDGE_LOOKS = 1024, 80.0, 16  # time: η² times the number of steps
_LOST = 1e9  # a loss from which no descent returns
BETWEEN = 0.4  # where the edge of the large step lies, from the flat solution to the aligned one


def edge_steps(net: Net) -> tuple[float, float]:
    """Return a large step, whose edge 2 / η lies between the sharpness of the solution of least
    norm and that of least entropy, and a small one, a quarter of it.
    """
    flat, sharp = (
        sharpness(solve(net.world, net.frame, net.widths), net.frame, net.world)
        for solve in (least_norm, least_entropy)
    )
    large = 2 / (flat * (sharp / flat) ** BETWEEN)
    return large, large / 4


def approach_edge(
    world: Mapping[str, int],
    width: int,
    steps: Sequence[float] = (),
    batch: int = EDGE_BATCH,
    report: Progress | None = None,
) -> Tables:
    """Train a network of one hidden layer at several sizes of steps on the same data, for the same
    η² · at, in which noise does the same.

    steps: those of `edge_steps` if empty. looks: step, at, time η² · at; sharpness; edge, sharpness
    over 2 / η; and as `follow_sharpness`. A run that diverges has a last row without numbers.
    """
    (net,) = make_nets([[width]], **world, **EDGE)
    steps = steps or edge_steps(net)
    rows: list[Row] = []
    for number, step in enumerate(steps, start=1):
        counts = _rising(round(EDGE_TIME / step**2), EDGE_LOOKS)
        rows += [
            row | {"time": step**2 * row["at"], "edge": row["sharpness"] * step / 2}
            for row in _course(net, Descent(step, batch), counts, {"step": step})
        ]
        if report:
            report(number, len(steps), "sizes of steps")
    solution = least_entropy(net.world, net.frame, net.widths)
    sharp = sharpness(solution, net.frame, net.world)
    return {"looks": pd.DataFrame(rows).assign(sharpness_theory=sharp)}


def _course(net: Net, descent: Descent, counts: Sequence[int], about: Row) -> Iterator[Row]:
    goal = hidden_maps(least_entropy(net.world, net.frame, net.widths), net.frame)
    least_value = least_entropy_value(net.world, net.frame, len(net.widths) + 1)
    for count, weights in zip(counts, run_sgd(net, descent, counts=counts), strict=True):
        row: Row = {**about, "at": count, "time": count * descent.step}
        excess = float(loss(weights, net.frame, net.world)) - net.world.floor
        if not excess < _LOST:
            nothing = dict.fromkeys(("sharpness", "entropy", "alignment", "excess_loss"), math.nan)
            yield row | nothing
            return
        layers = align_layers(hidden_maps(weights, net.frame), goal, net.world.inputs)
        yield row | {
            "sharpness": sharpness(weights, net.frame, net.world),
            "entropy": float(entropy(weights, net.frame, net.world)) / least_value,
            "alignment": float(layers.min()),
            "excess_loss": excess,
        }


def _rising(until: int, looks: int) -> list[int]:
    """Return 0 and rising numbers of steps, evenly spread in the logarithm."""
    return [0, *dict.fromkeys(int(count) for count in np.geomspace(until / 1000, until, looks))]


# --- the symmetry ---

SYMMETRY = Descent(0.01)
SYMMETRY_STEPS, REPEATS = 100_000, 5
REACH, POINTS = 1.0, 41  # of λ


def generators(width: int) -> dict[str, Matrix]:
    """Return symmetric matrices T by name: all units, each unit alone, and one drawn at random with
    largest eigenvalue 1.
    """
    eye = torch.eye(width, dtype=torch.float64)
    draw = torch.randn(
        width, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    turned = draw + draw.T
    units = {f"unit {j + 1}": torch.diag(eye[j]) for j in range(width)}
    random = turned / torch.linalg.matrix_norm(turned, 2)
    return {"all units": eye, **units, "random": random}


def solve_repeatedly(net: Net, descent: Descent, repeats: int = REPEATS) -> list[list[Matrix]]:
    """Return the weights that SGD finds with several streams of samples."""
    ends = []
    for stream in range(repeats):
        (end,) = run_sgd(net, descent, counts=[SYMMETRY_STEPS], stream=(net.seed, stream))
        check_finite(end, descent, count=SYMMETRY_STEPS)
        ends.append(end)
    return ends


def move_along(net: Net, weights: Weights, *, layer: int, by: Matrix) -> Tables:
    """Return the entropy along a symmetry at a hidden layer of a network, 1 … D − 1.

    looks: value, λ; entropy S(λ), and predicted, by equation 27, both over the least of all minima;
    excess_loss; alignment of the layer that moves with the network's others, and with the solution
    of least entropy.
    """
    moments = gradient_moments(weights, net.frame, net.world)[layer - 1]
    least_value = least_entropy_value(net.world, net.frame, len(weights))
    goal = hidden_maps(least_entropy(net.world, net.frame, net.widths), net.frame)
    begun = float(entropy(weights, net.frame, net.world))
    rows: list[Row] = []
    pairs: list[Row] = []
    for value in np.linspace(-REACH, REACH, POINTS).tolist():
        moved = move(weights, layer=layer, by=by, to=value)
        hidden = hidden_maps(moved, net.frame)
        layers = align_layers(hidden, hidden, net.world.inputs)
        names = [f"h{i}" for i in range(1, len(hidden) + 1)]
        solved = align_layers(hidden, goal[:1], net.world.inputs)
        rows.append(
            {
                "value": value,
                "entropy": float(entropy(moved, net.frame, net.world)) / least_value,
                "predicted": (begun + entropy_change(moments, by, value)) / least_value,
                "excess_loss": float(loss(moved, net.frame, net.world)) - net.world.floor,
                "alignment": float(min(layers.min(), solved.min())),
            }
        )
        whole = torch.cat([layers, solved], dim=1)
        pairs += _pairs(whole, names, [*names, "theory"], {"value": value})
    return {"looks": pd.DataFrame(rows), "pairs": pd.DataFrame(pairs)}


def least_values(net: Net, ends: Sequence[Weights], *, layer: int) -> pd.DataFrame:
    """Return λ* for every T of `generators` at a hidden layer, after each of several trainings:
    repeat, generator, least, and slope, dS/dλ there over the sum of both sides (equation 31).
    """
    rows = []
    for repeat, weights in enumerate(ends):
        for name, by in generators(net.widths[layer - 1]).items():
            moments = gradient_moments(weights, net.frame, net.world)[layer - 1]
            value = least(moments, by)
            slope = math.nan
            if math.isfinite(value):
                moved = move(weights, layer=layer, by=by, to=value)
                inward, outward = gradient_moments(moved, net.frame, net.world)[layer - 1]
                sides = [float(torch.trace(by @ side)) for side in (inward, outward)]
                slope = (sides[1] - sides[0]) / float(torch.trace(inward + outward))
            rows.append({"repeat": repeat, "generator": name, "least": value, "slope": slope})
    return pd.DataFrame(rows)


# --- other minima, breakers, limits, hierarchy ---


def draw_minima(
    nets: Sequence[Net],
    descent: Descent,
    *,
    count: int = 200,
    spread: float = 1.0,
    seed: int = 0,
    steps: int = 0,
) -> Tables:
    """Draw other global minima of the loss next to what SGD finds.

    looks: by, "SGD" or "chance"; min_alignment of the first network's hidden layers with the
    second's; excess_loss of the first. By chance both are at their least entropy, and each hidden
    layer of the first is taken through a random T⁻¹, T = exp(spread · G) with G normal and of unit
    norm for each dimension. Source: Ziyin and Chuang 2025, section 3.
    """
    first, second = nets[:2]
    steps = steps or COUNTS[-1]
    ends = []
    for net in (first, second):
        (end,) = run_sgd(net, descent, counts=[steps])
        check_finite(end, descent, count=steps)
        ends.append(end)
    draw = torch.Generator().manual_seed(seed)
    solved = [least_entropy(net.world, net.frame, net.widths) for net in (first, second)]
    settings: list[tuple[str, Weights, Weights]] = [("SGD", ends[0], ends[1])]
    for _ in range(count):
        weights: Weights = solved[0]
        for layer, width in enumerate(first.widths, start=1):
            noise = torch.randn(width, width, generator=draw, dtype=torch.float64) / width**0.5
            weights = transform(weights, layer=layer, by=torch.linalg.matrix_exp(spread * noise))
        settings.append(("chance", weights, solved[1]))
    rows = [
        {
            "by": by,
            "min_alignment": float(
                align_layers(
                    hidden_maps(one, first.frame),
                    hidden_maps(other, second.frame),
                    first.world.inputs,
                ).min()
            ),
            "excess_loss": float(loss(one, first.frame, first.world)) - first.world.floor,
        }
        for by, one, other in settings
    ]
    return {"looks": pd.DataFrame(rows)}


def sweep(
    name: str,
    nets: Sequence[Net],
    *,
    strengths: Sequence[float],
    report: Progress | None = None,
) -> Tables:
    """Break the theorem at each strength.

    looks: strength; measured, measured_mean: least and mean alignment of the first network's hidden
    layers with the second's; predicted, predicted_mean: those of the theory, NaN if it is silent.
    Raises as `break_alignment`.
    """
    rows: list[Row] = []
    pairs: list[Row] = []
    for number, strength in enumerate(strengths, start=1):
        broken = break_alignment(name, (nets[0], nets[1]), strength)
        row: Row = {"strength": strength}
        for kind, scores in (("measured", broken.measured), ("predicted", broken.predicted)):
            row[kind] = math.nan if scores is None else float(scores.min())
            row[f"{kind}_mean"] = math.nan if scores is None else float(scores.mean())
        rows.append(row)
        first, second = (
            [f"{network}{place + 1}" for place in range(size)]
            for network, size in zip(NETWORKS, broken.measured.shape, strict=False)
        )
        pairs += _pairs(broken.measured, first, second, {"strength": strength})
        if report:
            report(number, len(strengths), "strengths")
    return {"looks": pd.DataFrame(rows), "pairs": pd.DataFrame(pairs)}


UNTIL, LIMIT_LOOKS = 300.0, 9  # time t: η times the number of steps


def sweep_limits(
    nets: Sequence[Net], descents: Sequence[Descent], report: Progress | None = None
) -> Tables:
    """Train by gradient flow, whose steps are small first, then by SGD of every size of steps,
    whose time is long first, and look at the same times.

    looks: step, η, 0 for gradient flow; time, η times the number of steps; at; min_alignment of all
    hidden layers, NaN if a run has diverged. Source: Ziyin and Chuang 2025, equation 72.
    """
    times = np.geomspace(UNTIL / 1e4, UNTIL, LIMIT_LOOKS)
    rows: list[Row] = []
    for descent in (Descent(0.0), *descents):
        counts = [max(1, round(time / descent.step)) if descent.step else 0 for time in times]
        runs = [
            run_sgd(net, descent, counts=counts)
            if descent.step
            else flow(net, until=UNTIL, looks=LIMIT_LOOKS)
            for net in nets
        ]
        for time, count, *held in zip(times, counts, *runs, strict=True):
            row = {"step": descent.step, "time": float(time), "at": count}
            rows.append(row | {"min_alignment": _least_alignment(nets, held)})
        if report:
            report(len(rows), LIMIT_LOOKS * (1 + len(descents)), "looks")
    return {"looks": pd.DataFrame(rows)}


def _least_alignment(nets: Sequence[Net], held: Sequence[Weights]) -> float:
    if not all(map(is_finite, held)):
        return math.nan
    maps = [
        each
        for net, weights in zip(nets, held, strict=True)
        for each in hidden_maps(weights, net.frame)
    ]
    return float(align_layers(maps, maps, nets[0].world.inputs).min())


CONTROL = "samples"
DIFFERENCES: Mapping[str, Callable[[Net, Net], Net]] = {  # from the first network, and another
    CONTROL: lambda a, _: a,
    "first weights": lambda a, b: replace(a, seed=b.seed),
    "widths": lambda a, _: replace(a, widths=tuple(width + 2 for width in a.widths)),
    "view": lambda a, b: replace(a, frame=Frame(b.frame.before, a.frame.after)),
    "output matrix": lambda a, b: replace(a, frame=Frame(a.frame.before, b.frame.after)),
    "labels": lambda a, _: relabel(a, 1.0),
}
HIERARCHY_STEPS = 100_000


def _end_noisily(net: Net, descent: Descent, stream: Sequence[int]) -> Weights:
    (end,) = run_sgd(net, descent, counts=[HIERARCHY_STEPS], stream=stream)
    check_finite(end, descent, count=HIERARCHY_STEPS)
    return end


TRAININGS: Mapping[str, Callable[[Net, Descent, Sequence[int]], Weights]] = {
    "whitening, constructed": lambda net, *_: whiten(net.world, net.frame, net.widths),
    "entropic loss": lambda net, *_: end_entropic(net),
    "SGD": _end_noisily,
    "weight decay": lambda net, *_: end_mixed(net, 1.0),
    "gradient flow": lambda net, *_: list(flow(net, until=FLOW_TIME))[-1],
}


def compare_universality(
    nets: Sequence[Net], descent: Descent, report: Progress | None = None
) -> Tables:
    """Train the first network and one that differs from it in one thing alone, in every way of
    training, for everything that may differ.

    looks: training; differs; within_a, within_b, between: least linear CKA of any two layers of one
    network, of the other, and of one with the other, statements 1 to 3 of theorem 1; same_layer:
    that of each layer with the same layer of the other. Every training by SGD has samples of its
    own; the control differs in nothing else. Whitening needs widths of at least the inputs, and is
    left out otherwise. Raises InputError if SGD diverges. Source: Ziyin and Chuang 2025, section 6.
    """
    first, second = nets[:2]
    rows: list[Row] = []
    trainings = dict(TRAININGS)
    if min(first.widths) < len(first.world.inputs):
        trainings.pop("whitening, constructed", None)
    for training, train in trainings.items():
        one = hidden_maps(train(first, descent, (first.seed, 0)), first.frame)
        for place, (differs, change) in enumerate(DIFFERENCES.items(), start=1):
            other = change(first, second)
            two = hidden_maps(train(other, descent, (first.seed, place)), other.frame)
            scores = align_layers([*one, *two], [*one, *two], first.world.inputs)
            between = scores[: len(one), len(one) :]
            rows.append(
                {
                    "training": training,
                    "differs": differs,
                    "within_a": float(scores[: len(one), : len(one)].min()),
                    "within_b": float(scores[len(one) :, len(one) :].min()),
                    "between": float(between.min()),
                    "same_layer": float(between.diagonal().min()),
                }
            )
            if report:
                report(len(rows), len(trainings) * len(DIFFERENCES), "networks")
    return {"looks": pd.DataFrame(rows)}


def _pairs(
    scores: Matrix, rows: Sequence[str], columns: Sequence[str], about: Row
) -> Iterator[Row]:
    for row, line in zip(rows, scores.tolist(), strict=True):
        for column, value in zip(columns, line, strict=True):
            yield {**about, "row": row, "column": column, "alignment": value}


def _tables(found: Mapping[str, Sequence[Row]]) -> Tables:
    return {name: pd.DataFrame(rows) for name, rows in found.items()}
