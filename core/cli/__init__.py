"""The `platoscope` command: parse, call, report. Results go to stdout, progress and errors to
stderr.

One module for each group of commands; what takes long to import is imported where it is run.
"""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.cli import (
    adapt,
    captions,
    competence,
    datasets,
    demo,
    jobs,
    library,
    listings,
    models,
    probe,
    questions,
    study,
    train,
)
from core.cli.shared import default_dataset, report_problems
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
from core.settings import store_path
from core.unexpected import LONGEST, tell_too_little_memory
from core.visible import visible_output

GROUPS = (
    demo,
    datasets,
    models,
    library,
    captions,
    adapt,
    listings,
    probe,
    competence,
    study,
    train,
    jobs,
)
# what the system says of an output that takes no more
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


@visible_output()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 a mistake of the user's, 130
    interrupted.
    """
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        if words[:1] == ["--store"]:  # before the command, too
            words = [*words[2:], *words[:2]]
        words, given = present_words(words), words
        if words != given:
            _say(f"`{shlex.join(given)}` is now `{shlex.join(words)}`, which is run")
        word = None if words[:1] == ["jobs"] else "".join(words[:1])  # a job may be any command
        options = make_parser(word).parse_args(words)
        options.store = store_path(options.store)
        _check_store(options.store)
        _check_job(options)
        if not getattr(options, "read_only", False):
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
            "\nplatoscope: stopped; finished batches are kept, the same command continues",
            file=sys.stderr,
        )
        return INTERRUPTED
    except BrokenPipeError:  # `platoscope … | head` is no mistake
        _drop_output()
        return 0
    except Exception as error:
        return _explain(error)


def _clean(store: Path) -> None:
    if store.exists():
        from core.store.writer import remove_leftovers

        remove_leftovers(store)
        if any(store.glob("results/*/*.duckdb")):
            from core.store.writer import convert_results

            convert_results(store)


def _explain(error: Exception) -> int:
    """Say what this machine lacks, or which file it refuses; raises what is neither."""
    if is_out_of_memory(error):
        return _say(tell_too_little_memory(error))
    if not isinstance(error, OSError):
        raise error
    reason = error.strerror or error
    if error.filename is not None:
        return _say(
            f"{shortened(str(error.filename), LONGEST)} cannot be used ({reason}); expected a place"
            " with room that may be read and written: check it, then run this again"
        )
    if error.errno not in FULL:
        raise error
    _drop_output()
    return _say(
        f"the results could not be printed ({reason}); make room where the output goes, or send it"
        " elsewhere, then run this again"
    )


def _drop_output() -> None:
    """Let what is not printed yet go nowhere: Python would try again as it ends."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: str) -> int:
    with suppress(OSError):  # nobody reads stderr
        print(f"platoscope: {sentence}", file=sys.stderr)
    return MISTAKE


def _check_store(store: Path) -> None:
    if store.exists() and not store.is_dir():
        raise StoreError(
            f"a store is a folder, but {store} is a file; name another place with --store"
        )


def _check_job(options: argparse.Namespace) -> None:
    if in_job() and not options.job:
        raise InputError(
            f"`platoscope {options.command}` cannot be a job; type it in a terminal instead"
        )


class _Parser(argparse.ArgumentParser):
    """A parser whose help is printed, or raises OSError: argparse passes over that."""

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file, flush=True)


def make_parser(word: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of every command; word: the first of the command that is parsed, if the
    options of other questions are not needed.
    """
    parser = _Parser(
        prog="platoscope", description="Do neural networks converge to the same representation?"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    questions.add(commands, word)
    for group in GROUPS:
        group.add(commands)
    return parser
