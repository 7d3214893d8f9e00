"""Answers are kept in the store with what they were computed from: the same question is computed
again only if something that its answer read has changed.
"""

from __future__ import annotations

from contextlib import suppress

import pandas as pd

from core.errors import StoreError
from core.recipe import Recipe
from core.store import View, write_result
from core.store.view import Reads
from core.study.study import Study


def keep(study: Study, name: str, recipe: Recipe, table: pd.DataFrame, reads: Reads) -> None:
    """Keep an answer under a name, unless the store has changed since it was read or cannot be
    written: an answer is kept only to save time later.
    """
    with suppress(StoreError):
        if View(study.store.root).is_fresh(reads):
            write_result(
                study.store.root,
                dataset=study.dataset,
                name=name,
                table=table,
                recipe=recipe,
                reads=reads,
            )


def fresh_answer(study: Study, name: str, recipe: Recipe) -> tuple[pd.DataFrame, Reads] | None:
    """Return the answer that is kept under a name with what it read, None if there is none by this
    recipe or if anything that it read has changed.
    """
    meta = study.store.answer(study.dataset.name, name)
    if meta is None or meta.recipe != recipe or not study.store.is_fresh(meta.reads):
        return None
    stored = study.store.result(study.dataset.name, name)
    if stored is None or study.store.answer(study.dataset.name, name) != meta:  # replaced since
        return None
    return stored[0], meta.reads
