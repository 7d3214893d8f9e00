"""The progress of units that run at once, as that of one piece of work."""

from __future__ import annotations

from dataclasses import dataclass

from core.progress import Progress

NAMED = 2  # units at work, of which more are only counted


@dataclass(frozen=True)
class Stage:
    """Where a unit stands: `done` of `total`, of what."""

    done: int
    total: int
    what: str


class MergedProgress:
    """Adds up the stages in which units are, and names what is at work.

    count: of units. The sums start anew whenever a unit enters a stage or ends: only what runs now
    is summed, since nobody knows how long the next stages are.
    """

    def __init__(self, report: Progress | None, count: int) -> None:
        self._report, self._count, self._ended = report, count, 0
        self._stages: dict[int, Stage] = {}
        self._shown: Stage | None = None

    def note(self, unit: int, stage: Stage) -> None:
        """Take in where a unit stands."""
        self._stages[unit] = stage

    def end(self, unit: int) -> None:
        """Take in that a unit has ended."""
        self._stages.pop(unit, None)
        self._ended += 1

    def show(self) -> None:
        """Report what is new."""
        stage = self._sum()
        if self._report and stage and stage != self._shown:
            self._shown = stage
            self._report(stage.done, stage.total, stage.what)

    def _sum(self) -> Stage | None:
        if self._ended == self._count:
            return Stage(self._count, self._count, "all done")
        stages = list(self._stages.values())
        if not stages:
            return None
        done, total = (sum(getattr(one, name) for one in stages) for name in ("done", "total"))
        return Stage(done, total, f"{self._ended} of {self._count} done; now {_named(stages)}")


def _named(stages: list[Stage]) -> str:
    names = " + ".join(stage.what for stage in stages[:NAMED])
    return names if len(stages) <= NAMED else f"{names} + {len(stages) - NAMED} more"
