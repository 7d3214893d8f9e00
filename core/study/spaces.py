"""The spaces of a study by name: model:layer, or a model alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from core.encoders.encoder import find_layer
from core.errors import MetricError, UnknownNameError
from core.modalities import known_first
from core.study.models import UNKNOWN, clusters, is_reality, reads, usual
from core.study.study import Study, finished_models

LEAST = 3  # spaces of a consensus
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
    return find_spaces(study, [name])[0]


def find_spaces(study: Study, names: Sequence[str]) -> list[Layer]:
    """Return the spaces of `model`, `model:number` or `model:name`; raise UnknownNameError, and
    MetricError for a repetition.
    """
    cards = {entry.card.name: entry.card for entry in study.store.embeddings(study.dataset.name)}
    places = []
    for space in names:
        model, colon, layer = (space, "", "") if space in cards else space.rpartition(":")
        card = cards.get(model if colon else space)
        if card is None:
            raise UnknownNameError("model", model if colon else space, cards)
        chosen = find_layer(card, layer) if colon else max(0, len(card.layers) - 2)
        places.append(Layer(card.name, chosen))
    if twice := sorted({str(one) for one in places if places.count(one) > 1}):
        raise MetricError(
            f"expected each space once; got {', '.join(twice)} more than once: leave the second"
            " one out"
        )
    return places


def name_spaces(study: Study, names: Sequence[str]) -> tuple[str, ...]:
    """Return the spaces of a consensus as `model:number`; raise MetricError for too few."""
    spaces = tuple(map(str, find_spaces(study, names or default_spaces(study))))
    if not names:
        check_several(spaces)
    return spaces


def check_several(spaces: Sequence[str]) -> None:
    if len(spaces) < LEAST:
        raise MetricError(
            f"a consensus takes at least {LEAST} spaces, since each of two is equally far from it"
            f" by construction; got {len(spaces)}: name or add another model"
        )


def default_spaces(study: Study) -> list[str]:
    """Return `largest_models` in their penultimate blocks, of one size if four kinds share one."""
    chosen = largest_models(study)
    models = by_size(study)
    kinds = models.set_index("model")["kind"][chosen]
    sized = models[models["kind"].isin(kinds) & (models["size"] != "")]
    counts = sized.groupby("size", sort=False)["kind"].nunique()
    if kinds.nunique() == len(KINDS) and len(common := counts.index[counts == len(KINDS)]):
        of_size = sized[sized["size"] == common[-1]].groupby("kind")["model"].last()
        chosen = [of_size[kind] for kind in kinds]
    return [str(find_space(study, name)) for name in chosen]


def largest_models(study: Study) -> list[str]:
    """Return the largest finished vision model of each of up to four kinds (objective, else family,
    else model; the published four first), then further families and models up to LEAST; of another
    modality if too few models see, of all if no modality has enough.
    """
    models = by_size(study)
    counts = models["modality"].value_counts()
    enough = [name for name in known_first(counts.index) if counts[name] >= LEAST]
    seeing = models[reads(models, "image")]
    if len(seeing) < LEAST:
        seeing = models[models["modality"] == enough[0]] if enough else models
    falling = seeing.iloc[::-1]
    kinds = falling["kind"].unique()
    plain = {kind.partition(" (")[0]: kind for kind in sorted(kinds, reverse=True)}
    first = [next((plain[one] for one in kind if one in plain), "") for kind in KINDS]
    largest = falling.drop_duplicates("kind").set_index("kind")["model"]
    order = list(dict.fromkeys(filter(None, [*first, *kinds])))[: len(KINDS)]
    chosen = [str(largest[kind]) for kind in order]
    families = falling.drop_duplicates("family")["model"]
    further = [name for name in dict.fromkeys([*families, *falling["model"]]) if name not in chosen]
    return [*chosen, *further[: max(0, LEAST - len(chosen))]]


def by_size(study: Study, *, falling: bool = False) -> pd.DataFrame:
    """Return the usual models by parameters, else widths, with family and kind."""
    models = study.models()
    families = models["model"].map(clusters(models))
    kinds = models["objective"].mask(models["objective"].isin(UNKNOWN), families)
    models = usual(models.assign(family=families, kind=kinds))
    models = models[~is_reality(models)]
    width = [sum(study.entry(name).dims) for name in models["model"]]
    order = ["parameters", "tasks", "width"]
    last = "last" if falling else "first"  # of what is unknown
    models = models.assign(width=width)
    return models.sort_values(order, ascending=not falling, kind="stable", na_position=last)


def default_language(study: Study) -> list[str]:
    return finished_models(study, "caption")


def language_of_sizes(study: Study, others: Sequence[str]) -> list[str]:
    """Return the largest finished language model of each family, if possible of others' sizes."""
    models = study.models().set_index("model")
    finished = models.loc[default_language(study)].sort_values(
        "parameters", kind="stable", na_position="first"
    )
    same = finished[
        finished["size"].isin(models.loc[list(others), "size"]) & (finished["size"] != "")
    ]
    chosen = (finished if same.empty else same).reset_index()
    family = chosen["model"].map(clusters(chosen))
    return list(chosen.groupby(family, sort=True)["model"].last())


def describe_spaces(spaces: Sequence[str], models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per space `model:layer`: space, model, layer (its name), title (with the layer
    if a model has several spaces), group, parameters.
    """
    names = [space.rpartition(":") for space in spaces]
    about = models.set_index("model").loc[[model for model, _, _ in names]].reset_index()
    layers = [own[int(at)] for own, (_, _, at) in zip(about["layers"], names, strict=True)]
    table = about.assign(space=list(spaces), layer=layers)
    twice = table["model"].duplicated(keep=False)
    titles = table["title"].where(~twice, table["title"] + ", " + table["layer"])
    return table.assign(title=titles)[["space", "model", "layer", "title", "group", "parameters"]]
