"""A command for each question: its options, its table, its findings."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from core.catalog import QUESTIONS
from core.cli.shared import (
    add_command,
    add_json,
    group,
    print_object,
    print_table,
    report_problems,
)
from core.errors import NotApplicableError
from core.questions.question import Question, StudyQuestion
from core.questions.words import add_options, read_question

if TYPE_CHECKING:
    import pandas as pd

    from core.study.study import Study


def add(commands: Any) -> None:
    """Add every question's command."""
    for kind in QUESTIONS:
        *groups, name = kind.command.split()
        place = commands
        for word in groups:
            place = group(place, word)
        of_study = issubclass(kind, StudyQuestion)
        run = partial(run_question, kind)
        command = add_command(place, name, run, kind.title(), store=of_study, job=True)
        add_options(command, kind)
        if issubclass(kind, StudyQuestion):
            command.set_defaults(dataset="")  # the store's only one; see `default_dataset`
            _add_device(command, kind.device)
        add_json(command)


def _add_device(command: argparse.ArgumentParser, usual: str | None) -> None:
    """Add the choice of a device, where there is one."""
    command.set_defaults(device="cpu")
    if usual:
        text = f"cpu, cuda, cuda:1 or auto ({usual})"
        command.add_argument("--device", default=usual, metavar="DEVICE", help=text)


def run_question(kind: type[Question], arguments: argparse.Namespace) -> None:
    """Print the table that answers a question; its findings go to stderr, beside no JSON."""
    from core.progress import ConsoleProgress
    from core.questions.asking import ask, findings_of  # pandas and duckdb
    from core.questions.registry import answer_of
    from core.settings import choose_device

    question, progress = read_question(kind, arguments), ConsoleProgress()
    if isinstance(question, StudyQuestion):
        choose_device(arguments.device)  # raises before any work
        with progress.awake():
            study = _open(question, arguments)
            try:
                table = ask(question, study, progress)
                question = answer_of(kind).complete(question, study)  # which its findings name
            except NotApplicableError as error:
                print(f"not applicable: {error}", file=sys.stderr)
                return
        if table.empty:  # what the question names may be in a file left out
            report_problems(study.store)
    else:
        with progress.awake():
            table = ask(question, report=progress)
    if arguments.json:
        _print_json(question, table)
        return
    _print_text(question, table)
    for sentence in findings_of(question, table):
        print(sentence, file=sys.stderr)


def _open(question: StudyQuestion, arguments: argparse.Namespace) -> Study:
    """Open the study of a question; what no answer of its kind takes in goes to stderr."""
    from core.questions.asking import left_out_of
    from core.store import Store

    study = question.scope.open(Store(arguments.store), device=arguments.device)
    for sentence in left_out_of(question, study):
        print(sentence, file=sys.stderr)
    return study


def _print_json(question: Question, table: pd.DataFrame) -> None:
    from core.questions.asking import facts_of

    if facts := facts_of(question, table):
        print_object(facts, table)
    else:
        print_table(table, as_json=True)


def _print_text(question: Question, table: pd.DataFrame) -> None:
    from core.questions.registry import answer_of

    answer = answer_of(type(question))
    shown = list(answer.shown or table.columns.difference(list(answer.hidden), sort=False))
    print_table(table[shown], as_json=False)
