"""Answers a plan's figures: each is a table, a picture where there is one, and what it says beside
what was published.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from pandas.api.types import is_numeric_dtype

from core.plans.pictures import picture
from core.plans.plan import Figure, Finding
from core.plans.run import Run
from core.plans.wording import MARK, UnknownModelsError, groups_in, question_of
from core.questions.asking import answer, findings_of
from core.questions.competence.question import Bins
from core.questions.competence.scores import registry
from core.questions.metrics.question import MetricAgreement
from core.questions.words import to_command
from core.recipe import Recipe
from core.store import Store
from core.study.study import Study

COMPARED = ("figure", "what", "published", "here", "reason", "source")
OTHER = "!"  # before a cell that does not count
Names = Mapping[str, Sequence[str]]  # of models in the store, by group


@dataclass(frozen=True)
class Drawn:
    """A figure that was answered: its table, picture (None where its question has none here),
    findings and recipe.
    """

    figure: Figure
    command: str
    table: pd.DataFrame
    picture: go.Figure | None
    findings: Sequence[str]
    recipe: Recipe


def draw_figures(run: Run) -> list[Drawn]:
    """Answer every figure of the plan over the models that are embedded. Groups that are not there
    are listed as missing, and so is a figure that is nothing without them; one that cannot be
    answered fails.
    """
    names, drawn = run.names(), list[Drawn]()
    for at, figure in enumerate(run.plan.figures, start=1):
        with run.step(f"figure {at} of {len(run.plan.figures)}: {figure.name}"):
            try:
                drawn.append(_draw(run, figure, names))
                if absent := [group for group in groups_in(figure) if group not in names]:
                    run.lacks(f"figure {figure.name}", f"without {', '.join(absent)}")
            except UnknownModelsError as error:
                run.lacks(f"figure {figure.name}", f"left out: {error}")
    return drawn


def _draw(run: Run, figure: Figure, names: Names) -> Drawn:
    question = question_of(run.plan, figure, names)
    store = Store(run.store)
    told = {name.partition(":")[0] for name in shlex.split(figure.ask)}
    every = {entry.card.name for entry in store.models(run.plan.dataset.name)}
    only = every & told | {name for group in names.values() for name in group}
    study = question.scope.open(store, device=type(question).device or "cpu", only=only)
    if isinstance(question, Bins):
        question = _without_missing_tasks(question, study, figure, run)
    if isinstance(question, MetricAgreement):
        question = _within_reach(question, study.size, figure, run)
    answered = answer(question, study, run.report)
    table = answered.table
    return Drawn(
        figure,
        to_command(question),
        table,
        picture(question, table, study),
        findings_of(question, table),
        answered.recipe,
    )


def _without_missing_tasks(question: Bins, study: Study, figure: Figure, run: Run) -> Bins:
    """Leave out, by name, the tasks that no model was measured on, unless none is left."""
    measured = set(registry(study)["task"])
    wanted = question.solving.tasks
    present = tuple(task for task in wanted if task in measured)
    if not present or present == wanted:
        return question
    missing = ", ".join(task for task in wanted if task not in measured)
    run.lacks(f"figure {figure.name}", f"without {missing}: no model was measured on it")
    return replace(question, solving=replace(question.solving, tasks=present))


def _within_reach(question: MetricAgreement, n: int, figure: Figure, run: Run) -> MetricAgreement:
    """Take all stimuli in place of numbers of them that are not there."""
    beyond = [size for size in question.sizes if size > n]
    if not beyond:
        return question
    wanted = ", ".join(f"{size:,}" for size in beyond)
    run.lacks(f"figure {figure.name}", f"all {n:,} stimuli in place of {wanted}")
    fitting = tuple(size for size in question.sizes if size < n)
    return replace(question, sizes=(*fitting, n))


def compare(run: Run, drawn: Sequence[Drawn]) -> pd.DataFrame:
    """Return a row per published finding: COMPARED. here is one's own value, NaN with a reason
    where there is none; published is NaN where the source gives a direction alone.
    """
    tables = {one.figure.name: one.table for one in drawn}
    names, rows = run.names(), []
    for finding in run.plan.published:
        here, reason = own_value(finding, tables.get(finding.figure), names)
        published = np.nan if finding.value is None else finding.value
        row = (finding.figure, finding.what, published, here, reason, finding.source)
        rows.append(row)
    return pd.DataFrame(rows, columns=list(COMPARED)).astype(
        {"published": "float64", "here": "float64"}
    )


def own_value(finding: Finding, table: pd.DataFrame | None, names: Names) -> tuple[float, str]:
    """Return one's own value of a finding, and why it is NaN."""
    if table is None:
        return np.nan, f"figure {finding.figure} was not drawn"
    if not finding.column:
        return np.nan, "the source gives no number"
    if unknown := [name for name in (finding.column, *finding.where) if name not in table]:
        return np.nan, f"the table of {finding.figure} has no column {unknown[0]}"
    rows = table
    for column, wanted in finding.where.items():
        rows = rows[[_fits(cell, wanted, names) for cell in rows[column]]]
    if not is_numeric_dtype(rows[finding.column]):
        return np.nan, f"column {finding.column} of {finding.figure} holds no numbers"
    values = rows[finding.column].astype("float64").dropna()
    if values.empty or (finding.pick == "only" and len(values) > 1):
        return np.nan, f"{len(values)} rows of {finding.figure} fit"
    at = values.iloc[-1] if finding.pick in ("only", "last") else values.agg(finding.pick)
    return float(at), ""


def _fits(cell: object, wanted: str, names: Names) -> bool:
    """Return whether a cell is what is wanted, of `!NAME` anything else, or of `@GROUP` one of its
    models or their layers.
    """
    if wanted.startswith(OTHER):
        return f"{cell}" != wanted.removeprefix(OTHER)
    if not wanted.startswith(MARK):
        return f"{cell}" == wanted
    there = names.get(wanted.removeprefix(MARK), ())
    return f"{cell}" in there or f"{cell}".rpartition(":")[0] in there
