"""The list of published figures: work by work, with the command that makes each, and our value.

    python -m docs.published STORE

asks every command of data/published/works.toml that has a value over the embedded demo, in a store
that holds it, and writes the values to data/published/ours.csv; `make docs` writes the page.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from core.plans.plan import Reduction
from core.plans.reading import open_plan, read_table
from core.settings import ROOT

FILE = ROOT / "data" / "published" / "works.toml"
OURS = FILE.parent / "ours.csv"
COLUMNS = ("work", "place", "demo", "value")
INTRODUCTION = """Each figure and table of the works, with the command that makes it, how that
differs from the work, what was published, and our value over the embedded demo. The demo's models
are small and trained in the Cave: our values show that the procedure runs, and need not equal those
of large models. “—”: no value over the demo. `platoscope study run` makes a study's figures ([Whole
studies](studies.md)); `platoscope published` lists published alignments pair by pair."""


@dataclass(frozen=True)
class Shown:
    """A figure, table or section of a work.

    study, figure: of a shipped study, which says the command and what was published; ask and
    published do where there is none. differs: how the command differs from the procedure, "" where
    it is faithful. demo: the words of the command that gives our value over the embedded demo, ""
    where it needs the real models; column, where, pick: which value of its table, as of a
    `core.plans.plan.Finding`.
    """

    place: str
    what: str
    study: str = ""
    figure: str = ""
    ask: str = ""
    published: str = ""
    differs: str = ""
    demo: str = ""
    column: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    pick: Reduction = "only"

    @property
    def command(self) -> str:
        """Return the command that makes it: a study's figure, or one by itself."""
        return f"study run {self.study}" if self.study else self.ask

    @property
    def values(self) -> list[str]:
        """Return what was published, in words."""
        if not self.study:
            return [self.published] if self.published else []
        published = [one for one in open_plan(self.study).published if one.figure == self.figure]
        return [
            one.what if one.value is None else f"{one.value:g} ({one.what})" for one in published
        ]


@dataclass(frozen=True)
class Work:
    """A work, and what of it is offered."""

    name: str
    source: str
    rows: tuple[Shown, ...]


@cache
def read_works() -> tuple[Work, ...]:
    """Return the works, in the order of the file."""
    listed = tomllib.loads(FILE.read_text(encoding="utf-8"))["work"]
    return tuple(read_table(Work, one, f"{FILE.name}: {one['name']}") for one in listed)


def published_page() -> str:
    """Return what was published, work by work, as Markdown."""
    ours = read_ours()
    lines = ["# Published figures", "", "<!-- Made by `make docs` from data/published/works.toml"]
    lines[-1] += ", data/studies and data/published/ours.csv; edit those, not this page. -->"
    lines += ["", " ".join(INTRODUCTION.split("\n"))]
    for work in read_works():
        lines += ["", f"## {work.name}", "", f"{work.source}.", ""]
        lines += ["| place | what | command | differs | published | ours |", "|---" * 6 + "|"]
        lines += [_row(work, one, ours) for one in work.rows]
    return "\n".join(lines) + "\n"


def _row(work: Work, one: Shown, ours: dict[tuple[str, str, str], float]) -> str:
    command = f"`platoscope {one.command}`" + (f": {one.figure}" if one.figure else "")
    value = f"{ours[work.name, one.place, one.demo]:.3g}" if one.demo else "—"
    rows = "".join(f", {column} {cell}" for column, cell in one.where.items())
    own = f"{value} (`{one.demo}`: {one.pick} of {one.column}{rows})" if one.demo else value
    cells = (one.place, one.what, command, one.differs or "faithful", "; ".join(one.values), own)
    return f"| {' | '.join(cells)} |"


def read_ours() -> dict[tuple[str, str, str], float]:
    """Return our value of each work, place and command over the demo."""
    with OURS.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {(row["work"], row["place"], row["demo"]): float(row["value"]) for row in rows}


def measure() -> Iterator[tuple[str, str, str, float]]:
    """Yield our value of every row that the demo answers, from the store of the settings; what has
    none is told.
    """
    import pandas as pd

    from core.cli import main
    from core.plans.plan import Finding
    from core.plans.report import own_value

    for work in read_works():
        for one in (row for row in work.rows if row.demo):
            printed = io.StringIO()
            with redirect_stdout(printed):
                main([*shlex.split(one.demo), "--json"])
            answer = json.loads(printed.getvalue())
            table = pd.DataFrame(answer if isinstance(answer, list) else answer["rows"])
            chosen = Finding(
                one.demo, one.what, "", column=one.column, where=one.where, pick=one.pick
            )
            value, reason = own_value(chosen, table, {})
            if reason:
                print(f"{work.name}, {one.place}: {reason}", file=sys.stderr)
            else:
                yield work.name, one.place, one.demo, value


if __name__ == "__main__":
    os.environ["PLATOSCOPE_STORE"] = str(Path(sys.argv[1]).resolve())
    rows = list(measure())
    with OURS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *((*row[:3], f"{row[3]:.6g}") for row in rows)])
