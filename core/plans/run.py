"""A run of a plan: where it stands, and what went wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from core.crew.units import Crew, Unit
from core.errors import PlatoscopeError
from core.plans.plan import Group, Plan, PlannedModel, is_of, stored_name
from core.progress import Progress
from core.store import ModelEntry, Store
from core.unexpected import tell_unexpected

R = TypeVar("R")


@dataclass(frozen=True)
class Failure:
    """A step that could not be done, and why, in a sentence."""

    step: str
    reason: str


@dataclass(frozen=True)
class Missing:
    """What a run is without: of which group, figure or dataset, and why, or what to name."""

    of: str
    why: str


@dataclass(frozen=True)
class Run:
    """What a run has done so far.

    device: by its name, which each unit of work reads where it runs. crew: who does them. tell:
    says which step begins. only: the groups whose models are embedded and measured, all where
    none is named. failures: the steps that could not be done.
    """

    plan: Plan
    store: Path
    device: str
    crew: Crew
    report: Progress
    tell: Callable[[str], None]
    only: tuple[str, ...] = ()
    failures: list[Failure] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do a step; what fails is named, and the run goes on."""
        self.tell(name)
        try:
            yield
        except PlatoscopeError as error:
            self.fail(name, f"{error}")
        except Exception as error:  # one figure's failure never loses the report
            self.fail(name, tell_unexpected(error))

    def do(self, units: Sequence[Unit[R]]) -> list[R]:
        """Do units of work, each a step, and return what those return that do not fail."""
        returned = list[R]()
        for unit, outcome in self.crew.run(
            units, report=self.report, began=lambda unit: self.tell(unit.name)
        ):
            if isinstance(outcome, PlatoscopeError):
                self.fail(unit.name, f"{outcome}")
            else:
                returned.append(outcome)
        return returned

    def gather(
        self, what: str, names: Sequence[str], units_of: Callable[[str], list[Unit[R]]]
    ) -> list[Unit[R]]:
        """Return the units of each model; one that cannot be measured is named."""
        units = list[Unit[R]]()
        for name in names:
            try:
                units += units_of(name)
            except PlatoscopeError as error:
                self.fail(f"{what} {name}", f"{error}")
            except Exception as error:
                self.fail(f"{what} {name}", tell_unexpected(error))
        return units

    def fail(self, step: str, reason: str) -> None:
        """Name a step that could not be done; the run goes on."""
        self.failures.append(Failure(step, reason))
        self.tell(f"{step}: {reason}")

    def lacks(self, of: str, why: str) -> None:
        self.missing.append(Missing(of, why))

    def held(self, model: PlannedModel, level: str | None = None) -> ModelEntry | None:
        """Return a model's embedding at a caption level, None where there is none.

        level: None for the dataset's default, and for models that read images.
        """
        reader, name = Store(self.store), self.plan.dataset.name
        entries = reader.embeddings(name)
        if stored := stored_name(model.spec):
            names = [f"{stored}~{level}", stored]
            found = [entry for one in names for entry in entries if entry.card.name == one]
            fits = [one for one in found if level is None or one.level in (level, None)]
            return next(iter(fits), None)
        wanted = (level or next(iter(reader.dataset(name).levels), None), None)
        for entry in entries:
            if is_of(entry.card, model.spec) and entry.level in wanted:
                return entry
        return None

    def entry(self, group: Group, model: PlannedModel) -> ModelEntry | None:
        """Return a model's embedding at the first level that its group reads, None where there is
        none.
        """
        levels = self.plan.levels if group.modality == "language" else ()
        return self.held(model, levels[0] if levels else None)

    def names(self) -> dict[str, list[str]]:
        """Return the store's names of the models that are there, by group."""
        names: dict[str, list[str]] = {}
        for group, model in self.plan.members():
            if entry := self.entry(group, model):
                names.setdefault(group.name, []).append(entry.card.name)
        return names
