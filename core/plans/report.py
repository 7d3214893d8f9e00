"""Answers a plan's figures and writes a folder: a table per figure as CSV, its picture as HTML, the
published values next to one's own, and a report.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from pandas.api.types import is_numeric_dtype

from core.errors import InputError
from core.figures import palette
from core.figures.exports import to_csv, to_html
from core.figures.numbers import counted
from core.plans.plan import Figure, Finding
from core.plans.reading import MARK, UnknownModelsError, groups_in, question_of
from core.plans.run import Run
from core.progress import heard_by
from core.questions.asking import answer
from core.questions.competence.question import Bins
from core.questions.competence.scores import registry
from core.questions.metrics.question import MetricAgreement
from core.questions.question import Question
from core.questions.words import to_command
from core.recipe import Recipe
from core.store import Store
from core.store.publishing import write_file
from core.study.models import groups_by_age
from core.study.study import Study

REPORT, COMPARISON, MODELS = "report.md", "published.csv", "models.csv"
LISTED = ("group", "spec", "model", "parameters", "source")  # of a model
COMPARED = ("figure", "what", "published", "here", "reason", "source")
OTHER = "!"  # before a cell that does not count
Names = Mapping[str, Sequence[str]]  # of models in the store, by group


@dataclass(frozen=True)
class Drawn:
    """A figure that was answered. picture: None if its question has none."""

    figure: Figure
    command: str
    table: pd.DataFrame
    picture: go.Figure | None
    findings: Sequence[str]
    recipe: Recipe


def draw_figures(run: Run) -> list[Drawn]:
    """Answer every figure of the plan over the models that are embedded. Groups without a model are
    listed as missing, with the figures that need them.
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
    named = {name.partition(":")[0] for name in shlex.split(figure.ask)}
    every = {entry.card.name for entry in store.models(run.plan.dataset.name)}
    only = every & named | {name for group in names.values() for name in group}
    study = question.scope.open(store, device=type(question).device or "cpu", only=only)
    of = f"figure {figure.name}"
    if isinstance(question, Bins):
        wanted, measured = question.solving.tasks, set(registry(study)["task"])
        present = tuple(task for task in wanted if task in measured)
        if present and present != wanted:
            missing = ", ".join(task for task in wanted if task not in measured)
            run.lacks(of, f"without {missing}: no model was measured on it")
            question = replace(question, solving=replace(question.solving, tasks=present))
    if isinstance(question, MetricAgreement):
        beyond = [f"{size:,}" for size in question.sizes if size > study.size]
        if beyond:
            run.lacks(of, f"all {study.size:,} stimuli in place of {', '.join(beyond)}")
            fitting = tuple(size for size in question.sizes if size < study.size)
            question = replace(question, sizes=(*fitting, study.size))
    with heard_by(run.report):
        answered = answer(question, study)
    drawn = picture(question, answered.table, study)
    said = [one.sentence for one in answered.findings]
    return Drawn(figure, to_command(question), answered.table, drawn, said, answered.recipe)


def picture(question: Question, table: pd.DataFrame, study: Study | None) -> go.Figure | None:
    """Return the main figure of a question's table in light colors; None if it has none."""
    if study is not None:
        entries = study.store.models(study.dataset.name)
        made_at = {entry.card.name: entry.made_at for entry in entries}
        palette.show(palette.assign(groups_by_age(study.models(), made_at)))
    if type(question).plot is Question.plot:
        return None
    return question.complete(study).plot(table).draw("light")


def compare(run: Run, drawn: Sequence[Drawn]) -> pd.DataFrame:
    """Return a row per published finding: COMPARED. here: one's own value, or NaN with a reason.
    published: NaN if the source gives a direction alone.
    """
    tables = {one.figure.name: one.table for one in drawn}
    names = run.names()
    rows = [
        (
            *(one.figure, one.what, one.value),
            *own_value(one, tables.get(one.figure), names),
            one.source,
        )
        for one in run.plan.published
    ]
    return pd.DataFrame(rows, columns=list(COMPARED)).astype(
        {"published": "float64", "here": "float64"}
    )


