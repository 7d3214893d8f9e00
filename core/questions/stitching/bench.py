"""Cut two networks and stitch them: the lower layers of f feed the upper layers of g; and which of
a study's vision models are stitched to which, seed by seed.

Stitches are kept in one table for two models, so that a run that is stopped continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import groupby, permutations
from operator import itemgetter
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64, Int64

from core.competence.records import can_measure
from core.errors import InputError, NotApplicableError, StoreBusyError, StoreWriteError
from core.networks import heads
from core.networks.heads import Labels, head_file, head_of, open_network
from core.networks.stitches import Affine, Seam, Side, fit_map, identity
from core.networks.vision import State, bring, parts_of, states_at
from core.options import option, seed_option
from core.progress import tell
from core.recipe import Recipe
from core.settings import choose_device
from core.stimuli.worlds import World
from core.store import write_result
from core.store.view import digest_of_file, resolve
from core.study.models import reads, trained, usual
from core.study.study import Study, studied_indices

VERSION = 1  # raise it when stitches come out otherwise
TRAINED, LEAST, RANDOM, IDENTITY = "trained", "least squares", "random", "identity"
ITSELF = "itself, identity"
SPLIT = "stitches"  # the stream of events that h is fitted to, one for each seed
DRAWS, SEED, LEVEL = 1000, 0, 0.95
PLACE = ["layer_x", "layer_y"]
STITCHED = {
    "layer_x": "last layer of the lower network, from 0",
    "layer_y": "layer of the upper network that is replaced, from 0",
    "h": "the map between the two: trained, least squares, random, identity, or the upper network"
    " with itself",
    "score": "score of the stitched network",
    "own": "score of the upper network itself",
    "chance": "score without seeing anything",
    "penalty": "own − score",
    "penalty_low": "low end of its 95% interval over stimuli (bootstrap)",
    "penalty_high": "high end of that interval",
    "lost": "(own − score) / (own − chance)",
    "lost_low": "low end of its 95% interval",
    "lost_high": "high end of that interval",
    "reason": "why it is missing",
    "head": "head of the upper network",
}
Start = Literal["least-squares", "random"]
Places = Sequence[tuple[int, int]]
Scores = Float64[np.ndarray, " n"]


@dataclass(frozen=True)
class Fitting:
    """How h is fitted: on new events of the Cave, which no store holds."""

    start: Start = option(
        "least-squares",
        label="Start of h",
        help="where h begins: least squares between activations, or random weights",
    )
    events: int = option(
        1024,
        least=64,
        most=40_960,
        label="Events",
        help="new events of the Cave that h is fitted to",
    )
    steps: int = option(
        100,
        least=0,
        most=10_000,
        label="Steps",
        help="steps of gradient descent on the task loss, 64 events each; 0 leaves the start",
    )
    seed: int = seed_option("of the events, of their order and of random weights")


@dataclass(frozen=True, eq=False)
class Bench:
    """f and g with their inputs. own, guess: the scores of g and of chance on each scored event.
    origin: of g's head, in words.
    """

    f: Side
    g: Side
    task: Labels
    origin: str
    own: Float64[np.ndarray, " n"]
    guess: Float64[np.ndarray, " n"]


def open_bench(study: Study, x: str, y: str, fitting: Fitting) -> Bench:
    """Open two models; raise InputError for models that cannot be stitched."""
    world = need_world(study)
    device = choose_device(study.device)
    new = world.sample(f"{SPLIT} {fitting.seed}", fitting.events)
    studied = world.behind(study.dataset, studied_indices(study).tolist())
    sides = {}
    for name in dict.fromkeys((x, y)):
        network = open_network(study.entry(name), device, world)
        sides[name] = Side(network, network.read(new), network.read(studied))
    f, g = sides[x], sides[y]
    task = Labels(head_of(study.store, study.dataset.name, study.entry(y), g.network))
    own = own_scores(g, task)
    return Bench(f, g, task, task.head.origin, own, _numbers(task.guess(g.fitted, g.scored)))


def need_world(study: Study) -> World:
    """Return the world of a dataset; raise NotApplicableError if it has none."""
    world = study.dataset.world
    if world is None:
        raise NotApplicableError(
            "a stitch is fitted to new events of the world that a dataset is made of;"
            f" {study.dataset.name!r} has none"
        )
    return world


@torch.no_grad()
def own_scores(g: Side, task: Labels) -> Float64[np.ndarray, " n"]:
    """Return g's own score on each scored event."""
    last, network = len(g.network.card.layers) - 1, g.network
    scores = [
        task.score(network.upper(network.lower(part, last), last), part)
        for part in parts_of(g.scored)
    ]
    return _numbers(torch.cat(scores))


