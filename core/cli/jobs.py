"""`platoscope jobs`: the queue of long work."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from core.cli.shared import add_command, add_json, add_number, group, print_table
from core.errors import InputError, UnknownNameError
from core.options import Range
from core.questions.moved import present_words

if TYPE_CHECKING:
    from core.jobs.job import Job

LONG = ["device", "folder", "started", "ended", "exit_code", "failure", "log"]  # not on a terminal
IDLE = 60.0
WAITS = Range(0, 1_000_000, whole=False)  # seconds
IDS = Range(1, 10**9)
NICENESS = 5  # the dashboard goes first


def add(commands: Any) -> None:
    """Add `jobs list`, `show`, `add`, `cancel`, `retry` and `work`."""
    jobs = group(commands, "jobs")
    add_json(add_command(jobs, "list", run_list, "list the jobs, the latest first"))
    show = add_command(jobs, "show", run_show, "show a job: progress, failure, end of the log")
    add_number(show, "id", IDS, "the job's number", metavar="ID")
    _add_adding(jobs, commands)
    _add_change(jobs, "cancel", "cancel jobs; what they have finished is kept")
    _add_change(jobs, "retry", "queue failed or canceled jobs again")
    work = add_command(jobs, "work", run_work, "run jobs here; the dashboard starts this by itself")
    text = "end after so many seconds without jobs"
    add_number(work, "--idle", WAITS, text, default=IDLE, metavar="S")


def _add_adding(jobs: Any, commands: Any) -> None:
    adding = add_command(jobs, "add", partial(run_add, commands), "queue a command as a job")
    adding.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar="COMMAND …",
        help="the command's words after `platoscope`, without --store",
    )


def _add_change(jobs: Any, name: str, text: str) -> None:
    command = add_command(jobs, name, partial(run_change, name), text)
    add_number(command, "ids", IDS, "the job's number", nargs="+", metavar="ID")


def run_list(arguments: argparse.Namespace) -> None:
    """Print one row per job."""
    import pandas as pd  # a third of a second, which parsing must not cost

    from core.jobs.queue import jobs

    table = pd.DataFrame([_facts(job) for job in jobs(arguments.store)])
    table = table.astype({"exit_code": "Int64"} if len(table) else {})
    if len(table) and not arguments.json:
        table = table.drop(columns=LONG)
    print_table(table, as_json=arguments.json)


def run_show(arguments: argparse.Namespace) -> None:
    """Print what is known of a job, then the end of its log."""
    from core.jobs.queue import job, log_of

    shown = job(arguments.store, arguments.id)
    for name, value in _facts(shown).items():
        if value not in ("", None):
            print(f"{name.replace('_', ' '):10} {value}")
    if log := log_of(shown):
        print(f"\n{log}", end="")


def run_add(commands: Any, arguments: argparse.Namespace) -> None:
    """Queue a command that its own parser has read, and print the job's number."""
    from core.jobs.queue import submit

    words = present_words(arguments.words)
    if not words or words[0] not in commands.choices:
        raise UnknownNameError("command", " ".join(words[:1]), commands.choices)
    options = commands.choices[words[0]].parse_args(words[1:])
    if options.store is not None:
        raise InputError("--store comes before the command: platoscope jobs add --store DIR …")
    if not options.job:
        raise InputError(f"`platoscope {words[0]}` takes a moment and is no job; run it at once")
    print(submit(arguments.store, words).id)


def run_change(name: str, arguments: argparse.Namespace) -> None:
    """Cancel jobs or queue them again, and print the state of each."""
    from core.jobs.queue import cancel, retry

    change = {"cancel": cancel, "retry": retry}[name]
    for number in arguments.ids:
        job = change(arguments.store, number)
        print(f"{job.id}: {_state(job)}")


def run_work(arguments: argparse.Namespace) -> None:
    """Run jobs until none is left; one that is stopped hands back what it runs."""
    from core.jobs.worker import work

    # also where it was started without a terminal, which leaves interrupts ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.nice(NICENESS)
    work(arguments.store, idle=arguments.idle)
    print("no more jobs", file=sys.stderr)


def _facts(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "state": _state(job),
        "progress": _progress(job),
        "command": job.command,
        "owner": job.owner,
        "device": job.lane or job.device,
        "folder": str(job.folder),
        "queued": job.queued_at,
        "started": job.started_at,
        "ended": job.ended_at,
        "exit_code": job.exit_code,
        "failure": job.failure,
        "log": str(job.log),
    }


def _state(job: Job) -> str:
    return "stopping" if job.is_stopping else job.state


def _progress(job: Job) -> str:
    """Say how far a running job is: `counting over cave: 8 of 20, 12 s left`."""
    note = job.progress
    if note is None:
        return ""
    left = "" if note.seconds_left is None else f", {note.seconds_left:.0f} s left"
    return f"{note.what}: {note.done} of {note.total}{left}"
