"""Rows of one model that come from many questions, in one result of the store: each row by a recipe
of its own.

A result is rewritten after every question, so that a run that is killed loses the question it was
at. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from core.competence.records import as_table
from core.recipe import Recipe
from core.store import ModelEntry, Store, write_result


def kept_rows(
    store: Store, dataset: str, name: str, entry: ModelEntry, recipe: Recipe
) -> pd.DataFrame | None:
    """Return the rows that a recipe gave, None where the result `name` has none of it."""
    table, made = _read(store, dataset, name, entry)
    return table[table["source"] == recipe.digest] if recipe.digest in made else None


def keep_rows(
    store: Store,
    dataset: str,
    name: str,
    entry: ModelEntry,
    recipe: Recipe,
    rows: Sequence[dict[str, Any]],
) -> pd.DataFrame:
    """Put a recipe's rows into the result `name`, in place of those of equal tasks by any other
    recipe, and return them.

    rows: as `core.competence.records.row` makes them; what else they hold becomes further columns.
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


def _read(
    store: Store, dataset: str, name: str, entry: ModelEntry
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return what is kept of a model with these very weights, and the recipes of its rows by their
    digests.
    """
    stored = store.result(dataset, name)
    if stored is None or {key: stored[1].choices.get(key) for key in _model(entry)} != _model(
        entry
    ):
        return pd.DataFrame(), {}
    return stored[0], stored[1].choices["made"]


def _model(entry: ModelEntry) -> dict[str, Any]:
    return {"model": entry.card.name, "weights": entry.card.weights, "embedding": entry.digest}
