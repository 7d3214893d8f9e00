"""Published values next to one's own, where the store has their models and stimuli."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from core.options import option
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.dispersion.question import HeldOutFits, Spaces
from core.questions.question import Answer, StudyQuestion
from core.questions.words import to_command, to_words
from core.study.parts import Comparison, Scope
from core.study.published import (
    deviations_here,
    is_dataset,
    models_by_spec,
    names_by_spec,
    published_alignments,
    published_here,
    specs_of,
)
from core.study.study import Study

TOLD = ("page", "work", "place", "what", "dataset", "stimuli", "x", "y", "layers", "metric", "k")
NO_NUMBER = "the source gives no number"
OTHER_DATA = "the study's dataset is another"
PART = "only a part of the dataset's stimuli is studied"
NO_MODELS = "not all of its models are in the store, embedded as usual"
SEVERAL = "the store has several embeddings of one of its models"
NO_METRIC = "no metric here is its variant of CKNNA"
MANY = "a value over many pairs: its command compares them"


On = Literal["all", "alignment", "captions", "color", "dispersion", "metrics"]


@dataclass(frozen=True)
class PublishedValues(StudyQuestion):
    """How do published values compare with one's own?

    A value is compared if the store has the same models and the same stimuli; all others are
    listed with the command that would answer them.
    """

    command = "published"
    version = 2
    shown = ("place", "what", "x", "y", "published", "here", "command")

    about: On = option(
        "all", label="Published values of", help="the page whose published values are listed"
    )

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        """Return the columns of `list_published`, and before command and source also here (one's
        own value, over the same stimuli, of the same models, by the same metric) and reason.
        """
        table, own = list_published(self, study), _own_values(self.scope, study)
        names, models = names_by_spec(study), models_by_spec(study)
        rows = table.to_dict("records")
        here = np.array([own.get(_key(row, names), np.nan) for row in rows], np.float64)
        reasons = [
            _why(row, study, models) if np.isnan(value) else ""
            for row, value in zip(rows, here, strict=True)
        ]
        ends = {name: table.pop(name) for name in ("command", "source")}
        return Answer(table.assign(here=here, reason=reasons, **ends))


def list_published(question: PublishedValues, study: Study) -> pd.DataFrame:
    """Return what is published, compared with nothing: page, work, place, what, dataset, stimuli, x
    and y (specs), layers, metric, k, published, chance, command (what answers it here, "" where
    nothing does), source.
    """
    table = published_alignments().rename(columns={"value": "published"})
    if question.about != "all":
        table = table[table["page"] == question.about].reset_index(drop=True)
    names = names_by_spec(study)
    commands = [_command(row, question.scope, names) for row in table.to_dict("records")]
    return table.assign(command=commands)[[*TOLD, "published", "chance", "command", "source"]]


# two models, or one and ""; the metric, its k, and which layers
Key = tuple[str, str, str, int | None, str]


def _own_values(scope: Scope, study: Study) -> dict[Key, float]:
    """Return one's own values of what is published of this study's models and stimuli."""
    own: dict[Key, float] = {}
    pairs = published_here(study).query("y != ''")
    pairs = pairs.assign(layers=[_layers(row) for row in pairs.to_dict("records")])
    for _, rows in pairs.groupby(["metric", "k", "layers", "x"], dropna=False):
        x, _, metric, k, layers = _key(rows.to_dict("records")[0], {})
        comparison = Comparison(metric=metric, k=k, layers=layers)
        others = tuple(dict.fromkeys(rows["y"]))
        question = Alignment(scope, (x,), others, axis="", comparison=comparison)
        aligned = ask(question, study)
        named = zip(aligned["model_y"], aligned["score"], strict=True)
        own |= {(x, y, metric, k, layers): score for y, score in named}
    if published := deviations_here(study):
        fits = ask(HeldOutFits(scope, Spaces(tuple(published))), study)
        models = fits["space"].str.rpartition(":")[0]
        named = zip(models, fits["pearson"], strict=True)
        own |= {(name, "", "", None, "best"): pearson for name, pearson in named}
    return own


def _key(row: Mapping[Hashable, Any], names: Mapping[str, str]) -> Key:
    x, y = (names.get(row[side], row[side]) for side in ("x", "y"))
    k = None if pd.isna(row["k"]) else int(row["k"])
    return x, y, row["metric"], k, _layers(row)


def _layers(row: Mapping[Hashable, Any]) -> str:
    """Return which layers are compared: a pair such as 24:11 is the best that the source found."""
    return "last" if row["layers"] == "last" else "best"


def _why(row: Mapping[Hashable, Any], study: Study, models: Mapping[str, list[str]]) -> str:
    """Return why a published value has none of one's own next to it."""
    if pd.isna(row["published"]):
        return NO_NUMBER
    if row["command"] == "":
        return NO_METRIC
    if row["x"] == "":
        return MANY
    if not is_dataset(study.dataset, row["dataset"], int(row["stimuli"])):
        return OTHER_DATA
    if study.rows is not None:
        return PART
    several = any(len(models.get(spec, ())) > 1 for spec in specs_of(row))
    return SEVERAL if several else NO_MODELS


def _command(row: Mapping[Hashable, Any], scope: Scope, names: Mapping[str, str]) -> str:
    """Return the command that gives one's own value, "" where there is none."""
    if row["ask"]:
        _, *scoped = to_words(PublishedValues(scope))
        return shlex.join(["platoscope", *shlex.split(row["ask"]), *scoped])
    x, y, metric, k, layers = _key(row, names)
    if not metric:
        return ""
    comparison = Comparison(metric=metric, k=k, layers=layers)
    return to_command(Alignment(scope, (x,), (y,), comparison=comparison))
