"""Published values beside one's own, where the store has their models and stimuli."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.dispersion.question import HeldOutFits, Spaces
from core.questions.published.question import PublishedValues
from core.questions.registry import Answer, declare, never
from core.questions.words import to_command
from core.study.parts import Comparison, Scope
from core.study.published import (
    deviations_here,
    is_dataset,
    names_by_spec,
    published_alignments,
    published_here,
)
from core.study.study import Study

TOLD = ("page", "work", "place", "what", "dataset", "stimuli", "x", "y", "layers", "metric", "k")
SHOWN = ("place", "what", "x", "y", "published", "here", "command")
NO_NUMBER = "the source gives no number"
OTHER_DATA = "the study's dataset is another"
NO_MODELS = "not all of its models are in the store"
MANY = "a value over many pairs: its command compares them"


def list_values(question: PublishedValues, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per published value: the columns of `list_published`, and before command and
    source also here and reason.

    here: one's own value over the same stimuli, of the same models, by the same metric, as the
    study prepares them; NaN with a reason where there is none.
    """
    table, own = list_published(question, study), _own_values(question.scope, study, report)
    rows = table.to_dict("records")
    here = np.array([own.get(_key(row, study), np.nan) for row in rows], np.float64)
    reasons = [
        _why(row, study) if np.isnan(value) else "" for row, value in zip(rows, here, strict=True)
    ]
    ends = {name: table.pop(name) for name in ("command", "source")}
    return table.assign(here=here, reason=reasons, **ends)


def list_published(question: PublishedValues, study: Study) -> pd.DataFrame:
    """Return what is published, compared with nothing: page, work, place, what, dataset, stimuli, x
    and y (specs), layers, metric, k, published, chance, command (what answers it here), source.
    """
    table = published_alignments().rename(columns={"value": "published"})
    if question.about != "all":
        table = table[table["page"] == question.about].reset_index(drop=True)
    commands = [_command(row, study) for row in table.to_dict("records")]
    return table.assign(command=commands)[[*TOLD, "published", "chance", "command", "source"]]


declare(PublishedValues, Answer(list_values, version=1, kept=never, shown=SHOWN))

Key = tuple[str, str, str, int | None]  # two models, or one and "", the metric and its k


def _own_values(scope: Scope, study: Study, report: Progress | None) -> dict[Key, float]:
    """Return one's own values of what is published of this study's models and stimuli."""
    own: dict[Key, float] = {}
    pairs = published_here(study).query("y != ''")
    for _, rows in pairs.groupby(["metric", "k", "x"], dropna=False):
        first = rows.to_dict("records")[0]
        x, comparison = str(first["x"]), Comparison(metric=first["metric"], k=_k(first))
        others = tuple(dict.fromkeys(rows["y"]))
        question = Alignment(scope, (x,), others, axis="", comparison=comparison)
        aligned = ask(question, study, report)
        named = zip(aligned["model_y"], aligned["score"], strict=True)
        own |= {(x, y, comparison.metric, comparison.k): score for y, score in named}
    if published := deviations_here(study):
        fits = ask(HeldOutFits(scope, Spaces(tuple(published))), study, report)
        models = fits["space"].str.rpartition(":")[0]
        own |= {(name, "", "", None): r for name, r in zip(models, fits["pearson"], strict=True)}
    return own


def _key(row: Mapping[Hashable, Any], study: Study) -> Key:
    names = names_by_spec(study)
    x, y = (names.get(row[side], row[side]) for side in ("x", "y"))
    return x, y, row["metric"], _k(row)


def _k(row: Mapping[Hashable, Any]) -> int | None:
    return None if pd.isna(row["k"]) else int(row["k"])


def _why(row: Mapping[Hashable, Any], study: Study) -> str:
    """Return why a published value has none of one's own beside it."""
    if pd.isna(row["published"]):
        return NO_NUMBER
    if row["x"] == "":
        return MANY
    here = is_dataset(study.dataset, row["dataset"], int(row["stimuli"]))
    return NO_MODELS if here else OTHER_DATA


def _command(row: Mapping[Hashable, Any], study: Study) -> str:
    """Return the command that gives one's own value."""
    scope = Scope(study.dataset.name)
    if row["ask"]:
        return f"platoscope {row['ask']} --dataset {scope.dataset}"
    x, y, metric, k = _key(row, study)
    return to_command(Alignment(scope, (x,), (y,), comparison=Comparison(metric=metric, k=k)))
