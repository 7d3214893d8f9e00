"""A command for each question: its options, its table, its findings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from core.cli.shared import (
    add_command,
    add_json,
    group,
    print_object,
    print_table,
    report_problems,
)
from core.errors import NotApplicableError
from core.questions.finding import to_rows
from core.questions.question import Question, StudyQuestion
from core.questions.topics import TOPICS, kinds_of
from core.questions.words import add_options, read_question

if TYPE_CHECKING:
    import pandas as pd

    from core.study.study import Study


def add(commands: Any, word: str | None = None) -> None:
    """Add the commands of all questions; word: the only one whose commands are wanted in full, so
    that the others' modules need not be imported.
    """
    for first, topic in TOPICS.items():
        place = group(commands, first) if topic.grouped else commands
        if word in (None, first):
            _add_kinds(place, kinds_of(first))
        elif not topic.grouped:
            commands.add_parser(first, help=topic.about)


def _add_kinds(place: Any, kinds: Iterable[type[Question]]) -> None:
    for kind in kinds:
        if not kind.listed:
            continue
        name = kind.command.split()[-1]
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
    """Print the table that answers a question; its findings go to stderr, or into the JSON."""
    from core.progress import ConsoleProgress
    from core.questions.asking import answer  # pandas and duckdb
    from core.settings import choose_device

    question, progress, study = read_question(kind, arguments), ConsoleProgress(), None
    if isinstance(question, StudyQuestion):
        choose_device(arguments.device)  # raises before any work
    with progress.awake():
        try:
            if isinstance(question, StudyQuestion):
                study = _open(question, arguments)
            answered = answer(question, study, progress)
        except NotApplicableError as error:
            print(f"not applicable: {error}", file=sys.stderr)
            return
    if study and answered.table.empty:  # what the question names may be in a file left out
        report_problems(study.store)
    if arguments.json:
        facts = dict(question.facts(answered.table))
        if answered.findings and not hasattr(kind, "declared_findings"):
            facts["findings"] = to_rows(answered.findings)
        if facts:
            print_object(facts, answered.table)
        else:
            print_table(answered.table, as_json=True)
        return
    print_table(answered.table[_shown(kind, answered.table)], as_json=False)
    for finding in answered.findings:
        print(finding.sentence, file=sys.stderr)


def _open(question: StudyQuestion, arguments: argparse.Namespace) -> Study:
    """Open the study of a question; what no answer of its kind takes in goes to stderr."""
    from core.questions.asking import left_out_of
    from core.store import Store

    study = question.scope.open(Store(arguments.store), device=arguments.device)
    for sentence in left_out_of(question, study):
        print(sentence, file=sys.stderr)
    return study


def _shown(kind: type[Question], table: pd.DataFrame) -> list[str]:
    """Return the columns that a terminal has room for."""
    hidden = getattr(kind, "hidden", ())
    return list(kind.shown or (name for name in table.columns if name not in hidden))
