"""Two models on the bench: opened, cut, with the events that h is fitted to and those it is scored
on. What is slow is done here, layer pair by layer pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64

from core.errors import NotApplicableError
from core.networks.heads import Task, open_network, task_of
from core.networks.network import State, bring, parts_of, states_at
from core.networks.stitches import Affine, Seam, Side, check_pair, fit_map, identity
from core.questions.stitching.losses import summarize
from core.questions.stitching.question import Fitting
from core.settings import choose_device
from core.stimuli.worlds import World
from core.study.study import Study, studied_indices

TRAINED, LEAST, RANDOM, IDENTITY, ITSELF = (
    "trained",
    "least squares",
    "random",
    "identity",
    "itself, identity",
)
SPLIT = "stitches"  # the stream of events that h is fitted to, one for each seed


@dataclass(frozen=True, eq=False)
class Bench:
    """f and g with what they read. own, guess: the scores of g, and of who sees nothing, on each
    event that is scored. origin: of g's head, in words.
    """

    f: Side
    g: Side
    task: Task
    origin: str
    own: Float64[np.ndarray, " n"]
    guess: Float64[np.ndarray, " n"]


def open_bench(study: Study, x: str, y: str, fitting: Fitting) -> Bench:
    """Open two models; raises InputError for models that cannot be stitched and over a dataset that
    is not the Cave, and what `open_network` does.
    """
    world = need_world(study)
    device, level = choose_device(study.device), study.dataset.levels[0]
    new = world.sample(f"{SPLIT} {fitting.seed}", fitting.events)
    studied = world.behind(study.dataset, studied_indices(study))
    entries = {name: study.entry(name) for name in (x, y)}
    sides = {}
    for name, entry in entries.items():
        network = open_network(entry, device, world, level=level)
        sides[name] = Side(network, network.read(new), network.read(studied))
    f, g = sides[x], sides[y]
    check_pair(f, g)
    task, origin = task_of(study.store, study.dataset.name, entries[y], g.network)
    own = own_scores(g, task)
    return Bench(f, g, task, origin, own, _numbers(task.guess(g.fitted, g.scored)))


def need_world(study: Study) -> World:
    """Return the world of a dataset; raises NotApplicableError for one that has none."""
    world = study.dataset.world
    if world is None:
        raise NotApplicableError(
            "a stitch is fitted to new events of the world that a dataset is made of, and nobody"
            f" can make more of {study.dataset.name!r}; ask over the Cave"
        )
    return world


@torch.no_grad()
def own_scores(g: Side, task: Task) -> Float64[np.ndarray, " n"]:
    """Return how well g itself answers each event that is scored."""
    last, network = len(g.network.card.layers) - 1, g.network
    scores = [
        task.score(network.upper(network.lower(part, last), last, part), part)
        for part in parts_of(g.scored)
    ]
    return _numbers(torch.cat(scores))


@dataclass(frozen=True, eq=False)
class Lower:
    """A layer of f, with its states over the events of either kind."""

    layer: int
    fitted: State
    scored: State


def run_lower(bench: Bench, layer: int) -> Lower:
    """Run f up to a layer."""
    side = bench.f
    states = (states_at(side.network, batch, layer) for batch in (side.fitted, side.scored))
    return Lower(layer, *states)


def stitch(bench: Bench, lower: Lower, layer: int, fitting: Fitting) -> pd.DataFrame:
    """Return a row per kind of h; see `core.questions.stitching.losses.summarize`."""
    f, g = bench.f.network, bench.g.network
    here, there = f.places(lower.layer), g.places(layer)
    states = (bring(one, here, there) for one in (lower.fitted, lower.scored))
    seam = Seam(bench.g, bench.task, layer, *states)
    rows = [
        {"h": name, **summarize(_numbers(seam.score(h)), bench.own, bench.guess), "reason": ""}
        for name, h in _maps(seam, fitting)
    ]
    if IDENTITY not in [row["h"] for row in rows]:
        widths = " and ".join(map(str, seam.moments.between.shape))
        rows.append({"h": IDENTITY, "reason": f"the layers are {widths} wide"})
    rows.append({"h": ITSELF, **_itself(bench, layer), "reason": ""})
    places = {"layer_x": lower.layer, "layer_y": layer}
    return pd.DataFrame([places | row for row in rows])


def _maps(seam: Seam, fitting: Fitting) -> Iterator[tuple[str, Affine]]:
    starts = seam.starts(seed=fitting.seed)
    start = starts[LEAST if fitting.start == "least-squares" else RANDOM]
    yield TRAINED, fit_map(seam, start, steps=fitting.steps, seed=fitting.seed)
    yield from starts.items()


def _itself(bench: Bench, layer: int) -> dict[str, float]:
    """Score g stitched to itself at one layer by the identity, which must lose nothing."""
    states = states_at(bench.g.network, bench.g.scored, layer)
    seam = Seam(bench.g, bench.task, layer, states, states)
    h = identity(states.shape[2]).like(states)
    return summarize(_numbers(seam.score(h)), bench.own, bench.guess)


def _numbers(scores: torch.Tensor) -> Float64[np.ndarray, " n"]:
    return scores.double().cpu().numpy()
