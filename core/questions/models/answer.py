"""Models compared with each other: every pair, and the map."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pandas as pd

from core.progress import Progress
from core.questions.asking import ask
from core.questions.models.distances import distances
from core.questions.models.findings import map_findings, pair_findings
from core.questions.models.map_table import DESCRIBED, NEAREST, map_table
from core.questions.models.question import ModelLayout, ModelMap, ModelPairs, Roster
from core.questions.registry import Answer, declare, never
from core.statistics.layouts import check_layout, lay_out
from core.study.comparison.pairing import check_pairing, pair_models
from core.study.models import is_reality, trained
from core.study.study import Study

Q = TypeVar("Q", ModelPairs, ModelLayout, ModelMap)


def complete(question: Q, study: Study) -> Q:
    """Name the models that are meant, in an order that does not depend on how they were named.

    Raises UnknownNameError for the metric, MetricError for its parameters and for layers that
    compare no models of one set.
    """
    check_pairing(study, question.comparison)
    names = _named(question.roster, study)
    return replace(question, roster=replace(question.roster, names=names))


def _named(roster: Roster, study: Study) -> tuple[str, ...]:
    models = study.models()
    models = models if roster.unfinished else trained(models)
    models = models if roster.world else models[~is_reality(models)]
    return tuple(sorted(set(roster.names or models["model"])))


def complete_layout(question: ModelLayout, study: Study) -> ModelLayout:
    """Name the models that are meant; raises InputError for too few of them, and as `complete`."""
    question = complete(question, study)
    check_layout(question.layout, models=len(question.roster.names), seed=question.seed)
    return question


def pair(question: ModelPairs, study: Study, report: Progress | None) -> pd.DataFrame:
    """Align every two of the models; columns as of `pair_models`."""
    return pair_models(study, question.roster.names, question.comparison, report)


declare(ModelPairs, Answer(pair, version=1, complete=complete, findings=pair_findings))


def place(question: ModelLayout, study: Study, report: Progress | None) -> pd.DataFrame:
    """Place models in a plane by −log(alignment); see `map_table` for the columns.

    Raises InputError where no map can be drawn.
    """
    pairs = ask(ModelPairs(question.scope, question.roster, question.comparison), study, report)
    apart = distances(pairs, spec=question.comparison.spec)
    drawn = lay_out(apart.matrix, layout=question.layout, seed=question.seed)
    return map_table(apart, drawn).assign(layout=question.layout)


declare(ModelLayout, Answer(place, version=1, complete=complete_layout, needs=(ModelPairs,)))


def map_models(question: ModelMap, study: Study, report: Progress | None) -> pd.DataFrame:
    """Place models in a plane by −log(alignment), and describe them.

    Returns the columns of `map_table`, and title, modality, group and run of each model.
    """
    layout = ModelLayout(
        question.scope, question.roster, question.comparison, question.layout, question.seed
    )
    about = study.models().set_index("model")[list(DESCRIBED)]
    return ask(layout, study, report).join(about, on="model")


declare(
    ModelMap,
    Answer(
        map_models,
        version=1,
        complete=complete,
        needs=(ModelLayout,),
        findings=map_findings,
        kept=never,
        shown=("model", "x", "y", *NEAREST, "floored", "reason"),
    ),
)