@dataclass(frozen=True, eq=False)
class Lower:
    layer: int
    fitted: State
    scored: State


def run_lower(bench: Bench, layer: int) -> Lower:
    side = bench.f
    states = (states_at(side.network, batch, layer) for batch in (side.fitted, side.scored))
    return Lower(layer, *states)


def stitch(bench: Bench, lower: Lower, layer: int, fitting: Fitting) -> pd.DataFrame:
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
    own_states = states_at(bench.g.network, bench.g.scored, layer)
    own_seam = Seam(bench.g, bench.task, layer, own_states, own_states)
    scores = _numbers(own_seam.score(identity(own_states.shape[2]).like(own_states)))
    rows.append({"h": ITSELF, **summarize(scores, bench.own, bench.guess), "reason": ""})
    places = {"layer_x": lower.layer, "layer_y": layer}
    return pd.DataFrame([places | row for row in rows])


def _maps(seam: Seam, fitting: Fitting) -> Iterator[tuple[str, Affine]]:
    starts = seam.starts(seed=fitting.seed)
    start = starts[LEAST if fitting.start == "least-squares" else RANDOM]
    yield TRAINED, fit_map(seam, start, steps=fitting.steps, seed=fitting.seed)
    yield from starts.items()


def _numbers(scores: torch.Tensor) -> Float64[np.ndarray, " n"]:
    return scores.double().cpu().numpy()


def summarize(scores: Scores, own: Scores, guess: Scores) -> dict[str, float]:
    """Return the mean scores of F, of g and of chance, and with 95% bootstrap intervals

        penalty = own − score,    lost = (own − score) / (own − chance).

    lost is 0 if nothing is lost, 1 at chance, NaN if g itself does no better than chance.
    """
    means = np.array([scores.mean(), own.mean(), guess.mean()])
    drawn = np.random.default_rng(SEED).multinomial(len(own), np.ones(len(own)) / len(own), DRAWS)
    draws = drawn @ np.stack([scores, own, guess], axis=1) / len(own)
    penalty, lost = means[1] - means[0], float(_lost(means[None])[0])
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    penalties = np.quantile(draws[:, 1] - draws[:, 0], ends)
    losses = np.quantile(_lost(draws), ends) if np.isfinite(lost) else [np.nan, np.nan]
    named = {"score": means[0], "own": means[1], "chance": means[2], "penalty": penalty}
    named |= {"penalty_low": penalties[0], "penalty_high": penalties[1]}
    named |= {"lost": lost, "lost_low": losses[0], "lost_high": losses[1]}
    return {name: float(value) for name, value in named.items()}


def _lost(means: Float64[np.ndarray, "draws 3"]) -> Float64[np.ndarray, " draws"]:
    score, own, chance = means.T
    reach = own - chance
    lost: np.ndarray = (own - score) / np.where(reach > 0, reach, np.nan)
    return lost


def least_path(penalties: Float64[np.ndarray, "x y"]) -> Int64[np.ndarray, " y"]:
    """Return, for each layer of y, the layer of x that replaces it at the least total penalty,
    never an earlier one than for the layer before; of equal paths that of the earliest layers.

    least(i, j) = p(i, j) + min over i′ ≤ i of least(i′, j − 1). Raises InputError for a NaN.
    """
    if not np.isfinite(penalties).all():
        raise InputError("a way needs the penalty of every pair of layers; stitch the others first")
    total = penalties[:, 0]
    came = []
    for column in penalties.T[1:]:
        best = np.minimum.accumulate(total)
        first = np.array([int(np.argmax(total == value)) for value in best])
        came.append(first)
        total = column + best
    path = [int(np.argmin(total))]
    for first in reversed(came):
        path.append(int(first[path[-1]]))
    return np.array(path[::-1], dtype=np.int64)


