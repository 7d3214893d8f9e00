"""Rows of competence: what a value is, and how it is stored. Nothing here needs torch.

Rows of one model lie in one result of the store, each by a recipe of its own. It is rewritten after
every question, so that a run that is killed loses one question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.encoders.encoder import modality_of
from core.recipe import Recipe
from core.stimuli.worlds import the_cave
from core.store import ModelEntry, Store, write_result
from core.store.schema import VERSIONS
from core.store.view import resolve

COLUMNS = (
    *("model", "task", "group", "value", "low", "high", "chance", "n", "unit", "split"),
    *("origin", "source", "reason"),
)
MEASURED, PUBLISHED, USER = ORIGINS = ("measured", "published", "user")
ACCURACY = "top-1"
PERCENT = "%"
BITS = "bits per byte"
SKILL = "1 - bits per byte"
COMPETENCE, SCORE = "competence", "score"  # the task and unit of what a person says of a model

Row = dict[str, Any]  # one value, by its columns


def row(
    task: str, group: str, *, unit: str, split: str, reason: str = "", n: int = 0, **numbers: float
) -> Row:
    """Return one value as a row. numbers: value, low, high, chance, NaN if missing. n: samples that
    the value is measured on.
    """
    values = {name: numbers.get(name, np.nan) for name in ("value", "low", "high", "chance")}
    about = {"n": n, "unit": unit, "split": split, "reason": reason}
    return {"task": task, "group": group, **values, **about}


def joined(tables: Sequence[pd.DataFrame], columns: Sequence[str] = COLUMNS) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(columns))


def as_table(rows: Sequence[Row], *, model: str, recipe: Recipe) -> pd.DataFrame:
    return pd.DataFrame(rows).assign(model=model, origin=MEASURED, source=recipe.digest)[
        list(COLUMNS)
    ]


def suite_recipe(entry: ModelEntry) -> Recipe:
    return Recipe.of(
        "competence",
        version=VERSIONS["competence"],
        model=entry.card.name,
        weights=entry.card.weights,
        embedding=entry.digest,
        seed=the_cave().seed,
        **the_cave().suite(modality_of(entry.card).reads),
    )


resolve("suite", lambda reads: Recipe.of("suite", **the_cave().suite(reads)).digest)


def result_name(model: str) -> str:
    return f"competence-{model}"


def measured_name(kind: str, model: str) -> str:
    return f"{MEASURED}~{kind}~{model}"


def measured_elsewhere(store: Store, dataset: str) -> list[pd.DataFrame]:
    """Return the kept rows beyond the Cave's suite, of the models' present weights."""
    weights = {entry.card.name: entry.card.weights for entry in store.models(dataset)}
    kept = [store.result(dataset, name) for name in store.results(dataset, f"{MEASURED}~")]
    return [
        table
        for table, recipe in filter(None, kept)
        if recipe.choices["model"] in weights
        and recipe.choices["weights"] == weights[recipe.choices["model"]]
    ]


def measured_rows(store: Store, dataset: str, entry: ModelEntry) -> pd.DataFrame | None:
    """Return a model's competence by the present suite, None if it was not measured."""
    store.note_keys(f"suite:{modality_of(entry.card).reads}")
    stored = store.result(dataset, result_name(entry.card.name))
    return stored[0] if stored and stored[1] == suite_recipe(entry) else None


def can_measure(entry: ModelEntry) -> bool:
    """Return whether a model can be opened again, unlike imported features and reality."""
    return modality_of(entry.card).reads is not None and entry.card.spec.startswith(
        ("timm:", "hf:")
    )


def unmeasured(store: Store, dataset: str) -> list[str]:
    entries = [entry for entry in store.models(dataset) if can_measure(entry)]
    return [entry.card.name for entry in entries if measured_rows(store, dataset, entry) is None]


def kept_rows(
    store: Store, dataset: str, name: str, entry: ModelEntry, recipe: Recipe
) -> pd.DataFrame | None:
    """Return the rows of a recipe in the result `name`, None without any."""
    table, made = _read(store, dataset, name, entry)
    return table[table["source"] == recipe.digest] if recipe.digest in made else None


def keep_rows(
    store: Store,
    dataset: str,
    name: str,
    entry: ModelEntry,
    recipe: Recipe,
    rows: Sequence[Row],
) -> pd.DataFrame:
    """Put a recipe's rows into the result `name`, in place of other rows of these tasks, and return
    them. rows: as of `row`, with any further columns.
    """
    new = as_table(rows, model=entry.card.name, recipe=recipe)
    more = pd.DataFrame(rows)
    new = new.join(more[[column for column in more if column not in new]])
    before, made = _read(store, dataset, name, entry)
    others = before[~before["task"].isin(new["task"])] if len(before) else before
    table = pd.concat([others, new], ignore_index=True) if len(others) else new
    made = {
        digest: choices for digest, choices in made.items() if digest in set(table["source"])
    } | {recipe.digest: recipe.choices}
    whole = Recipe.of(recipe.kind, version=recipe.choices["version"], **_model(entry), made=made)
    write_result(store.root, dataset=store.dataset(dataset), name=name, table=table, recipe=whole)
    return new


def _read(store: Store, dataset: str, name: str, entry: ModelEntry) -> tuple[pd.DataFrame, Row]:
    """Return what is kept of a model with these weights, and the recipes of its rows by digest."""
    stored = store.result(dataset, name)
    if stored and _model(entry).items() <= stored[1].choices.items():
        return stored[0], stored[1].choices["made"]
    return pd.DataFrame(), {}


def _model(entry: ModelEntry) -> Row:
    return {"model": entry.card.name, "weights": entry.card.weights, "embedding": entry.digest}
