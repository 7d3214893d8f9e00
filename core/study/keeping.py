"""Tables that take long to make are kept in the store under their recipe: the same question is not
computed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pandas as pd

from core.errors import StoreBusyError, StoreWriteError
from core.recipe import Recipe
from core.store import write_result
from core.study.study import Study


def keep(study: Study, recipe: Recipe, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Return the table that the store holds under a recipe; where it holds none, make it and keep
    it there.
    """
    kept, name = kept_table(study, recipe), _name(recipe)
    if kept is not None:
        return kept
    table = make()
    # kept only to save time later: a store that cannot be written now still gives every answer
    with suppress(StoreWriteError, StoreBusyError):
        write_result(study.store.root, dataset=study.dataset, name=name, table=table, recipe=recipe)
    return table


def kept_table(study: Study, recipe: Recipe) -> pd.DataFrame | None:
    """Return the table that the store holds under a recipe, None where it holds none."""
    stored = study.store.result(study.dataset.name, _name(recipe))
    return stored[0] if stored and stored[1] == recipe else None


def _name(recipe: Recipe) -> str:
    return f"answer-{recipe.digest}"
