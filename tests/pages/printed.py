"""What a page asks and draws, next to what the printed commands print."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.cli import main
from core.questions.asking import Answered
from core.questions.question import Question
from core.questions.words import to_words
from pages._shared import exportbar, queries


@dataclass
class Record:
    """The tables that a page asked for and the plots that it drew, the latest last."""

    asked: dict[Question, pd.DataFrame] = field(default_factory=dict)
    drawn: dict[str, tuple[Question, pd.DataFrame]] = field(default_factory=dict)


def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    """Write down what pages ask and draw from now on."""
    kept, answer, draw = Record(), queries.answer, exportbar.draw

    def answering(at: Any, question: Question) -> Answered:
        answered = answer(at, question)
        kept.asked[question] = answered.table
        return answered

    def drawing(at: Any, question: Question, figure: Any, *, key: str, table: Any, **how: Any):
        kept.drawn[key] = question, table
        return draw(at, question, figure, key=key, table=table, **how)

    monkeypatch.setattr(queries, "answer", answering)
    monkeypatch.setattr(exportbar, "draw", drawing)
    return kept


def run(question: Question, store: Path, capsys: pytest.CaptureFixture[str]) -> pd.DataFrame:
    """Return the table that a question's command prints."""
    capsys.readouterr()
    assert main([*to_words(question), "--store", str(store), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    return pd.DataFrame(said["rows"] if isinstance(said, dict) else said)
