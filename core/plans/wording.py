"""The words of a figure's question, and the groups that they name."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NoReturn

from core.errors import InputError, UnknownNameError, quoted, shortened
from core.options import options_of
from core.plans.plan import Figure, Plan
from core.questions.moved import present_words
from core.questions.question import StudyQuestion
from core.questions.topics import every_kind
from core.questions.words import add_options, read_question

MARK = "@"  # before the name of a group
DATASET = "--dataset"  # which the plan itself says
LONGEST = 300  # characters of a complaint, which repeats what was given


class UnknownModelsError(InputError):
    """No model of a group that a figure names is in the store."""


def check_words(plan: Plan, figure: Figure) -> None:
    """Raise InputError where a figure's words are no question, or name a group that is none."""
    where = f"{plan.place}: figure {figure.name}"
    try:
        kind, words = _split(plan, figure)
    except ValueError as error:
        raise InputError(
            f"{where}: {quoted(figure.ask)} opens a quotation, or ends in a backslash; expected"
            " the words of a command: close the quotation"
        ) from error
    for name in groups_in(figure):
        plan.group(name)
    if DATASET in words:
        raise InputError(f"{where}: the plan says which dataset; leave {DATASET} out")
    _parse(kind, words, where)


def groups_in(figure: Figure) -> list[str]:
    """Return the names of the groups that a figure names, each once."""
    words = [word[1:] for word in shlex.split(figure.ask) if word.startswith(MARK)]
    return list(dict.fromkeys(word.partition(":")[0] for word in words))


def question_of(plan: Plan, figure: Figure, models: Mapping[str, Sequence[str]]) -> StudyQuestion:
    """Return a figure's question about the models that are there; a group without any is left out.

    models: their names in the store, by group. `@GROUP:LAYER` is a layer of each. Raises
    UnknownModelsError where an option has none of its models left.
    """
    kind, words = _split(plan, figure)
    spread: list[str] = []
    for flag, *values in _options(words):
        named = [one for value in values for one in _models(value, models)]
        if values and not named:
            groups = " or ".join(value.removeprefix(MARK) for value in values)
            raise UnknownModelsError(f"no model of group {groups} is in the store")
        spread += [flag, *named]
    return _parse(kind, [*spread, DATASET, plan.dataset.name], figure.name)


def _options(words: Sequence[str]) -> list[list[str]]:
    """Return each flag with its values."""
    options: list[list[str]] = []
    for word in words:
        if word.startswith("--") or not options:
            options.append([word])
        else:
            options[-1].append(word)
    return options


def _models(word: str, models: Mapping[str, Sequence[str]]) -> list[str]:
    if not word.startswith(MARK):
        return [word]
    group, colon, layer = word.removeprefix(MARK).partition(":")
    return [f"{name}{colon}{layer}" for name in models.get(group, ())]


def _split(plan: Plan, figure: Figure) -> tuple[type[StudyQuestion], list[str]]:
    """Return the kind of question and its words, the plan's preparation before them."""
    words = present_words(shlex.split(figure.ask))
    kinds = {kind.command: kind for kind in every_kind() if issubclass(kind, StudyQuestion)}
    for length in (2, 1):
        command = " ".join(words[:length])
        if command in kinds:
            kind = kinds[command]
            return kind, [*_prepared(plan, kind), *words[length:]]
    raise UnknownNameError(f"question of figure {figure.name}", " ".join(words[:2]), kinds)


def _prepared(plan: Plan, kind: type[StudyQuestion]) -> list[str]:
    """Return the plan's preparation in words, as far as this kind of question has options; an
    option of several values says what is compared, which the preparation does not choose.
    """
    flags = {one.name: one.flag for one in options_of(kind) if not one.many}
    chosen = {key: value for key, value in asdict(plan.preparation).items() if value is not None}
    return [word for key in chosen if key in flags for word in (flags[key], f"{chosen[key]}")]


class _Parser(ArgumentParser):
    """A parser whose complaints are sentences of ours."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {shortened(message, LONGEST)}")


def _parse(kind: type[StudyQuestion], words: Sequence[str], where: str) -> StudyQuestion:
    parser = _Parser(prog=where, add_help=False, allow_abbrev=False)
    add_options(parser, kind)
    return read_question(kind, parser.parse_args(words))
