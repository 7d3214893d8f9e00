"""Published figures: shipped as CSV under data/published, a row per figure, each with the source
that states it.

A figure belongs to a model by its spec, `hf:ID` or `timm:NAME.TAG`, and to no other: a copy in a
folder, or a timm name without its tag, may have other weights.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from core.competence.records import COLUMNS, PUBLISHED
from core.competence.sheet import UNITS, read_sheet
from core.errors import InputError
from core.settings import ROOT
from core.store.files import Stamp, stamp

FOLDER = ROOT / "data" / "published"
SCORES = ("language_scores.csv", "vision_scores.csv")
REQUIRED = ("model", "task", "group", "value", "unit", "source")
OPTIONAL = ("checkpoint", "split")


def published_rows() -> pd.DataFrame:
    """Return every published figure: COLUMNS, then checkpoint.

    model: its spec. checkpoint: what was measured where that is another name of the model, or the
    model after fine-tuning, else ""; the source says so too. What no source states has no row;
    interval, chance and n are NaN, since none of the sources states them.
    """
    files = [FOLDER / name for name in SCORES]
    return pd.concat([_read_once(file, stamp(file)) for file in files], ignore_index=True)


def published_models() -> pd.DataFrame:
    """Return the models whose figures were looked for, whether or not any was found.

    Columns model (its spec), family, modality, parameters (of a vision model with its head), width,
    depth (blocks), source.
    """
    return pd.read_csv(FOLDER / "models.csv")


def vtab_tasks() -> pd.DataFrame:
    """Return the nineteen tasks of the Visual Task Adaptation Benchmark.

    Columns task, group, classes, adaptation (what the benchmark's own code calls it), hub (id of
    the data set), image and label (names of the parts of a sample there), note, source. Source:
    Zhai et al. 2019.
    """
    return pd.read_csv(FOLDER / "vtab_tasks.csv", keep_default_na=False)


def read_published(path: Path) -> pd.DataFrame:
    """Read a file of figures, as `published_rows` returns them; raises InputError for a figure
    without a source or a known unit.
    """
    table = read_sheet(path.read_bytes(), name=path.name, required=REQUIRED, optional=OPTIONAL)
    if unknown := sorted(set(table["unit"]) - set(UNITS)):
        raise InputError(
            f"{path.name} has the unit {unknown[0]!r}; expected one of {', '.join(UNITS)}"
        )
    other = table["checkpoint"] != ""
    source = table["source"].mask(other, table["source"] + ", measured on " + table["checkpoint"])
    blank = dict.fromkeys(("low", "high", "chance", "n"), np.nan)
    return table.assign(**blank, source=source, origin=PUBLISHED, reason="")[
        [*COLUMNS, "checkpoint"]
    ]


@lru_cache(maxsize=len(SCORES))
def _read_once(path: Path, _: Stamp) -> pd.DataFrame:
    return read_published(path)
