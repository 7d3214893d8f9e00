"""Runs of training and sweeps of deep linear networks, each a few tables by name.

`looks`: a row per moment or setting; `layers`: a row per layer at each; `pairs`: linear CKA of
hidden layers at each, `row` with `column`, named a1, a2, b1 … of networks a, b ….
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pandas as pd
import torch

from core.progress import tell_each
from core.theory.deep_linear.breakers import FLOW_TIME, break_alignment, relabel
from core.theory.deep_linear.minima import (
    entropy_change,
    least,
    least_entropy,
    least_entropy_value,
    least_norm,
    move,
    transform,
    whiten,
)
from core.theory.deep_linear.network import (
    Matrix,
    Net,
    Weights,
    align_layers,
    disproportion,
    entropy,
    excess_loss,
    forward_maps,
    gradient_moments,
    hidden_maps,
    layer_moments,
    make_nets,
    root,
    sharpness,
)
from core.theory.deep_linear.setup import (
    CONTROL,
    DATA,
    EDGE_BATCH,
    NETWORKS,
    NO_NOISE,
    NOISE,
    POINTS,
    REACH,
    Descent,
    Tables,
    name_generators,
)
from core.theory.deep_linear.training import (
    check,
    descend_entropic,
    end_entropic,
    end_mixed,
    end_noisily,
    flow,
    is_finite,
    run_sgd,
)

Row = dict[str, Any]
COUNTS = (0, 30, 100, 200, 400, 800, 1_500, 3_000, 6_000, 12_000, 25_000, 50_000, 75_000, 100_000)
EVERY = 25  # steps of descent on the entropic loss between two looks


# --- training, look by look ---


def train_entropic(nets: Sequence[Net]) -> Tables:
    """Descend on the entropic loss with every network."""
    runs = [chain([net.start], descend_entropic(net, every=EVERY)) for net in nets]
    found: dict[str, list[Row]] = {}
    held: list[Weights] = [net.start for net in nets]
    for number, latest in enumerate(zip_longest(*runs)):
        held = [before if now is None else now for now, before in zip(latest, held, strict=True)]
        _look(found, nets, held, {"run": "entropic loss", "at": EVERY * number})
    return {name: pd.DataFrame(rows) for name, rows in found.items()}


def train_noisily(nets: Sequence[Net], descent: Descent, *, counts: Sequence[int] = ()) -> Tables:
    """Train every network by SGD, and by the same steps without noise; raise InputError if a run
    diverges. counts: COUNTS if empty.
    """
    found: dict[str, list[Row]] = {}
    for run, batch in tell_each([(NOISE, descent.batch), (NO_NOISE, 0)], "runs"):
        way, steps = replace(descent, batch=batch), counts or COUNTS
        runs = [run_sgd(net, way, counts=steps) for net in nets]
        for count, *held in zip(steps, *runs, strict=True):
            check(descent, held, count)
            _look(found, nets, held, {"run": run, "at": count})
    return {name: pd.DataFrame(rows) for name, rows in found.items()}


def _look(
    found: dict[str, list[Row]], nets: Sequence[Net], held: Sequence[Weights], about: Row
) -> None:
    maps = [hidden_maps(weights, net) for net, weights in zip(nets, held, strict=True)]
    every = [layer for layers in maps for layer in layers]
    names = [f"{n}{i + 1}" for n, own in zip(NETWORKS, maps, strict=False) for i in range(len(own))]
    scores = align_layers(every, every, nets[0].world.inputs)
    both = {
        "min_alignment": float(scores.min()),
        "max_disproportion": max(disproportion(x, y) for x in every for y in every),
    }
    for name, net, weights, hidden in zip(NETWORKS, nets, held, maps, strict=False):
        aligned = hidden_maps(least_entropy(net), net)
        own = {
            "network": name,
            "excess_loss": excess_loss(weights, net),
            "entropy": float(entropy(weights, net)) / least_entropy_value(net),
            "distance": max(disproportion(x, y) for x, y in zip(hidden, aligned, strict=True)),
        }
        found.setdefault("looks", []).append({**about, **both, **own})
        rows = ({**about, "network": name, **row} for row in weigh(net, weights))
        found.setdefault("layers", []).extend(rows)
    found.setdefault("pairs", []).extend(_pairs(scores, names, names, about))


def _pairs(
    scores: Matrix, rows: Sequence[str], columns: Sequence[str], about: Row
) -> Iterator[Row]:
    for row, line in zip(rows, scores.tolist(), strict=True):
        for column, value in zip(columns, line, strict=True):
            yield {**about, "row": row, "column": column, "alignment": value}


def weigh(net: Net, weights: Weights) -> Iterator[Row]:
    """Yield a row for each matrix: the frozen M^I Z, layer 0, and W_1 … W_D with their outputs.

    norm and stretch (the first over the last singular value, 1 for a rotation) are those of W_i on
    the r largest directions of its input; spread: the first over the last variance of h. With the
    ending _theory: at the least entropy. Source: Ziyin and Chuang 2025, equations 33, 36 and 39,
    footnote 16, section 6.
    """
    moments, layers = gradient_moments(weights, net), layer_moments(weights, net)
    measured, theory = _measure(net, weights), _measure(net, least_entropy(net))
    norm = torch.linalg.matrix_norm
    for place, (row, goal) in enumerate(zip(measured, theory, strict=True)):
        row |= {f"{name}_theory": value for name, value in goal.items()}
        if 0 < place < len(weights):
            (inward, outward), (hidden, back) = moments[place - 1], layers[place - 1]
            row |= {
                "offset": least((inward, outward), torch.eye(len(inward), dtype=torch.float64)),
                "gradients_apart": float(norm(inward - outward) / (norm(inward) + norm(outward))),
                "proportion": float((hidden * back).sum() / (norm(hidden) * norm(back))),
            }
        yield {"layer": place, **row}


def _measure(net: Net, weights: Weights) -> list[Row]:
    half, rank, rows = root(net.world.inputs), net.world.rank, []
    seen = torch.eye(len(half), dtype=torch.float64)  # the directions in which a matrix works
    matrices = [net.before, *weights]
    for place, layer in enumerate(forward_maps(weights, net)):
        working = matrices[place] @ seen
        modes = torch.linalg.svdvals(working)[:rank]
        left, sizes, _ = torch.linalg.svd(layer @ half, full_matrices=False)
        seen = left[:, :rank] if place else seen
        norm, spread = torch.linalg.matrix_norm(working), (sizes[0] / sizes[rank - 1]).square()
        stretch = modes[0] / modes[-1]
        rows.append({"norm": float(norm), "stretch": float(stretch), "spread": float(spread)})
    return rows


# --- sharpness, and its edge ---

WORLDS: Mapping[str, Mapping[str, Any]] = {
    "sharpens": {"quiet": 1e3, "condition": 1.0, "noise": 24.0, "scale": 0.5},
    "flattens": {"quiet": None, "condition": 10.0, "noise": 24.0, "scale": 0.5},
    "edge": {"quiet": 1e3, "condition": 4.0, "noise": 40.0, "scale": 0.5},
}
COURSE_STEPS, LOOKS = 150_000, 16
EDGE_TIME = 80.0  # η² times the number of steps
BETWEEN = 0.4  # where the edge of the large step lies, from the flat solution to the aligned one
_LOST = 1e9  # a loss from which no descent returns


def follow_sharpness(world: Mapping[str, int], widths: Sequence[int], descent: Descent) -> Tables:
    """Train a network with and without noise on data on which noise sharpens it, and on data on
    which it flattens it. world: d, c, rank and seed, as of `make_nets`.
    """
    rows: list[Row] = []
    ways = [(data, run) for data in DATA for run in (NOISE, NO_NOISE)]
    for data, run in tell_each(ways, "runs"):
        (net,) = make_nets([widths], **world, **WORLDS[data])
        way = descent if run == NOISE else replace(descent, batch=0)
        rows += _course(net, way, COURSE_STEPS, {"data": data, "run": run})
    return {"looks": pd.DataFrame(rows)}


def edge_steps(net: Net) -> tuple[float, float]:
    """Return a large step, whose edge 2 / η lies between the sharpness of the solution of least
    norm and that of least entropy, and a small one, a quarter of it.
    """
    flat, sharp = (sharpness(solve(net), net) for solve in (least_norm, least_entropy))
    large = 2 / (flat * (sharp / flat) ** BETWEEN)
    return large, large / 4


def approach_edge(
    world: Mapping[str, int], width: int, steps: Sequence[float] = (), batch: int = EDGE_BATCH
) -> Tables:
    """Train a network of one hidden layer at several sizes of steps on the same data, for the same
    time η² · at. A run that diverges has a last row without numbers.

    steps: those of `edge_steps` if empty.
    """
    (net,) = make_nets([[width]], **world, **WORLDS["edge"])
    rows: list[Row] = []
    for step in tell_each(steps or edge_steps(net), "sizes of steps"):
        for row in _course(net, Descent(step, batch), round(EDGE_TIME / step**2), {"step": step}):
            rows.append(row)
            row |= {"time": step**2 * row["at"], "edge": row["sharpness"] * step / 2}
    sharp = sharpness(least_entropy(net), net)
    return {"looks": pd.DataFrame(rows).assign(sharpness_theory=sharp)}


def _course(net: Net, descent: Descent, until: int, about: Row) -> Iterator[Row]:
    """Yield looks at 0 and LOOKS numbers of steps, evenly spread in the logarithm."""
    goal, least_value = hidden_maps(least_entropy(net), net), least_entropy_value(net)
    counts = [0, *dict.fromkeys(np.geomspace(until / 1000, until, LOOKS).astype(int).tolist())]
    for count, weights in zip(counts, run_sgd(net, descent, counts=counts), strict=True):
        row: Row = {**about, "at": count, "sharpness": math.nan, "alignment": math.nan}
        excess = excess_loss(weights, net)
        if not excess < _LOST:
            yield row
            return
        layers = align_layers(hidden_maps(weights, net), goal, net.world.inputs)
        yield row | {
            "sharpness": sharpness(weights, net),
            "entropy": float(entropy(weights, net)) / least_value,
            "alignment": float(layers.min()),
            "excess_loss": excess,
        }


# --- the symmetry ---

SYMMETRY = Descent(0.01)
SYMMETRY_STEPS, REPEATS = 100_000, 5


def generators(width: int) -> dict[str, Matrix]:
    """Return symmetric matrices T by name: all units, each unit alone, and one drawn at random with
    largest eigenvalue 1.
    """
    eye = torch.eye(width, dtype=torch.float64)
    seed = torch.Generator().manual_seed(0)
    draw = torch.randn(width, width, generator=seed, dtype=torch.float64)
    random = (draw + draw.T) / torch.linalg.matrix_norm(draw + draw.T, 2)
    matrices = [eye, *map(torch.diag, eye), random]
    return dict(zip(name_generators(width), matrices, strict=True))


def solve_repeatedly(net: Net, descent: Descent, repeats: int = REPEATS) -> list[Weights]:
    """Return the weights that SGD finds with several streams of samples."""
    streams = [(net.seed, stream) for stream in range(repeats)]
    return [end_noisily(net, descent, SYMMETRY_STEPS, stream) for stream in streams]


def move_along(net: Net, weights: Weights, *, layer: int, by: Matrix) -> Tables:
    """Return what becomes of a network along a symmetry at a hidden layer, 1 … D − 1."""
    moments = gradient_moments(weights, net)[layer - 1]
    least_value, begun = least_entropy_value(net), float(entropy(weights, net))
    goal = hidden_maps(least_entropy(net), net)[:1]
    rows: list[Row] = []
    pairs: list[Row] = []
    for value in np.linspace(-REACH, REACH, POINTS).tolist():
        moved = move(weights, layer=layer, by=by, to=value)
        hidden = hidden_maps(moved, net)
        names = [f"h{i}" for i in range(1, len(hidden) + 1)]
        scores = align_layers(hidden, [*hidden, *goal], net.world.inputs)
        rows.append(
            {
                "value": value,
                "entropy": float(entropy(moved, net)) / least_value,
                "predicted": (begun + entropy_change(moments, by, value)) / least_value,
                "excess_loss": excess_loss(moved, net),
                "alignment": float(scores.min()),
            }
        )
        pairs += _pairs(scores, names, [*names, "theory"], {"value": value})
    return {"looks": pd.DataFrame(rows), "pairs": pd.DataFrame(pairs)}


def least_values(net: Net, ends: Sequence[Weights], *, layer: int) -> pd.DataFrame:
    """Return λ* for every T of `generators` at a hidden layer, after each of several trainings:
    repeat, generator, least, and slope, dS/dλ there over the sum of both sides (equation 31).
    """
    rows = []
    for repeat, weights in enumerate(ends):
        moments = gradient_moments(weights, net)[layer - 1]
        for name, by in generators(net.widths[layer - 1]).items():
            value = least(moments, by)
            slope = math.nan
            if math.isfinite(value):
                moved = move(weights, layer=layer, by=by, to=value)
                inward, outward = gradient_moments(moved, net)[layer - 1]
                both = torch.trace(inward + outward)
                slope = float(torch.trace(by @ (outward - inward)) / both)
            rows.append({"repeat": repeat, "generator": name, "least": value, "slope": slope})
    return pd.DataFrame(rows)


# --- other minima, breakers, limits, hierarchy ---


def draw_minima(
    nets: Sequence[Net], descent: Descent, *, count: int = 200, spread: float = 1.0, steps: int = 0
) -> Tables:
    """Draw other global minima of the loss, next to what SGD finds with the first two networks.

    Both are taken at their least entropy, and each hidden layer of the first through T⁻¹,
    T = exp(spread · G) with G normal. Source: Ziyin and Chuang 2025, section 3.
    """
    first, second = nets[:2]
    one, other = (end_noisily(net, descent, steps or COUNTS[-1]) for net in (first, second))
    settings: list[tuple[str, Weights, Weights]] = [("SGD", one, other)]
    draw, aligned = torch.Generator().manual_seed(0), least_entropy(second)
    for _ in range(count):
        weights: Weights = least_entropy(first)
        for layer, width in enumerate(first.widths, start=1):
            noise = torch.randn(width, width, generator=draw, dtype=torch.float64) / width**0.5
            weights = transform(weights, layer=layer, by=torch.linalg.matrix_exp(spread * noise))
        settings.append(("chance", weights, aligned))
    rows = []
    for by, one, other in settings:
        maps = hidden_maps(one, first), hidden_maps(other, second)
        alignment = float(align_layers(*maps, first.world.inputs).min())
        excess = excess_loss(one, first)
        rows.append({"by": by, "min_alignment": alignment, "excess_loss": excess})
    return {"looks": pd.DataFrame(rows)}


def sweep(name: str, nets: Sequence[Net], strengths: Sequence[float]) -> Tables:
    """Break the theorem at each strength with the first two networks: least alignment, measured and
    predicted (NaN if the theory gives none).
    """
    rows = []
    for strength in tell_each(strengths, "strengths"):
        measured, predicted = break_alignment(name, (nets[0], nets[1]), strength)
        theory = math.nan if predicted is None else float(predicted.min())
        row = {"strength": strength, "measured": float(measured.min()), "predicted": theory}
        rows.append(row)
    return {"looks": pd.DataFrame(rows)}


UNTIL, LIMIT_LOOKS = 300.0, 9  # time t: η times the number of steps


def sweep_limits(nets: Sequence[Net], descents: Sequence[Descent]) -> Tables:
    """Train by gradient flow, whose steps are small first, then by SGD of every size of steps,
    whose time is long first, and look at the same times. Source: Ziyin and Chuang 2025, eq. 72.
    """
    times = np.geomspace(UNTIL / 1e4, UNTIL, LIMIT_LOOKS).tolist()
    rows = []
    for descent in tell_each([Descent(0.0), *descents], "sizes of steps"):
        step = descent.step
        counts = [max(1, round(time / step)) if step else 0 for time in times]
        runs = [
            run_sgd(net, descent, counts=counts)
            if step
            else flow(net, until=UNTIL, looks=LIMIT_LOOKS)
            for net in nets
        ]
        for time, count, *held in zip(times, counts, *runs, strict=True):
            alignment = math.nan  # of a run that has diverged
            if all(map(is_finite, held)):
                both = zip(nets, held, strict=True)
                maps = [each for net, weights in both for each in hidden_maps(weights, net)]
                alignment = float(align_layers(maps, maps, nets[0].world.inputs).min())
            rows.append({"step": step, "time": time, "at": count, "min_alignment": alignment})
    return {"looks": pd.DataFrame(rows)}


DIFFERENCES: Mapping[str, Callable[[Net, Net], Net]] = {  # from the first network, and another
    CONTROL: lambda a, _: a,
    "first weights": lambda a, b: replace(a, seed=b.seed),
    "widths": lambda a, _: replace(a, widths=tuple(width + 2 for width in a.widths)),
    "view": lambda a, b: replace(a, before=b.before),
    "output matrix": lambda a, b: replace(a, after=b.after),
    "labels": lambda a, _: relabel(a, 1.0),
}
HIERARCHY_STEPS = 100_000
TRAININGS: Mapping[str, Callable[[Net, Descent, Sequence[int]], Weights]] = {
    "whitening, constructed": lambda net, *_: whiten(net),
    "entropic loss": lambda net, *_: end_entropic(net),
    "SGD": lambda net, descent, stream: end_noisily(net, descent, HIERARCHY_STEPS, stream),
    "weight decay": lambda net, *_: end_mixed(net, 1.0),
    "gradient flow": lambda net, *_: list(flow(net, until=FLOW_TIME))[-1],
}


def compare_universality(nets: Sequence[Net], descent: Descent) -> Tables:
    """Train the first network and one that differs from it in one thing alone, in every way of
    training, for everything that may differ.

    Every training by SGD has samples of its own; the control differs in nothing else. Whitening
    needs widths of at least the inputs. Source: Ziyin and Chuang 2025, section 6.
    """
    first, second = nets[:2]
    rows: list[Row] = []
    trainings = dict(TRAININGS)
    if min(first.widths) < len(first.world.inputs):
        trainings.pop("whitening, constructed", None)
    for training, train in tell_each([*trainings.items()], "ways of training"):
        one = hidden_maps(train(first, descent, (first.seed, 0)), first)
        for place, (differs, change) in enumerate(DIFFERENCES.items(), start=1):
            other = change(first, second)
            two = hidden_maps(train(other, descent, (first.seed, place)), other)
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
    return {"looks": pd.DataFrame(rows)}
