"""What pages ask is made once, however many ask."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pandas as pd
import pytest

from core.questions.alignment.question import Alignment
from core.questions.asking import Answered
from core.recipe import Recipe
from core.study.parts import Scope
from pages._shared import queries


@pytest.fixture
def at(demo, monkeypatch):
    monkeypatch.setenv("PLATOSCOPE_STORE", str(demo))
    return queries.place("cave")


def answer_by(monkeypatch, ask) -> None:
    """Let pages alone be answered so: a module of the core may be imported meanwhile."""

    def answer(*given):
        return Answered(ask(*given), (), Recipe.of("a question"), {})

    monkeypatch.setattr(queries, "asking", SimpleNamespace(answer=answer))


def test_two_visitors_who_ask_the_same_make_its_table_once(at, monkeypatch):
    made, all_there = [], threading.Event()

    def ask(question, *_):
        made.append(question)
        assert all_there.wait(180)
        return pd.DataFrame({"score": [1.0]})

    answer_by(monkeypatch, ask)
    tables: list[pd.DataFrame] = []
    question = Alignment(Scope("cave"), x=("gpt-2-m",))
    visitors = [
        threading.Thread(target=lambda: tables.append(queries.ask(at, question))) for _ in range(3)
    ]
    for visitor in visitors:
        visitor.start()
    while not made:
        time.sleep(0.01)
    all_there.set()  # all have begun
    for visitor in visitors:
        visitor.join()
    assert made == [question]
    assert [id(table) for table in tables] == [id(tables[0])] * 3


def test_a_visitor_whose_question_fails_leaves_the_next_one_free(at, monkeypatch):
    def fail(*_):
        raise RuntimeError("no answer")

    question = Alignment(Scope("cave"), x=("gpt-2-s",))
    answer_by(monkeypatch, fail)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no answer"):
            queries.ask(at, question)
