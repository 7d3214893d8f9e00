"""`platoscope jobs`: the queue of long work."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from core.cli import make_parser
from core.cli.command import Command, Printing, print_table
from core.errors import InputError, UnknownNameError
from core.jobs import queue
from core.jobs.queue import Job
from core.options import argument, option
from core.questions.moved import present_words

LONG = ["folder", "started", "ended", "exit_code", "failure", "log"]  # not on a terminal
MOST_JOBS = 10**9
NICENESS = 5  # the dashboard goes first


@dataclass(frozen=True)
class ListJobs(Printing):
    """List the jobs, the latest first."""

    command = "jobs list"

    def run(self, store: Path) -> None:
        table = pd.DataFrame([_facts(job) for job in queue.jobs(store)])
        table = table.astype({"exit_code": "Int64"} if len(table) else {})
        shown = table if self.json or table.empty else table.drop(columns=LONG)
        print_table(shown, as_json=self.json)


@dataclass(frozen=True)
class ShowJob(Command):
    """Show a job: progress, failure, end of the log."""

    command = "jobs show"

    id: int = argument(metavar="ID", help="the job's number", least=1, most=MOST_JOBS)

    def run(self, store: Path) -> None:
        job = queue.job(store, self.id)
        for name, value in _facts(job).items():
            if value not in ("", None):
                print(f"{name.replace('_', ' '):10} {value}")
        if log := queue.log_of(job):
            print(f"\n{log}", end="")


@dataclass(frozen=True)
class AddJob(Command):
    """Queue a command as a job."""

    command = "jobs add"

    words: tuple[str, ...] = argument(metavar="COMMAND …", help="the command's words")

    @classmethod
    def add_options(cls, parser: argparse.ArgumentParser) -> None:
        text = "the command's words after `platoscope`, without --store"
        parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND …", help=text)

    @classmethod
    def read_and_run(cls, arguments: argparse.Namespace) -> None:
        cls(tuple(arguments.words)).run(arguments.store)

    def run(self, store: Path) -> None:
        words = present_words(self.words)
        parser = make_parser("".join(words[:1]))
        commands = parser.get_default("commands").choices
        if not words or words[0] not in commands:
            raise UnknownNameError("command", " ".join(words[:1]), commands)
        options = parser.parse_args(words)
        if options.store is not None:
            raise InputError("--store comes before the command: platoscope jobs add --store DIR …")
        if not options.job:
            raise InputError(f"`platoscope {words[0]}` is quick and not queued; run it directly")
        print(queue.submit(store, words).id)


@dataclass(frozen=True)
class CancelJobs(Command):
    """Cancel jobs; what they have finished is kept."""

    command = "jobs cancel"
    change = staticmethod(queue.cancel)

    ids: tuple[int, ...] = argument(metavar="ID", help="the job's number", least=1, most=MOST_JOBS)

    def run(self, store: Path) -> None:
        for number in self.ids:
            job = self.change(store, number)
            print(f"{number}: {'stopping' if job.is_stopping else job.state}")


@dataclass(frozen=True)
class RetryJobs(CancelJobs):
    """Queue failed or canceled jobs again."""

    command = "jobs retry"
    change = staticmethod(queue.retry)


@dataclass(frozen=True)
class Work(Command):
    """Run jobs here; the dashboard starts this command."""

    command = "jobs work"

    idle: float = option(
        60.0, metavar="S", least=0, most=1_000_000, help="end after this many seconds without jobs"
    )

    def run(self, store: Path) -> None:
        from core.jobs.worker import work

        # also if it was started without a terminal, which leaves interrupts ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        os.nice(NICENESS)
        work(store, idle=self.idle)
        print("no more jobs", file=sys.stderr)


def _facts(job: Job) -> dict[str, object]:
    progress, note = "", job.progress
    if note is not None:  # counting over cave: 8 of 20, 12 s left
        left = "" if note.seconds_left is None else f", {note.seconds_left:.0f} s left"
        progress = f"{note.what}: {note.done} of {note.total}{left}"
    return {
        "id": job.id,
        "state": "stopping" if job.is_stopping else job.state,
        "progress": progress,
        "command": job.command,
        "owner": job.owner,
        "folder": str(job.folder),
        "queued": job.queued_at,
        "started": job.started_at,
        "ended": job.ended_at,
        "exit_code": job.exit_code,
        "failure": job.failure,
        "log": str(job.log),
    }
