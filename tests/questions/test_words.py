"""A question survives every way it travels: as a command, as a link, as a recipe.

The questions are drawn at random from the fields of each question type, so that a new question is
tested by its line in the catalog alone.
"""

from __future__ import annotations

import argparse
import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cli import make_parser
from core.errors import InputError
from core.options import Option, build, options_of, values_of
from core.questions.alignment.question import Alignment
from core.questions.question import Question, choices_of
from core.questions.topics import every_kind
from core.questions.words import read_question, to_command, to_query, to_words
from core.study.parts import CAVE

WORD = st.text(st.characters(categories=("Ll", "Lu", "Nd"), max_codepoint=900), min_size=1)
TEXT = st.one_of(WORD, st.sampled_from(["-1:-1", "a b", "x=y", "ü·é", "50%", "'", "#1 & 2"]))
PARSER = make_parser()
every_question = pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.command)


def values(one: Option) -> st.SearchStrategy[Any]:
    """Return what a person may say of an option."""
    low, high = (one.range.least, one.range.most) if one.range else (0, 0)
    single = {
        "switch": st.booleans(),
        "whole": st.integers(int(low), int(high)),
        "number": st.floats(low, high, allow_subnormal=False),
        "factor": st.tuples(WORD, TEXT),
        "pair": st.tuples(WORD, st.one_of(WORD.filter(_no_number), st.integers(), st.floats(0, 9))),
        "text": st.sampled_from(one.choices) if one.choices else TEXT,
    }[one.kind]
    if one.many:
        return st.lists(single, min_size=1, max_size=3).map(tuple)
    return st.one_of(st.just(one.default), single) if not one.positional else WORD


def _no_number(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def drawn(data: st.DataObject, kind: type[Question]) -> Question:
    """Draw a question of a type: some of its options said, the others left at their defaults."""
    required = {one.name: values(one) for one in options_of(kind) if one.positional}
    others = {one.name: values(one) for one in options_of(kind) if not one.positional}
    return build(kind, data.draw(st.fixed_dictionaries(required, optional=others)))


def parsed(words: list[str]) -> argparse.Namespace:
    options = PARSER.parse_args(words)
    if getattr(options, "dataset", None) == "":  # as main does over a store with the Cave
        options.dataset = CAVE
    return options


@every_question
@given(data=st.data())
def test_a_question_comes_back_from_its_command_and_different_ones_differ(kind, data):
    one, other = drawn(data, kind), drawn(data, kind)
    for question in (one, other):
        assert read_question(kind, parsed(to_words(question))) == question
        assert shlex.split(to_command(question)) == ["platoscope", *to_words(question)]
    same = one == other
    assert (to_words(one) == to_words(other)) is same
    assert (to_query(one) == to_query(other)) is same
    scope = [option for option in options_of(kind) if option.path[0] == "scope"]
    if all(values_of(one)[option.name] == values_of(other)[option.name] for option in scope):
        assert (json.dumps(choices_of(one)) == json.dumps(choices_of(other))) is same


def test_the_words_of_a_question_leave_its_defaults_out():
    for kind in every_kind():
        required = {one.name: "file" for one in options_of(kind) if one.positional}
        question = build(kind, required)
        assert to_words(question) == [*kind.command.split(), *required.values()]
        assert to_query(question) == {name: [value] for name, value in required.items()}


def test_every_option_says_what_it_is_and_every_question_asks():
    for kind in every_kind():
        assert kind.title().endswith("?")
        for one in options_of(kind):
            assert one.help
            assert one.label[:1].isupper(), (kind, one)
            assert not one.label.endswith("."), (kind, one)
            assert not one.help.endswith("."), (kind, one)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_no_number_of_a_command_is_infinite_or_none(text, capsys):
    with pytest.raises(SystemExit):
        parsed(["align", f"--q={text}"])
    assert "expected a number, 0.01 to 1; got" in capsys.readouterr().err
    question = read_question(Alignment, parsed(["align", "--set", f"bandwidth={text}"]))
    assert dict(question.comparison.parameters) == {"bandwidth": text}


def test_no_two_questions_have_one_command():
    commands = [kind.command for kind in every_kind()]
    assert len(set(commands)) == len(commands)


@pytest.mark.parametrize("option", ["k", "metric", "layers"])
def test_dashes_in_place_of_a_value_are_refused(option):
    with pytest.raises(InputError, match=f"--{option} takes a value; got --: name one"):
        read_question(Alignment, parsed(["align", f"--{option}=--"]))