def own_value(finding: Finding, table: pd.DataFrame | None, names: Names) -> tuple[float, str]:
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
    """Return whether a cell is what is wanted: `!NAME` is anything else, `@GROUP` a model of it."""
    if wanted.startswith(OTHER):
        return f"{cell}" != wanted.removeprefix(OTHER)
    if not wanted.startswith(MARK):
        return f"{cell}" == wanted
    there = names.get(wanted.removeprefix(MARK), ())
    return f"{cell}" in there or f"{cell}".rpartition(":")[0] in there


def check_folder(folder: Path) -> None:
    """Raise InputError for a folder that holds files and that no study wrote into."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MODELS).is_file():
        raise InputError(
            f"{folder} holds other files, which a study might overwrite; name another folder with"
            " --to"
        )


def write_report(run: Run, drawn: Sequence[Drawn], folder: Path) -> Path:
    """Write a run's results into a folder and return the report's file; raise InputError if they
    cannot be written.
    """
    compared, models = compare(run, drawn), _models(run)
    files: dict[str, bytes] = {MODELS: to_csv(models), COMPARISON: to_csv(compared)}
    for one in drawn:
        files[f"{one.figure.name}.csv"] = to_csv(one.table)
        if one.picture is not None:
            title = one.figure.title or one.figure.name
            files[f"{one.figure.name}.html"] = to_html(one.picture, one.recipe, title=title)
    files[REPORT] = ("\n".join(_lines(run, drawn, models, compared)) + "\n").encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_file(folder / name, data)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written ({error.strerror}); name another folder with --to"
        ) from error
    return folder / REPORT


def _models(run: Run) -> pd.DataFrame:
    rows = []
    for group, model in run.plan.members():
        entry = run.entry(group, model)
        name, parameters = (entry.card.name, entry.card.parameters) if entry else ("", None)
        rows.append((group.name, model.spec, name, parameters, model.source or group.source))
    return pd.DataFrame(rows, columns=list(LISTED)).astype({"parameters": "Int64"})


def _lines(
    run: Run, drawn: Sequence[Drawn], models: pd.DataFrame, compared: pd.DataFrame
) -> Iterator[str]:
    plan, there = run.plan, int((models["model"] != "").sum())
    yield from (f"# {plan.title}", "")
    yield from (f"Source: {plan.source}.", "") if plan.source else ()
    size = Store(run.store).dataset(plan.dataset.name).size
    stimuli = counted(size, "stimulus", "stimuli")
    yield f"Over {plan.dataset.name}, {stimuli}, with {there} of {len(models)} models ({MODELS})."
    yield "Figures that name no models use only these and known reality."
    if run.missing:
        yield from ("", "## What is missing", "")
        yield from _table(pd.DataFrame(run.missing, columns=["of", "why, and what to name"]))
    if run.failures:
        yield from ("", "## What failed", "", *(f"- {step}: {why}" for step, why in run.failures))
    for one in drawn:
        name, findings = one.figure.name, one.findings or ["It has no finding."]
        yield from ("", f"## {one.figure.title or name}", "", *(f"- {said}" for said in findings))
        shown = f" and [picture]({name}.html)" if one.picture is not None else ""
        source = f" {one.figure.source}." if one.figure.source else ""
        yield from ("", f"[Table]({name}.csv){shown}; recipe {one.recipe.digest}.{source}")
        yield from ("", f"    {one.command}")
    if len(compared):
        shown_values = compared.assign(
            published=[f"{one:.3g}" if one == one else "" for one in compared["published"]],
            here=[
                f"{value:.3g}" if value == value else why
                for value, why in zip(compared["here"], compared["reason"], strict=True)
            ],
        ).drop(columns="reason")
        yield from ("", "## Published and here", "", *_table(shown_values))


def _table(table: pd.DataFrame) -> Iterator[str]:
    for row in (list(table), ["---"] * table.shape[1], *table.itertuples(index=False)):
        cells = [" ".join(str(cell).split()).replace("|", "\\|") for cell in row]
        yield f"| {' | '.join(cells)} |"
