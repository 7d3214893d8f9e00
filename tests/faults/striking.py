"""Strikes the rows of the table: counts a row's points, then lets each kind of fault happen at each
of them, or at some.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.points import DAMAGES, FINISHING, KINDS, Fault
from tests.faults.table import CARELESS, ROWS, TABLE, Row

ROOT = Path(__file__).parents[2]
UNCHECKED = "runs/pool/"  # pictures and tokens that models learn from: a bit of them is one of 10⁹


@dataclass
class Outcome:
    """What a row's cases came to. points: what it met undisturbed. wrong: by case, what did not
    hold.
    """

    points: list[str]
    cases: int = 0
    wrong: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Striker:
    """Strikes rows in forks of a process that has imported everything. world: the folder of
    `tests.faults.world`; room: where cases lie, one at a time.
    """

    process: subprocess.Popen[str]
    world: Path
    room: Path

    def do(self, row: Row, case: Path, what: str, *more: object) -> int:
        """Do one step of a case, and return its exit code, below 0 the signal that ended it."""
        request = [row.name, str(self.world), str(case), what, list(more)]
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def whole(self, row: Row) -> list[str]:
        """Run a row undisturbed, keep what it leaves to compare with, and return its points."""
        case = self.room / "case"
        _begin(row, self.world, case)
        code = self.do(row, case, "strike")
        said = (case / "err").read_text(errors="replace")
        assert code == 0, f"{row.name} ends with {code} undisturbed: {said[-2000:]}"
        kept = self.world / "wholes" / row.name
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(exist_ok=True)
        shutil.move(case, kept)
        return (self.world / "points").read_text().splitlines()

    def strike(self, row: Row, fault: Fault) -> list[str]:
        """Let one fault happen to a row, and return what did not hold."""
        case = self.room / "case"
        _begin(row, self.world, case)
        code = self.do(row, case, "strike", fault.kind, fault.point)
        wrong = self.judge(row, case, fault.kind, fault.point, code)
        shutil.rmtree(case, ignore_errors=True)
        return wrong

    def judge(self, row: Row, case: Path, kind: str, point: int, code: int) -> list[str]:
        """Return what is wrong with a case whose command ended with a code after a fault."""
        if ended := self.do(row, case, "judge", kind, point, code):
            return [f"judging it ends with {ended}"]
        wrong: list[str] = json.loads((self.world / "wrong").read_text())
        return wrong

    def strike_all(self, row: Row, *, at: str = "", most: int | None = None) -> Outcome:
        """Let every fault happen at every point of a row, or `most` of them, drawn by its name.

        at: what the points have in their names, such as a folder.
        """
        points = self.whole(row)
        faults = [fault for fault in faults_at(points) if at in points[fault.point]]
        if most is not None:
            faults = random.Random(row.name).sample(faults, min(most, len(faults)))
        return self._strike_each(row, points, faults)

    def strike_by(self, row: Row, kinds: Iterable[str]) -> Outcome:
        """Let a fault of each of some kinds happen to a row, at a point drawn by its name."""
        points, dice = self.whole(row), random.Random(row.name)
        faults = list(faults_at(points))
        drawn = [dice.choice([one for one in faults if one.kind == kind]) for kind in kinds]
        return self._strike_each(row, points, drawn)

    def _strike_each(self, row: Row, points: list[str], faults: Sequence[Fault]) -> Outcome:
        outcome = Outcome(points)
        for fault in faults:
            outcome.cases += 1
            if wrong := self.strike(row, fault):
                outcome.wrong[f"{fault.kind} at {fault.point} ({points[fault.point]})"] = wrong
        return outcome


def faults_at(points: Sequence[str]) -> Iterator[Fault]:
    """Yield every kind of fault at every point where it can happen; of points that differ in a
    number alone, such as batches, at the first and the last.
    """
    alike: dict[str, list[int]] = {}
    for number, point in enumerate(points):
        alike.setdefault(re.sub(r"\d+", "#", point), []).append(number)
    for number in sorted({place for places in alike.values() for place in (places[0], places[-1])}):
        point = points[number]
        finishes = point.split()[0] in FINISHING and UNCHECKED not in point
        yield from (Fault(kind, number) for kind in KINDS if finishes or kind not in DAMAGES)


@contextmanager
def open_striker(room: Path, rows: Iterable[Row] = TABLE) -> Iterator[Striker]:
    """Start the process that forks, and make the world of some rows in a folder; end it at last."""
    paths = [ROOT, ROOT / "tests", ROOT / "tests" / "encoders"]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # thread, since forks have no other
    settings = {**one, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ":".join(map(str, paths))}
    command = [sys.executable, "-W", "ignore", "-m", "tests.faults.warm"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        (room / "warm.err").open("w") as log,
        subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **settings}, stderr=log, **pipes
        ) as process,
    ):
        striker = Striker(process, room / "world", room)
        try:
            if not striker.world.exists():
                bases = {row.base for row in rows}
                code = striker.do(CARELESS, room / "case", "build", *bases)
                assert code == 0, (room / "warm.err").read_text()[-2000:]
            yield striker
        finally:
            process.kill()


def _begin(row: Row, world: Path, case: Path) -> None:
    """Make the folder of a case; what is published is never changed in place, so links will do."""
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(world / "stores" / row.base, case / "store", copy_function=_link_published)


def _link_published(source: str, target: str) -> None:
    (os.link if source.endswith(".duckdb") else shutil.copy2)(source, target)


def main() -> None:
    """`python -m tests.faults.striking FOLDER MOST [ROW[:AT]…]`: strike rows, each MOST times or,
    where that is 0, in full, and print a table; the world is made in the folder where there is none
    yet. AT: see `strike_all`.
    """
    import time

    room, most, *names = sys.argv[1:]
    Path(room).mkdir(exist_ok=True)
    with open_striker(Path(room)) as striker:
        print("| row | points | cases | held |\n|---|---|---|---|", flush=True)
        for name in names or ROWS:
            began = time.monotonic()
            row, _, at = name.partition(":")
            outcome = striker.strike_all(ROWS[row], at=at, most=int(most) or None)
            held = outcome.cases - len(outcome.wrong)
            print(f"| {name} | {len(outcome.points)} | {outcome.cases} | {held} |", flush=True)
            for case, wrong in outcome.wrong.items():
                print(f"  {name}: {case}: {'; '.join(wrong)[-700:]}", flush=True)
            print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
