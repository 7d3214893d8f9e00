"""Models compared with each other: every pair, and the map."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pandas as pd

from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.models.distances import distances
from core.questions.models.findings import map_findings, pair_findings, table_findings
from core.questions.models.map_table import DESCRIBED, NEAREST, map_table
from core.questions.models.question import (
    ModelLayout,
    ModelMap,
    ModelPairs,
    ModelProfiles,
    ModelTable,
    Roster,
    Targets,
)
from core.questions.models.standings import (
    DESCRIPTION,
    mean_over_targets,
    members_of,
    profiles,
    standings,
)
from core.questions.registry import Answer, declare, never
from core.statistics.layouts import check_layout, lay_out
from core.study.comparing import check_pairing, pair_models
from core.study.models import is_measured, is_reality, trained, without_variants
from core.study.study import Study

Q = TypeVar("Q", ModelPairs, ModelLayout, ModelMap, ModelTable)


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
    return tuple(sorted(set(roster.names or of_kinds(models, roster)["model"])))


def of_kinds(models: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """Return the models of the kinds that a roster takes."""
    measured = models[is_measured(models)]
    models = models[~is_measured(models)] if roster.unfinished else trained(models)
    models = models if roster.variants else without_variants(models)
    models = models if roster.world else models[~is_reality(models)]
    return pd.concat([models, measured]) if roster.measured else models


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


declare(ModelLayout, Answer(place, version=1, complete=complete_layout))


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
        findings=map_findings,
        kept=never,
        shown=("model", "x", "y", *NEAREST, "floored", "reason"),
    ),
)


def complete_table(question: ModelTable, study: Study) -> ModelTable:
    """Name the models and the targets that are meant; raises UnknownNameError for a target, and as
    `complete`.
    """
    question = complete(question, study)
    return replace(question, targets=_targets(question.targets, question.roster, study))


def complete_profiles(question: ModelProfiles, study: Study) -> ModelProfiles:
    """Name the models and the targets that are meant; raises UnknownNameError for a target."""
    roster = replace(question.roster, names=_named(question.roster, study))
    return replace(question, roster=roster, targets=_targets(question.targets, roster, study))


def _targets(targets: Targets, roster: Roster, study: Study) -> Targets:
    return Targets(tuple(members_of(targets.names, _described(roster, study))))


def _described(roster: Roster, study: Study) -> pd.DataFrame:
    models = study.models()
    return models[models["model"].isin(roster.names)]


def tabulate(question: ModelTable, study: Study, report: Progress | None) -> pd.DataFrame:
    """Describe each model: what it is, how competent, and its mean alignment with each target.

    Returns a row per model: what `core.study.models.describe` says of it; skill: 1 − bits per byte
    of the captions; solved: the competence of vision models, as `TasksSolved` says; and a column
    per target, by its name. NaN where it has none.
    """
    models = _described(question.roster, study)
    pairs = ask(ModelPairs(question.scope, question.roster, question.comparison), study, report)
    solved = ask(TasksSolved(question.scope), study, report).set_index("model")["solved"]
    members = members_of(question.targets.names, models)
    scores = standings(pairs, models, members).pivot(
        index="model", columns="target", values="score"
    )
    skill = study.competence().set_index("model")["value"]
    about = models[list(DESCRIPTION)].assign(
        skill=models["model"].map(skill), solved=models["model"].map(solved)
    )
    return about.join(scores.reindex(columns=list(members)), on="model").reset_index(drop=True)


declare(
    ModelTable,
    Answer(
        tabulate,
        version=1,
        complete=complete_table,
        findings=table_findings,
        kept=never,
    ),
)


def profile(question: ModelProfiles, study: Study, _: Progress | None) -> pd.DataFrame:
    """Align every layer of each model with each target.

    Returns model, layer (from 0), target, score: the mean over the target's models of the score
    with their best-aligned layer, and models: how many those are.
    """
    models = _described(question.roster, study)
    members = members_of(question.targets.names, models)
    others = list(dict.fromkeys(name for names in members.values() for name in names))
    scores = profiles(study, question.roster.names, others, question.measure)
    return mean_over_targets(scores, models, members, by=["model", "layer"])


declare(ModelProfiles, Answer(profile, version=1, complete=complete_profiles))