def stitches_recipe(study: Study, x: str, y: str, fitting: Fitting) -> Recipe:
    names = tuple(dict.fromkeys((x, y)))
    files = [file for file in (head_file(study.entry(name).card) for name in names) if file]
    study.store.note_files(*files)
    study.store.note_keys("stitches:version")
    return study.recipe(
        "stitches",
        names,
        version=VERSION,
        heads=[heads.VERSION, *map(digest_of_file, files)],
        order=[x, y],
        fitting=asdict(fitting),
    )


resolve("stitches", lambda _: f"{VERSION}, {heads.VERSION} of heads")


def kept_stitches(study: Study, x: str, y: str, fitting: Fitting) -> pd.DataFrame:
    """Return the rows of all pairs of layers that the store holds; see `STITCHED`."""
    recipe = stitches_recipe(study, x, y, fitting)
    stored = study.store.result(study.dataset.name, _name(recipe))
    if stored is None or stored[1] != recipe:
        return pd.DataFrame(columns=list(STITCHED))
    return stored[0]


def make_stitches(
    study: Study,
    x: str,
    y: str,
    fitting: Fitting,
    places: Places,
) -> pd.DataFrame:
    """Return the rows of these pairs of layers, in their order; make what is not kept."""
    kept = kept_stitches(study, x, y, fitting)
    made = set(zip(kept["layer_x"], kept["layer_y"], strict=True))
    missing = [place for place in sorted(places) if place not in made]
    recipe, done = stitches_recipe(study, x, y, fitting), len(places) - len(missing)
    for rows in _stitch_all(study, x, y, fitting, missing):
        kept, done = _add(study, recipe, kept, rows), done + 1
        tell(done, len(places), "pairs of layers stitched")
    by_place = dict(list(kept.groupby(PLACE, sort=False)))
    return pd.concat([by_place[place] for place in places], ignore_index=True)[list(STITCHED)]


def _stitch_all(
    study: Study, x: str, y: str, fitting: Fitting, places: Places
) -> Iterator[pd.DataFrame]:
    if not places:
        return
    bench = open_bench(study, x, y, fitting)
    for layer_x, group in groupby(places, key=itemgetter(0)):
        lower = run_lower(bench, layer_x)
        for _, layer_y in group:
            yield stitch(bench, lower, layer_y, fitting).assign(head=bench.origin)


