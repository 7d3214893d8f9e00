"""Which of a study's vision models are stitched to which, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from core.competence.records import can_measure
from core.errors import InputError
from core.study.models import reads, trained, usual
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
    """Return the usual two models: a supervised one of middle size goes on from one of another
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
