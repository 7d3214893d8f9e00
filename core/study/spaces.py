"""The spaces of a study, by the names that people give them: model:layer, or a model alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from core.encoders.encoder import ModelCard, find_layer
from core.errors import MetricError, UnknownNameError
from core.study.models import reads, usual
from core.study.roster import finished_models
from core.study.study import Study

KINDS = (  # of objectives, the published four; of each the first that is there
    ("MAE",),
    ("DINOv3", "DINOv2", "DINO", "SimCLR"),  # self-distillation; else contrast of views
    ("CLIP",),
    ("CLIP fine-tuned",),
)


class Layer(NamedTuple):
    """One space of a study: a model's layer, counted from 0."""

    model: str
    layer: int

    def __str__(self) -> str:
        return f"{self.model}:{self.layer}"


def find_space(study: Study, name: str) -> Layer:
    """Return the space that `model`, `model:number` or `model:name` means; raises
    UnknownNameError.
    """
    return find_spaces(study, [name])[0]


def find_spaces(study: Study, names: Sequence[str]) -> list[Layer]:
    """Return the spaces that names mean; raises UnknownNameError, MetricError where two mean one
    space.
    """
    cards = {entry.card.name: entry.card for entry in study.store.embeddings(study.dataset.name)}
    places = [_find(cards, name) for name in names]
    if twice := sorted({str(one) for one in places if places.count(one) > 1}):
        raise MetricError(
            f"expected each space once; got {', '.join(twice)} more than once: leave the second"
            " one out"
        )
    return places


def _find(cards: Mapping[str, ModelCard], space: str) -> Layer:
    model, colon, layer = (space, "", "") if space in cards else space.rpartition(":")
    name = model if colon else space
    if name not in cards:
        raise UnknownNameError("model", name, cards)
    return Layer(
        name, find_layer(cards[name], layer) if colon else max(0, len(cards[name].layers) - 2)
    )


def name_spaces(study: Study, names: Sequence[str]) -> tuple[str, ...]:
    """Return the spaces that names mean as `model:number`, `default_spaces` where none are named;
    raises as `find_spaces`.
    """
    return tuple(map(str, find_spaces(study, names or default_spaces(study))))


def default_spaces(study: Study) -> list[str]:
    """Return a vision model of each of up to four objectives, in its penultimate block: the largest
    of each, or where four have a size in common, those of the largest such.

    Objectives: see `_usual_objectives`.
    """
    seeing = _seeing(study)
    order = _usual_objectives(seeing["objective"].unique())
    chosen = seeing[seeing["objective"].isin(order)]
    objectives = chosen[chosen["size"] != ""].groupby("size", sort=False)["objective"].nunique()
    if len(common := objectives.index[objectives == len(KINDS)]):
        chosen = chosen[chosen["size"] == common[-1]]
    models = chosen.groupby("objective")["model"].last()
    return [str(find_space(study, models[objective])) for objective in order]


def largest_models(study: Study) -> list[str]:
    """Return the largest finished vision model of each of up to four objectives, see
    `_usual_objectives`.
    """
    largest = _seeing(study).groupby("objective")["model"].last()
    return [largest[objective] for objective in _usual_objectives(largest.index)]


def _seeing(study: Study) -> pd.DataFrame:
    """Return the usual vision models, the smallest first."""
    counted = usual(study.models())
    seeing = counted[reads(counted, "image")]
    return seeing.sort_values(["parameters", "tasks"], kind="stable")


def _usual_objectives(names: Iterable[str]) -> list[str]:
    """Return up to four objectives: first one each of the published four, MAE, self-distillation or
    contrast of views, CLIP, CLIP fine-tuned.
    """
    names = sorted(names)
    first = [
        next((name for one in kind for name in names if _plain(name) == one), "") for kind in KINDS
    ]
    return list(dict.fromkeys(filter(None, [*first, *names])))[: len(KINDS)]


def _plain(objective: str) -> str:
    """Return an objective without what it says in parentheses."""
    return objective.partition(" (")[0]


def default_language(study: Study) -> list[str]:
    """Return the language models that have finished the usual training of a recipe."""
    return finished_models(study, "caption")


def language_beside(study: Study, others: Sequence[str]) -> list[str]:
    """Return the largest language model of each family that finished its usual training, of the
    sizes that the others have where there are such.
    """
    models = study.models().set_index("model")
    finished = models.loc[default_language(study)].sort_values("parameters", kind="stable")
    same = finished[
        finished["size"].isin(models.loc[list(others), "size"]) & (finished["size"] != "")
    ]
    chosen = (finished if same.empty else same).reset_index()
    return list(chosen.groupby("family", sort=True)["model"].last())


def describe_spaces(spaces: Sequence[str], models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per space `model:layer`: space, model, layer (its name), title, group,
    parameters.

    The title is the model's; of two spaces of one model each names its layer.
    """
    about = models.set_index("model")
    rows = []
    for space in spaces:
        name, _, layer = space.rpartition(":")
        model = about.loc[name]
        rows.append(
            (
                space,
                name,
                model["layers"][int(layer)],
                model["title"],
                model["group"],
                model["parameters"],
            )
        )
    table = pd.DataFrame(rows, columns=["space", "model", "layer", "title", "group", "parameters"])
    shared = table["model"].duplicated(keep=False)
    return table.assign(title=table["title"].where(~shared, table["title"] + ", " + table["layer"]))