def _add(study: Study, recipe: Recipe, kept: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    table = pd.concat([kept, rows], ignore_index=True) if len(kept) else rows
    # kept only to save time later: a store that cannot be written now still gives every answer
    with suppress(StoreWriteError, StoreBusyError):
        write_result(
            study.store.root,
            dataset=study.dataset,
            name=_name(recipe),
            table=table.reindex(columns=list(STITCHED)),
            recipe=recipe,
        )
    return table


def _name(recipe: Recipe) -> str:
    return f"stitches-{recipe.digest}"


SUPERVISED = "multitask"
LABELS = {  # of objectives, in the names of kinds
    SUPERVISED: "supervised",
    "SimCLR": "self-supervised",
    "CLIP": "CLIP",
}
OTHER_SEED = "same recipe, other seed"
SMALL, LARGE = "small → large", "large → small"
EARLY, LATE = "early → late layer", "late → early layer"
UNTRAINED = "untrained → supervised"
Depths = tuple[tuple[float, float], ...]
# first and last layers: the depths that all sizes have. Means over all layers would compare two
# layers of a small model with six of a large one, and early layers lose less than late ones.
ENDS: Depths = ((0.0, 0.0), (1.0, 1.0))


@dataclass(frozen=True)
class Duo:
    """x feeds y. depths: the relative depths, of x and of y, at which they are stitched."""

    kind: str
    x: str
    y: str
    depths: Depths = ENDS


def list_models(study: Study) -> pd.DataFrame:
    """Return the vision models that can be stitched to each other: usual recipes in all seeds, and
    untrained models, of the family with the most of them.
    """
    models = study.models()
    models = models[reads(models, "image") & models["varies"].isin(["", "seed"]) & ~models["copy"]]
    entries = {name: study.entry(name) for name in models["model"]}
    at_hand = np.array([can_measure(entry) for entry in entries.values()], dtype=bool)
    models = models[at_hand]
    configs = [entries[name].card.training.get("config") or {} for name in models["model"]]
    models = models.assign(seed=[int(config.get("seed", 0)) for config in configs])
    commonest = models["family"].mode()
    return models[models["family"].isin(commonest[:1])].reset_index(drop=True)


def stitchable(study: Study) -> list[str]:
    """Return the models that may be opened and cut."""
    models = study.models()
    models = models[reads(models, "image")]
    return [name for name in models["model"] if can_measure(study.entry(name))]


def default_pair(study: Study) -> tuple[str, str]:
    """Return the usual two models: a supervised one of middle size, stitched to one of another
    objective of about its size; else any two. Raises InputError if there are not two.
    """
    models = usual(list_models(study)).sort_values("parameters", kind="stable")
    if len(models) < 2:
        raise InputError(
            "a stitch needs two trained vision models with weights;"
            f" {study.dataset.name!r} has {len(models)}: embed another, or name --x and --y"
        )
    supervised = models["objective"] == SUPERVISED
    candidates = models[supervised if supervised.any() else slice(None)]
    y = candidates.iloc[(len(candidates) - 1) // 2]
    others = models[models["objective"] != y["objective"]]
    others = others if len(others) else models[models["model"] != y["model"]]
    preferred = others[others["objective"].isin(list(LABELS))]
    others = preferred if len(preferred) else others
    nearest = (others["parameters"] - y["parameters"]).abs().argmin()
    return str(others["model"].iloc[nearest]), str(y["model"])


def across_objectives(models: pd.DataFrame, objectives: Sequence[str]) -> list[Duo]:
    """Return every two models of one size and seed and of two of these objectives, both ways."""
    chosen = trained(models[models["objective"].isin(list(objectives))])
    duos = []
    for _, group in chosen.groupby(["size", "seed"], sort=True):
        for x, y in permutations(group.to_dict("records"), 2):
            if x["objective"] != y["objective"]:
                duos.append(Duo(_kind(x["objective"], y["objective"]), x["model"], y["model"]))
    return duos


def across_kinds(models: pd.DataFrame, size: str) -> list[Duo]:
    """Return models of a size that go on from another seed, objective, size, depth, or from
    untrained weights.
    """
    every = trained(models)
    here = every[every["size"] == size.upper()]
    supervised = here[here["objective"] == SUPERVISED].sort_values("seed")
    duos = list(_other_seeds(supervised))
    label = LABELS[SUPERVISED]
    duos += [duo for duo in across_objectives(here, list(LABELS)) if label in duo.kind.split()]
    duos += list(_other_sizes(every[every["objective"] == SUPERVISED], supervised))
    blank = models[(models["size"] == size.upper()) & (models["group"] == "untrained")]
    duos += [Duo(UNTRAINED, x, y) for x in blank["model"] for y in supervised["model"]]
    return duos


def _other_seeds(supervised: pd.DataFrame) -> Iterator[Duo]:
    names = list(supervised["model"])
    if len(names) < 2:
        return
    for y, x in zip(names, [*names[1:], names[0]], strict=True):
        yield Duo(OTHER_SEED, x, y)
        yield Duo(EARLY, x, y, ((0.0, 1.0),))
        yield Duo(LATE, x, y, ((1.0, 0.0),))


def _other_sizes(every: pd.DataFrame, supervised: pd.DataFrame) -> Iterator[Duo]:
    for large in supervised.to_dict("records"):
        smaller = every[
            (every["seed"] == large["seed"]) & (every["parameters"] < large["parameters"])
        ].sort_values("parameters")
        for small in smaller["model"].tail(1):
            yield Duo(SMALL, small, large["model"])
            yield Duo(LARGE, large["model"], small)


def _kind(x: str, y: str) -> str:
    return f"{LABELS.get(x, x)} → {LABELS.get(y, y)}"
