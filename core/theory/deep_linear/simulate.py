"""What each preset runs. It imports torch: import this on first use only."""

from __future__ import annotations

import math

import pandas as pd

from core.errors import InputError, UnknownNameError
from core.progress import tell_each
from core.theory.deep_linear import runs, setup
from core.theory.deep_linear.minima import least_entropy
from core.theory.deep_linear.network import Net, Weights, make_nets
from core.theory.deep_linear.setup import BREAKERS, EDGE, NETWORKS, Descent, Networks, Tables, late
from core.theory.simulation import in_one_thread

LIMITS = (0.01, 0.003, 0.001, 0.0003)  # sizes of steps of the preset "limits"


@in_one_thread()
def run_preset(preset: str, networks: Networks, descent: Descent) -> Tables:
    """Return a preset's tables by name."""
    nets, world = draw_nets(networks), networks.world
    match preset:
        case "sgd":
            return runs.train_noisily(nets, descent)
        case "theorem-1":
            return runs.train_entropic(nets)
        case "minima":
            return runs.draw_minima(nets, descent)
        case "sharpness":
            return runs.follow_sharpness(world, networks.a, descent)
        case "edge-of-stability":
            return runs.approach_edge(world, networks.a[0], networks.step, descent.batch)
        case "limits":
            steps = networks.step or LIMITS
            return runs.sweep_limits(nets[:2], [Descent(each, descent.batch) for each in steps])
        case "hierarchy":
            return runs.compare_universality(nets, descent)
        case "breakers":
            return break_all(networks)
    strengths = BREAKERS[preset].allowed(modes=networks.rank, labels=networks.labels)
    return runs.sweep(preset, nets, strengths)


def draw_nets(networks: Networks) -> tuple[Net, ...]:
    return make_nets(
        (networks.a, networks.b, networks.c, networks.d),
        d=networks.inputs,
        c=networks.labels,
        rank=networks.rank,
        condition=networks.condition,
        seed=networks.seed,
    )


def break_all(networks: Networks) -> Tables:
    """Return a row for each way to break the theorem: preset, title, broken, mechanism; reached:
    the least alignment at the last strength, or with the larger step; predicted.
    """
    rows = []
    for name in tell_each(setup.WAYS, "ways"):
        if name in BREAKERS:
            one = BREAKERS[name]
            about = [one.title, one.broken, one.mechanism]
            hardest = one.allowed(modes=networks.rank, labels=networks.labels)[-1:]
            last = runs.sweep(name, draw_nets(networks), hardest)["looks"].iloc[0]
            reached, predicted = last["measured"], last["predicted"]
        else:
            about = [EDGE, "small steps"]
            about += ["Descent stays at sharpness 2 / η; the aligned solution is sharper."]
            end = late(runs.approach_edge(networks.world, networks.a[0])["looks"])
            reached = end.loc[end["step"] == end["step"].max(), "alignment"].mean()
            predicted = math.nan
        rows.append([name, *about, float(reached), float(predicted)])
    columns = ["preset", "title", "broken", "mechanism", "reached", "predicted"]
    return {"looks": pd.DataFrame(rows, columns=columns)}


@in_one_thread()
def move_layer(networks: Networks, network: str, layer: int, along: str, after: str) -> Tables:
    """Return `runs.move_along`'s tables of the first training, and `least`: λ* of all."""
    net = draw_nets(networks)[NETWORKS.index(network)]
    if layer > len(net.widths):
        raise InputError(f"network {network} has {len(net.widths)} hidden layers, not {layer}")
    generators = runs.generators(net.widths[layer - 1])
    if along not in generators:
        raise UnknownNameError("symmetric matrix T", along, generators)
    ends: list[Weights]
    if after == "SGD":
        ends = [*runs.solve_repeatedly(net, networks.descent(runs.SYMMETRY))]
    else:
        ends = [net.start if after == "first weights" else least_entropy(net)]
    tables = runs.move_along(net, ends[0], layer=layer, by=generators[along])
    return tables | {"least": runs.least_values(net, ends, layer=layer)}
