"""Which of a study's vision models are stitched to which, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from core.competence.records import can_measure
from core.errors import InputError
from core.study.models import codes_text, reads, trained, usual
from core.study.study import Study

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
    """Return the vision models that can be stitched to each other: usual recipes in all seeds, of
    the family with the most of them; model, title, objective, group, size, seed, parameters, and
    untrained models.
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
    """Return the models that may be opened and cut: those that were embedded here and see pictures,
    or code text from left to right.
    """
    models = study.models()
    models = models[reads(models, "image") | codes_text(models)]
    return [name for name in models["model"] if can_measure(study.entry(name))]


def default_pair(study: Study) -> tuple[str, str]:
    """Return the models that are meant where none are named: a supervised one of middle size goes
    on from one of another objective that is as large as can be found; else any two.

    Raises InputError where there are not two.
    """
    models = usual(list_models(study)).sort_values("parameters", kind="stable")
    if len(models) < 2:
        raise InputError(
            "a stitch needs two trained vision models whose weights are at hand;"
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
    """Return what is compared: a model of a size goes on from another seed, another objective,
    another size, another depth, or untrained weights.
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
    """Yield each seed going on from the next one, at the same depth, and from its first layer to
    the last, and back.
    """
    names = list(supervised["model"])
    if len(names) < 2:
        return
    for y, x in zip(names, [*names[1:], names[0]], strict=True):
        yield Duo(OTHER_SEED, x, y)
        yield Duo(EARLY, x, y, ((0.0, 1.0),))
        yield Duo(LATE, x, y, ((1.0, 0.0),))


def _other_sizes(every: pd.DataFrame, supervised: pd.DataFrame) -> Iterator[Duo]:
    """Yield each model with the next smaller one of its recipe and seed, both ways."""
    for large in supervised.to_dict("records"):
        smaller = every[
            (every["seed"] == large["seed"]) & (every["parameters"] < large["parameters"])
        ].sort_values("parameters")
        for small in smaller["model"].tail(1):
            yield Duo(SMALL, small, large["model"])
            yield Duo(LARGE, large["model"], small)


def _kind(x: str, y: str) -> str:
    return f"{LABELS.get(x, x)} → {LABELS.get(y, y)}"
