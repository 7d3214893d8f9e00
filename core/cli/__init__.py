"""The `platoscope` command: parse, call, report. Results go to stdout, progress and errors to
stderr.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from core.cli.command import Command, default_dataset, report_problems
from core.cli.questions import add_question
from core.errors import (
    INTERRUPTED,
    MISTAKE,
    InputError,
    PlatoscopeError,
    StoreError,
    UnknownNameError,
    shortened,
)
from core.machine.memory import is_out_of_memory
from core.progress import in_job
from core.questions.moved import present_words
from core.questions.question import StudyQuestion
from core.questions.topics import TOPICS, kinds_of
from core.settings import store_path
from core.unexpected import LONGEST, tell_too_little_memory
from core.visible import visible_output

# of commands that ask no question, by first word: the module of core.cli, a line of help, and
# whether a second word follows
MODULES = {
    "demo": ("app", "build the embedded demo store", False),
    "app": ("app", "serve the dashboard over a store, on localhost", False),
    "dataset": ("library", "add, list, rename or delete datasets", True),
    "model": ("library", "list, rename or delete models", True),
    "competence": ("library", "", True),
    "metrics": ("library", "", True),
    "embed": ("embed", "embed a dataset with models", False),
    "import": ("embed", "import features computed elsewhere", False),
    "summarize": ("embed", "rewrite captions in fewer words", False),
    "probe": ("measure", "measure what models can do", False),
    "bits-per-byte": ("measure", "measure language models in bits per byte", False),
    "study": ("study", "run a whole study from one file: a published one, or your own", True),
    "train": ("train", "train the Cave's models", False),
    "jobs": ("jobs", "queue long commands, run by a worker in the background", True),
}


@visible_output()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 a user's mistake, 130 interrupted."""
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        if words[:1] == ["--store"]:  # before the command, too
            words = [*words[2:], *words[:2]]
        words, given = present_words(words), words
        if words != given:
            _say(f"`{shlex.join(given)}` is now `{shlex.join(words)}`; running that")
        options = make_parser("".join(words[:1])).parse_args(words)
        options.store = store_path(options.store)
        if in_job() and not options.job:
            raise InputError(
                f"`platoscope {options.command}` cannot be a job; run it in a terminal instead"
            )
        if options.store.exists() and not getattr(options, "read_only", False):
            _clean(options.store)
        if getattr(options, "dataset", None) == "":
            options.dataset = default_dataset(options.store)
        code = options.run(options) or 0
        if sys.stdout:  # None where it was closed
            sys.stdout.flush()  # here, where a closed pipe is expected
        return code
    except PlatoscopeError as error:
        _say(str(error))
        if isinstance(error, UnknownNameError):  # it may lie in a file that cannot be read
            from core.store import Store

            report_problems(Store(options.store))
        return MISTAKE
    except KeyboardInterrupt:
        print(
            "\nplatoscope: stopped; finished batches are kept: run the command again to continue",
            file=sys.stderr,
        )
        return INTERRUPTED
    except BrokenPipeError:  # `platoscope … | head` is no mistake
        # else Python would print the rest as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _explain(error)


def _explain(error: Exception) -> int:
    """Say what this machine lacks or which file it refuses; raise any other error."""
    if is_out_of_memory(error):
        return _say(tell_too_little_memory(error))
    if not isinstance(error, OSError) or error.filename is None:
        raise error
    return _say(
        f"{shortened(str(error.filename), LONGEST)} cannot be used ({error.strerror}); expected a"
        " readable and writable place with free space: check it, then run the command again"
    )


def _say(sentence: str) -> int:
    with suppress(OSError):  # stderr may be closed
        print(f"platoscope: {sentence}", file=sys.stderr)
    return MISTAKE


def _clean(store: Path) -> None:
    from core.store.writer import remove_leftovers

    if not store.is_dir():
        raise StoreError(
            f"a store is a folder, but {store} is a file; name another place with --store"
        )
    remove_leftovers(store)


def make_parser(word: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of every command. word: the first word of the only commands that are needed
    in full, so that the modules of the others need not be imported.
    """
    parser = argparse.ArgumentParser(
        prog="platoscope", description="Do neural networks converge to the same representation?"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parser.set_defaults(commands=commands)
    for first in dict.fromkeys([*TOPICS, *MODULES]):
        topic, (module, about, grouped) = TOPICS.get(first), MODULES.get(first, ("", "", False))
        if topic:
            about, grouped = topic.about, topic.grouped
        if word not in (None, first):
            commands.add_parser(first, help=about)
            continue
        place = commands
        if grouped:
            group = commands.add_parser(first, help=about, description=about)
            place = group.add_subparsers(required=True, metavar="COMMAND")
        for question in kinds_of(first):
            if question.listed:
                over_store = issubclass(question, StudyQuestion)
                command = _add_parser(place, question.command, question.title(), over_store)
                add_question(command, question)
        for kind in vars(import_module(f"core.cli.{module}")).values() if module else ():
            if not (isinstance(kind, type) and issubclass(kind, Command)):
                continue
            if getattr(kind, "command", "").split(" ")[0] == first:
                command = _add_parser(place, kind.command, kind.help(), kind.over_store)
                command.set_defaults(run=kind.read_and_run, job=kind.is_job)
                kind.add_options(command)
    return parser


def _add_parser(place: Any, words: str, text: str, over_store: bool) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = place.add_parser(
        words.split()[-1], help=text, description=text
    )
    command.set_defaults(store=None)
    if over_store:
        folder = "the store's folder (PLATOSCOPE_STORE, else ./store)"
        command.add_argument("--store", metavar="DIR", help=folder)
    return command
