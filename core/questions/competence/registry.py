"""The competence registry: every value there is of a study's models, measured here, published or
the user's own, in one table.

Values of different origins are never mixed: they differ in tests, splits and units even where a
task has the same name.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.competence.records import COLUMNS, MEASURED, measured_elsewhere, measured_rows
from core.competence.scores import FOLDER, SCORES, imported_rows, place_rows, published_rows
from core.study.study import Study

CAPTIONS = "1 - bits per byte of the captions, mean over texts"


def registry(study: Study) -> pd.DataFrame:
    """Return every value with its origin: COLUMNS, then embedded.

    model: the store's name, or what published figures and the user's scores call a model that is
    not embedded. n is <NA> where it is not stated. A value that is NaN has a reason; one that
    nobody measured or published has no row. Measured values are those of the present tasks and
    weights, and for every language model how well it codes the captions studied.
    """
    study.store.note_files(*(FOLDER / name for name in SCORES))
    entries = study.store.models(study.dataset.name)
    measured = [
        measured_scores(study),
        *measured_elsewhere(study.store, study.dataset.name),
        _captions(study),
    ]
    placed = [
        place_rows(rows, entries)
        for rows in (published_rows(), imported_rows(study.store, study.dataset.name))
    ]
    tables = [
        table
        for table in [*(rows.assign(embedded=True) for rows in measured), *placed]
        if len(table)
    ]
    return pd.concat(tables, ignore_index=True).astype({"n": "Int64", "embedded": "bool"})[
        [*COLUMNS, "embedded"]
    ]


def measured_scores(study: Study) -> pd.DataFrame:
    """Return every value that was measured of these models by the present tasks: COLUMNS."""
    measured = [
        measured_rows(study.store, study.dataset.name, entry)
        for entry in study.store.models(study.dataset.name)
    ]
    tables = [table for table in measured if table is not None]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))


def _captions(study: Study) -> pd.DataFrame:
    """Return how well each language model codes the captions, as rows; the source is the recipe of
    what was studied.
    """
    rows = study.coded()
    sources = [study.recipe("captions-coded", [model]).digest for model in rows["model"]]
    blank = dict.fromkeys(("low", "high", "chance", "n"), np.nan)
    about = {
        "task": CAPTIONS,
        "group": "language",
        "split": "captions",
        "origin": MEASURED,
        "source": sources,
    }
    return rows.assign(**about, **blank)[list(COLUMNS)]
