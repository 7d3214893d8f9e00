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
    name = f"answer-{recipe.digest}"
    stored = study.store.result(study.dataset.name, name)
    if stored and stored[1] == recipe:
        return stored[0]
    table = make()
    # kept only to save time later: a store that cannot be written now still gives every answer
    with suppress(StoreWriteError, StoreBusyError):
        write_result(study.store.root, dataset=study.dataset, name=name, table=table, recipe=recipe)
    return table
