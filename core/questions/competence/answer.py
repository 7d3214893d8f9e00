"""Competence and alignment: what models solve, bins, predicted scores, and trainings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from core.errors import InputError, UnknownNameError
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.bins import assign_bins, bin_pairs, bin_trends, summarize_bins
from core.questions.competence.findings import bin_findings, score_findings, training_findings
from core.questions.competence.question import (
    Bins,
    CompetenceScores,
    Contenders,
    Downstream,
    TasksSolved,
    Training,
    Trends,
)
from core.questions.competence.registry import registry
from core.questions.competence.tasks_solved import solve_tasks
from core.questions.competence.trajectories import along_training
from core.questions.competence.trends import USUAL, most_competent, trend_table
from core.questions.models.question import ModelPairs, Roster
from core.questions.registry import Answer, declare, never
from core.study.comparing import align_models, check_pairing, choose_engine
from core.study.models import (
    basis_of,
    is_measured,
    is_reality,
    known_kinds,
    open_because,
    reads,
    usual,
    without_variants,
)
from core.study.parts import Scope
from core.study.scores import TaskScore, known_scores, score_of, select
from core.study.spaces import by_size
from core.study.study import Study, known_worlds

SHOWN = ("model", "task", "value", "low", "high", "unit", "origin", "embedded", "source")
DESCRIBED = ("title", "family", "group", "modality", "parameters")


def list_scores(question: CompetenceScores, study: Study, _: Progress | None) -> pd.DataFrame:
    """Return every value with its origin; see `core.questions.competence.registry.registry`.

    Raises UnknownNameError for a task, an origin or a model that has no value.
    """
    table = registry(study)
    if wrong := [name for name in question.model if name not in set(table["model"])]:
        raise UnknownNameError("model with a value", wrong[0], table["model"].unique())
    table = select(table, tasks=question.task, origins=question.origin)
    table = table[table["model"].isin(question.model) | (not question.model)]
    return table[table["embedded"] | (not question.embedded)].reset_index(drop=True)


declare(CompetenceScores, Answer(list_scores, version=1, kept=never, shown=SHOWN))


def solve(question: TasksSolved, study: Study, _: Progress | None) -> pd.DataFrame:
    """Return the share of tasks that each vision model solves; see `solve_tasks`."""
    return solve_tasks(study, question.solving)


declare(TasksSolved, Answer(solve, version=2, kept=never))


def complete_bins(question: Bins, study: Study) -> Bins:
    """Name the vision models that are meant.

    Raises UnknownNameError for a model, InputError where none sees, and as `check_pairing`.
    """
    check_pairing(study, question.comparison)
    models = _contenders(question.contenders, study)
    names = tuple(models.loc[reads(models, "image"), "model"])
    if not names:
        raise InputError("bins of competence need vision models; embed some, or name others")
    return replace(question, contenders=replace(question.contenders, names=names))


def _contenders(contenders: Contenders, study: Study) -> pd.DataFrame:
    for name in contenders.names:
        study.entry(name)
    return contending(study.models(), contenders)


def contending(models: pd.DataFrame, contenders: Contenders) -> pd.DataFrame:
    """Return the models that are meant, in the store's order; reality is none, nor are brains and
    people.

    models: as `core.study.models.describe` returns them.
    """
    models = models[~(is_reality(models) | is_measured(models))]
    if contenders.names:
        return models[models["model"].isin(contenders.names)]
    return without_variants(models) if contenders.unfinished else usual(models)


def bin_models(question: Bins, study: Study, report: Progress | None) -> pd.DataFrame:
    """Bin vision models by competence: their mean alignment within each bin, and
    whether it has a trend.

    Returns the columns of `summarize_bins`, slope, p and groups of `bin_trends`, and its reason as
    trend_reason, and basis: what their competence is. Models whose competence was not measured are
    left out.
    """
    names, binning = question.contenders.names, question.binning
    roster = Roster(names=names)
    pairs = ask(ModelPairs(question.scope, roster, question.comparison), study, report)
    solved = ask(TasksSolved(question.scope, question.solving), study)
    skill = skill_of(solved, names)
    group = known_kinds(study.models(), binning.by)
    placed = assign_bins(skill, count=binning.bins, equal=binning.equal)
    table = summarize_bins(bin_pairs(pairs, skill, group, placed), placed)
    trend = bin_trends(
        pairs,
        skill,
        group,
        count=binning.bins,
        equal=binning.equal,
        permutations=question.permutations,
        seed=question.seed,
    )
    opened = open_because(study.models(), placed.index)
    trend["reason"] = trend["reason"].mask(trend["reason"] == "", opened)
    table = table.merge(trend.rename(columns={"reason": "trend_reason"}), on="pairs_of")
    return table.assign(basis=basis_of(solved))


declare(
    Bins,
    Answer(
        bin_models,
        version=2,
        complete=complete_bins,
        findings=bin_findings,
        kept=never,
    ),
)


def skill_of(solved: pd.DataFrame, names: tuple[str, ...]) -> pd.Series:
    """Return the competence of each vision model by name; NaN where it was not measured.

    solved: as `solve_tasks` returns it.
    """
    return solved.set_index("model")["solved"].astype(float).reindex(sorted(set(names)))


def complete_downstream(question: Downstream, study: Study) -> Downstream:
    """Name the models, the score and the target that are meant.

    Raises UnknownNameError for a model or a score, InputError where there is none, and MetricError
    for a metric's parameters and for layers that cannot be.
    """
    question.comparison.read_layers()
    choose_engine(study, question.comparison)
    names = tuple(_contenders(question.contenders, study)["model"])
    offered = known_scores(registry(study), names)
    chosen = find_score(question.score, offered)
    if not question.contenders.names:  # models of one kind are compared
        values = score_of(registry(study), chosen.task, origin=chosen.origin)
        kinds = study.models().set_index("model")["modality"][list(names)]
        most = kinds[kinds.index.isin(values.index)].mode()
        names = tuple(kinds.index[kinds.isin(most[:1])])
    score = chosen.name
    target = question.target or usual_target(question.scope, study)
    study.entry(target)
    contenders = replace(question.contenders, names=names)
    return replace(question, contenders=contenders, score=score, target=target)


def find_score(name: str, offered: Sequence[TaskScore]) -> TaskScore:
    """Return the score of a name; with none, the first usual one, else that of most models.

    Raises InputError where none is offered, UnknownNameError for the name.
    """
    if not offered:
        raise InputError(
            "no score of these models is known; measure some with platoscope probe --task vtab, or"
            " import your own"
        )
    by_name = {score.name: score for score in offered}
    if name and name not in by_name:
        raise UnknownNameError("score", name, by_name)
    usual = [score for task in USUAL for score in offered if score.task == task]
    return by_name[name] if name else (*usual, *offered)[0]


def usual_target(scope: Scope, study: Study) -> str:
    """Return the model that scores are set against where none is named: the vision model that
    solves most tasks, else the largest; raises InputError where there is none.
    """
    solved = ask(TasksSolved(scope), study).set_index("model")["solved"].astype(float)
    large = by_size(study, falling=True)
    seeing = large.loc[reads(large, "image"), "model"]
    targets = [*seeing, *study.readers("image"), *known_worlds(study)]
    if not targets:
        raise InputError("no vision model to align with; embed one, or name another target")
    return most_competent(solved) or targets[0]


def set_against(question: Downstream, study: Study, _: Progress | None) -> pd.DataFrame:
    """Set a score against the alignment with one target, a row per model that has the score.

    Returns model, near (the alignment), chance, reason (why near is NaN, else empty), title,
    family, group, modality, parameters, value (of the score), task, origin and unit. The target
    itself is left out. Raises InputError where no other model has the score.
    """
    names = question.contenders.names
    table = registry(study)
    score = find_score(question.score, known_scores(table, names))
    values = score_of(table, score.task, origin=score.origin)
    scored = [name for name in names if name in values.index and name != question.target]
    if not scored:
        raise InputError(f"only the target itself has the score {score.name!r}; choose another")
    near = align_models(study, scored, [question.target], question.comparison)
    points = near.rename(columns={"model_x": "model", "score": "near"})
    about = study.models().set_index("model")[list(DESCRIBED)]
    points = points[["model", "near", "chance", "reason"]].join(about, on="model")
    return points.assign(value=points["model"].map(values).astype("float64"), **score._asdict())


declare(
    Downstream,
    Answer(set_against, version=2, complete=complete_downstream, findings=score_findings),
)


def follow_training(question: Training, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how aligned all checkpoints are with vision, language, reality and each other; see
    `along_training`.
    """
    pairs = ask(ModelPairs(question.scope, comparison=question.comparison), study, report)
    return along_training(pairs, study.models())


declare(
    Training,
    Answer(follow_training, version=1, findings=training_findings, kept=never),
)


def trend(question: Trends, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return every figure of competence and alignment; see `trend_table`."""
    return trend_table(question, study, report)


declare(Trends, Answer(trend, version=1, kept=never))
