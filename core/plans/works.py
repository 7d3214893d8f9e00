"""The works whose procedures are offered: each figure and table with the command that makes it, how
that differs from the work, and what was published.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from core.plans.plan import Reduction
from core.plans.reading import open_plan, read_table
from core.settings import ROOT

FILE = ROOT / "data" / "published" / "works.toml"


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
