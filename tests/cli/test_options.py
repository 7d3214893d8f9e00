"""Every option of every command against every word: what it takes, it says, and whatever else it is
handed is refused in a sentence.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cli import make_parser
from core.errors import PlatoscopeError
from core.options import Range, option, options_of
from core.questions.question import Question, StudyQuestion
from core.questions.words import read_question
from core.store import Store
from core.study.parts import Scope
from core.study.study import Study
from docs.reference import commands
from tests.pages.world import SMALL, PaintedDataset, build

COMMANDS = dict(commands(make_parser(), "platoscope"))
ENDS = ("taken", "refused", "impossible")  # see `outcome`

GRAMMAR = (  # of what a person, or a script that went wrong, may write in place of a value
    *("", " ", "-", "--", "---", "-1", "-0", "0", "1", "2", "0.5", "1e6", "1e22", "1e-400", "+1"),
    *("nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-1e999", f"{10**22}", "9" * 5_000),
    *("１２", "٣", "²", "½", "1_000", "0x10", "1,000", "1 2", "None", "true", "[]", "{}", "null"),
    *("=", "k=", "=1", "k=5.0", "k=0", "k=-1", f"k={10**400}", "bandwidth=NaN", "bandwidth=0"),
    *("bandwidth=Infinity", "x=1", "scene=", "scene=nowhere", "scene=city", f"k={'[' * 100_000}"),
    *("0:0", "-1:-1", "9:9", "1:2:3", ":", "a:b", "all:0", "last", "best", "é", "\u202e", "💥"),
    *("\x00", "\n", "\t", "%s", "%(prog)s", "'", '"', "a b", "../..", "x" * 10_000, "@x", "\udcff"),
)
WORDS = st.one_of(
    st.sampled_from(GRAMMAR),
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(str),
    st.tuples(st.sampled_from(("k", "rank", "folds", "unit", "é")), st.floats()).map(
        lambda pair: f"{pair[0]}={pair[1]}"
    ),
)


class Place(NamedTuple):
    """An option of a command: its parser, and the words without which it does nothing."""

    command: str
    parser: argparse.ArgumentParser
    action: argparse.Action
    needed: tuple[str, ...]


def needed_words(parser: argparse.ArgumentParser, but: argparse.Action) -> tuple[str, ...]:
    """Return a value for everything that a command requires, but for one option."""
    words: list[str] = []
    for action in parser._actions:
        if action.required and action is not but and action.nargs != argparse.REMAINDER:
            value = "1" if isinstance(action.type, Range) else "x"
            words += [*action.option_strings[:1], value]
    return tuple(words)


PLACES = tuple(
    Place(words, parser, action, needed_words(parser, action))
    for words, parser in COMMANDS.items()
    for action in parser._actions
    if action.dest != "help" and action.nargs not in (0, argparse.REMAINDER)
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("options")
    build(root, PaintedDataset(20), **SMALL)
    return root


def test_every_number_has_a_range_that_its_help_states():
    for words, parser in COMMANDS.items():
        for action in parser._actions:
            said = (words, action.option_strings)
            if isinstance(action.type, Range):
                assert math.isfinite(action.type.least), said
                assert math.isfinite(action.type.most), said
                assert re.search(rf"[(; ]{re.escape(str(action.type))}\)$", str(action.help)), said
                if action.default is not None and not isinstance(action.default, list):
                    assert action.default in action.type, said
            else:  # no int, no float, and nothing of its own that reads a number
                assert action.type in (None, str, Path) or isinstance(action.type, partial), said


def test_a_number_out_of_its_range_is_refused_with_range_and_number(capsys):
    for place in PLACES:
        numbers = place.action.type
        if isinstance(numbers, Range):
            for wrong in (numbers.least - 1, numbers.most + 1, 10**22, math.nan, "１２"):
                with pytest.raises(SystemExit, match="2"):
                    place.parser.parse_args([*place.needed, *spelled(place.action, f"{wrong}")])
                said = capsys.readouterr().err.splitlines()[-1]
                assert f"expected {numbers.described}; got '{wrong}'" in said, place


def spelled(action: argparse.Action, word: str) -> list[str]:
    """Return the words that hand a word to an option, also one that begins with a dash."""
    return [f"{action.option_strings[0]}={word}"] if action.option_strings else [word]


@pytest.mark.parametrize("bounds", [{}, {"least": 1}, {"most": 1}])
def test_a_number_without_a_range_cannot_be_declared(bounds):
    class Endless:
        k: int = option(1, help="neighbors", **bounds)

    with pytest.raises(TypeError, match="a number needs least and most: neighbors"):
        options_of(dataclass(Endless))


def outcome(place: Place, words: list[str], store: Path) -> str:
    """Hand words to a command and return what came of it, `taken`, `refused` as it was read or
    `impossible` as it was checked; whatever is no `PlatoscopeError` passes through.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parsed = place.parser.parse_args(words)
    except SystemExit as refusal:
        code = refusal.code
        return "refused" if code == 2 and "error: " in said.getvalue() else f"left with {code}"
    run = place.parser.get_default("run")
    kind = run.args[0] if isinstance(run, partial) and run.args else None
    try:
        if isinstance(kind, type) and issubclass(kind, Question):
            complete(read_question(kind, parsed), store)
    except PlatoscopeError:
        return "impossible"
    return "taken"


def complete(question: Question, store: Path) -> None:
    """Check a question as it is before anything is computed."""
    study = open_study(question.scope, store) if isinstance(question, StudyQuestion) else None
    question.complete(study)


@lru_cache(maxsize=8)
def open_study(scope: Scope, store: Path) -> Study:
    return scope.open(Store(store))


def attack(data: st.DataObject, store: Path) -> tuple[str, list[str]]:
    """Hand drawn words to a drawn option; return what came of it, and the words."""
    place = data.draw(st.sampled_from(PLACES))
    several = place.action.nargs in ("+", "*")
    values = data.draw(st.lists(WORDS, min_size=1, max_size=3 if several else 1))
    flags = place.action.option_strings[:1]
    joined = flags and data.draw(st.booleans())
    words = [f"{flags[0]}={value}" for value in values] if joined else [*flags, *values]
    return outcome(place, [*place.needed, *words], store), words


@settings(max_examples=250)
@given(data=st.data())
def test_no_word_of_any_option_ends_in_anything_but_a_sentence(data, store):
    end, words = attack(data, store)
    assert end in ENDS, words
