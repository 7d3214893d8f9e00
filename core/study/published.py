"""Published alignments: a row per value with its source, shipped as CSV under data/published.

A value belongs to models by their specs, embedded as usual, and to a whole dataset by its id and
size.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from core.competence.scores import FOLDER
from core.embedding.history import reading_words
from core.errors import InputError
from core.stimuli.dataset import DatasetCard
from core.store.files import Stamp, stamp
from core.study.study import Study

FILE = FOLDER / "alignments.csv"
COLUMNS = (
    *("page", "work", "place", "what", "dataset", "stimuli", "x", "y", "layers", "metric", "k"),
    *("value", "chance", "ask", "source"),
)
_TYPES = {"stimuli": "Int64", "k": "Int64", "value": "float64", "chance": "float64"}


def published_alignments() -> pd.DataFrame:
    """Return every published value: COLUMNS; missing texts are "", numbers NaN.

    page: compares it with one's own. place: figure or table of the work. dataset: ID or
    ID@REVISION on the hub, or the source's name. x, y: specs, "" if a value is of no single pair.
    layers: of `core.study.layers.read_choice`. value: NaN for a direction alone. ask: a command.
    """
    return read_alignments(FILE, stamp(FILE)).copy()


@lru_cache(maxsize=1)
def read_alignments(path: Path, _: Stamp = (0, 0, 0)) -> pd.DataFrame:
    """Read a file of published values; raise InputError for other columns or a missing source."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if tuple(table) != COLUMNS:
        raise InputError(
            f"{path.name} has the columns {', '.join(map(str, table))}; expected"
            f" {', '.join(COLUMNS)}"
        )
    if len(missing := table.index[table["source"].str.strip() == ""]):
        raise InputError(
            f"{path.name}, line {missing[0] + 2}: a published value needs a source; name it"
        )
    numbers = {name: pd.to_numeric(table[name].mask(table[name] == "")) for name in _TYPES}
    return table.assign(**numbers).astype(_TYPES)


def is_dataset(card: DatasetCard, dataset: str, stimuli: int) -> bool:
    """Return whether a dataset of a store is a published one, by size and by id with revision on
    the hub, or by its name if it has no id.
    """
    hub_id, _, revision = dataset.partition("@")
    own_revision = str(card.source.get("revision"))
    same = revision in ("", own_revision) or re.fullmatch("[0-9a-f]{40}", own_revision) is not None
    return (card.source.get("hub_id") or card.name) == hub_id and same and card.size == stimuli


def published_here(study: Study) -> pd.DataFrame:
    """Return the published values of this dataset and of models that are all here, by name."""
    study.store.note_files(FILE)
    card, table = study.dataset, published_alignments().dropna(subset=["stimuli", "value"])
    mine = [
        study.rows is None and is_dataset(card, dataset, int(size))
        for dataset, size in zip(table["dataset"], table["stimuli"], strict=True)
    ]
    names = names_by_spec(study) | {"": ""}
    table = table[mine].assign(
        x=lambda rows: rows["x"].map(names), y=lambda rows: rows["y"].map(names)
    )
    return table.dropna(subset=["x", "y"]).reset_index(drop=True)


def models_by_spec(study: Study) -> dict[str, list[str]]:
    """Return the study's models by spec, if embedded as usual: first captions, mean of tokens, no
    prompt.
    """
    levels, models = (None, *study.dataset.levels[:1]), dict[str, list[str]]()
    for entry in study.store.models(study.dataset.name):
        if entry.level in levels and not reading_words(entry):
            models.setdefault(entry.card.spec, []).append(entry.card.name)
    return models


def names_by_spec(study: Study) -> dict[str, str]:
    """Return `models_by_spec` if one model has the spec; of several, none is meant."""
    return {spec: names[0] for spec, names in models_by_spec(study).items() if len(names) == 1}


def specs_of(row: Mapping[Hashable, Any]) -> set[str]:
    """Return the specs of a value's models: a pair, or a whole consensus."""
    if row["x"] == "" or row["y"] != "":
        return {row["x"], row["y"]} - {""}
    table = published_alignments()
    return set(table.loc[table["place"] == row["place"], "x"]) - {""}


def deviations_here(study: Study) -> dict[str, float]:
    """Return Pearson's r of each model's deviation with the others' dispersion, as published."""
    table = published_alignments()
    whole = table[(table["page"] == "dispersion") & (table["x"] != "")]
    here = published_here(study).query("page == 'dispersion' and x != ''")
    if len(here) < len(whole):
        return {}
    return dict(zip(here["x"], here["value"], strict=True))
