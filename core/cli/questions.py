"""A command for each question: its options, its table, its findings."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from core.cli.command import print_object, print_table, report_problems
from core.errors import InputError, NotApplicableError
from core.questions.finding import to_rows
from core.questions.question import Question, StudyQuestion
from core.questions.words import add_options, read_question

JSON = "print JSON, numbers in full"
SAVED = "adapt"  # its adapters can be saved


def add_question(command: argparse.ArgumentParser, kind: type[Question]) -> None:
    """Add a question's options to its command, and what its columns mean to the help."""
    command.set_defaults(run=partial(run_question, kind), job=True)
    add_options(command, kind)
    if issubclass(kind, StudyQuestion):
        command.set_defaults(dataset="", device="cpu")  # the only dataset; see `default_dataset`
        if kind.device:
            text = f"cpu, cuda, cuda:1 or auto ({kind.device})"
            command.add_argument("--device", default=kind.device, metavar="DEVICE", help=text)
    if kind.command == SAVED:
        text = "write the first seed's adapters as safetensors"
        command.add_argument("--save", type=Path, metavar="FILE", help=text)
    command.add_argument("--json", action="store_true", help=JSON)
    if kind.columns:
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        width = max(map(len, kind.columns))
        lines = [f"  {name:{width}}  {text}" for name, text in kind.columns.items()]
        command.epilog = "\n".join(["columns:", *lines])


def run_question(kind: type[Question], arguments: argparse.Namespace) -> None:
    """Print the table that answers a question; its findings go to stderr, or into the JSON."""
    from core.progress import ConsoleProgress, heard_by
    from core.questions.asking import answer, left_out_of
    from core.settings import choose_device
    from core.store import Store

    question, study = read_question(kind, arguments), None
    if isinstance(question, StudyQuestion):
        choose_device(arguments.device)  # raises before any work
    try:
        if isinstance(question, StudyQuestion):
            study = question.scope.open(Store(arguments.store), device=arguments.device)
            for sentence in left_out_of(question, study):
                print(sentence, file=sys.stderr)
        if getattr(arguments, "save", None):
            save_adapters(question, study, arguments.save)
        with heard_by(ConsoleProgress()):
            answered = answer(question, study)
    except NotApplicableError as error:
        print(f"not applicable: {error}", file=sys.stderr)
        return
    if study and answered.table.empty:  # what the question names may be in a file left out
        report_problems(study.store)
    if arguments.json:
        if answered.findings:
            print_object({"findings": to_rows(answered.findings)}, answered.table)
        else:
            print_table(answered.table, as_json=True)
        return
    shown = list(kind.shown or (name for name in answered.table.columns if name not in kind.hidden))
    print_table(answered.table[shown], as_json=False)
    for finding in answered.findings:
        print(finding.sentence, file=sys.stderr)


def save_adapters(question: Question, study: object, file: Path) -> None:
    """Write the adapters of the first seed; raise InputError for several sets of encoders."""
    from core.questions.adapters.question import Adaptation, adapters_file
    from core.store.publishing import write_file
    from core.study.study import Study

    assert isinstance(question, Adaptation)
    assert isinstance(study, Study)
    if len(question.x) > 1:
        raise InputError(
            f"--save writes the adapters of one --x and one --y; got {len(question.x)} of each:"
            " save them one by one"
        )
    data = adapters_file(question, study)
    try:
        write_file(file, data)
    except OSError as error:
        raise InputError(
            f"{file} cannot be written ({error.strerror}); name another file with --save"
        ) from error
