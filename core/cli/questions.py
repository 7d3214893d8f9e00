"""A command for each question: its options, its table, its findings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from core.cli.catalog import QUESTIONS
from core.cli.shared import add_command, add_json, group, print_object, print_table, report_problems
from core.questions.question import Question, StudyQuestion
from core.questions.words import add_options, read_question

if TYPE_CHECKING:
    import pandas as pd

    Answered = tuple[pd.DataFrame, Sequence[str], Mapping[str, object]]


def add(commands: Any) -> None:
    """Add every question's command."""
    for kind in QUESTIONS:
        *groups, name = kind.command.split()
        place = commands
        for word in groups:
            place = group(place, word)
        of_study = issubclass(kind, StudyQuestion)
        run = partial(run_question, kind)
        command = add_command(place, name, run, kind.title(), store=of_study)
        add_options(command, kind)
        if issubclass(kind, StudyQuestion):
            command.add_argument(
                "--device",
                default=kind.device,
                metavar="DEVICE",
                help=f"cpu, cuda, cuda:1 or auto ({kind.device})",
            )
        add_json(command)


def run_question(kind: type[Question], arguments: argparse.Namespace) -> None:
    """Print the table that answers a question; its findings go to stderr, beside no JSON."""
    question = read_question(kind, arguments)
    if isinstance(question, StudyQuestion):
        table, findings, facts = _of_study(question, arguments)
    else:
        table, findings, facts = _alone(question)
    if facts and arguments.json:
        print_object(facts, table)
    else:
        shown = [] if arguments.json else _shown(question)
        print_table(table[shown] if shown else table, as_json=arguments.json)
    for sentence in () if arguments.json else findings:
        print(sentence, file=sys.stderr)


def _shown(question: Question) -> list[str]:
    from core.questions.asking import ANSWERS  # pandas

    answer = ANSWERS.get(type(question))
    return list(answer.shown) if answer else []


def _of_study(question: StudyQuestion, arguments: argparse.Namespace) -> Answered:
    from core.progress import ConsoleProgress
    from core.questions.asking import ask, findings_of, left_out_of  # pandas and duckdb
    from core.store import Store

    study = question.scope.open(Store(arguments.store), device=arguments.device)
    for sentence in left_out_of(type(question), study):
        print(sentence, file=sys.stderr)
    table = ask(question, study, ConsoleProgress())
    if table.empty:  # what is asked for may lie in files that are left out
        report_problems(study.store)
    return table, findings_of(question, table), {}


def _alone(question: Question) -> Answered:
    from core.progress import ConsoleProgress
    from core.questions.alone import ask_alone, facts_alone, findings_alone  # pandas

    table = ask_alone(question, ConsoleProgress())
    return table, findings_alone(question, table), facts_alone(question, table)
