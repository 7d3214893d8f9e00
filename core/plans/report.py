"""Writes what a run found into a folder: a table per figure as CSV, its picture as HTML, what was
published beside one's own values, and a report. The same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from core.errors import InputError
from core.figures.exports import to_csv, to_html
from core.figures.numbers import counted
from core.plans.figures import COMPARED, Drawn, compare
from core.plans.plan import Plan
from core.plans.run import Run
from core.store import Store
from core.store.publishing import write_file

REPORT, COMPARISON, MODELS = "report.md", "published.csv", "models.csv"
LISTED = ("group", "spec", "model", "parameters", "source")  # of a model


def check_folder(plan: Plan, folder: Path) -> None:
    """Raise InputError where a report would overwrite a file of a folder that no study wrote into:
    it has neither of the tables that every study writes.
    """
    drawn = (f"{one.name}{end}" for one in plan.figures for end in (".csv", ".html"))
    taken = [name for name in (MODELS, COMPARISON, REPORT, *drawn) if (folder / name).exists()]
    tables = (folder / MODELS, LISTED), (folder / COMPARISON, COMPARED)
    if taken and not any(_begins(file, columns) for file, columns in tables):
        raise InputError(
            f"{folder / taken[0]} would be overwritten, and no study wrote into {folder}; name"
            " another folder with --to, or move the file"
        )


def _begins(file: Path, columns: Sequence[str]) -> bool:
    """Return whether a file begins as a table with these columns."""
    head = to_csv(pd.DataFrame(columns=list(columns)))
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(head)) == head


def write_report(run: Run, drawn: Sequence[Drawn], folder: Path) -> Path:
    """Write a run's results into a folder, made where it is not there, and return the report's
    file; raises InputError where they cannot be written.
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
    """Return a row per model of the plan, with its name in the store where it is there."""
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
    yield "Figures that name no models count these alone, and known reality."
    if run.missing:
        yield from ("", "## What is missing", "", "| of | why, and what to name |", "|---|---|")
        yield from (f"| {_cell(one.of)} | {_cell(one.why)} |" for one in run.missing)
    yield from _listed("What failed", [f"{one.step}: {one.reason}" for one in run.failures])
    for one in drawn:
        yield from _figure(one)
    yield from _compared(compared)


def _listed(heading: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        yield from ("", f"## {heading}", "", *(f"- {sentence}" for sentence in sentences))


def _figure(one: Drawn) -> Iterator[str]:
    name = one.figure.name
    yield from _listed(one.figure.title or name, one.findings or ["No finding is written for it."])
    picture = f" and [picture]({name}.html)" if one.picture is not None else ""
    source = f" {one.figure.source}." if one.figure.source else ""
    yield from ("", f"[Table]({name}.csv){picture}; recipe {one.recipe.digest}.{source}")
    yield from ("", f"    {one.command}")


def _compared(compared: pd.DataFrame) -> Iterator[str]:
    """Yield what was published beside one's own values."""
    if compared.empty:
        return
    yield from ("", "## Published and here", "", "| figure | what | published | here | source |")
    yield "|---|---|---|---|---|"
    for row in compared.to_dict("records"):
        published = "" if pd.isna(row["published"]) else f"{row['published']:.3g}"
        here = row["reason"] if pd.isna(row["here"]) else f"{row['here']:.3g}"
        cells = (row["figure"], row["what"], published, here, row["source"])
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
