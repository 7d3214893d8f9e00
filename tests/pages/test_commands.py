"""The command that a page prints beside a plot gives the table that the page asked for."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.cli import main, make_parser
from core.questions.dispersion.question import Trial
from core.questions.question import Question
from core.questions.words import read_question
from pages._parts.dispersion import pick
from pages._parts.experiments import patience
from pages._shared import queries
from tests.pages.measured import measure
from tests.pages.world import PaintedDataset, build

MINED = ["gpt-2-m", "vit-clip-m", "vit-mae-m"]
VIEWS: list[tuple[str, dict[str, Any]]] = [  # pages, each with an address that draws its plots
    ("alignment", {}),
    ("competence", {}),
    ("convergence", {"by": "size"}),
    ("benefits", {}),
    ("dispersion", {}),
    ("models", {"layout": "mds", "chosen": "gpt-2-m"}),
    ("models", {"view": "table", "targets": "language models"}),
    ("models", {"view": "tree"}),
    ("overview", {"axis": "parameters"}),
    ("stimuli", {"view": "map"}),
    ("stimuli", {"view": "map", "map": "pca"}),
    ("stimuli", {"stimulus": "5"}),
    ("experiments/neurons", {"models": MINED, "null": "19", "rotations": "1"}),
    ("experiments/translation", {"method": "qap", "size": "12", "starts": "1", "draws": "1"}),
]


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch) -> None:
    """Draw fewer random sets and halves: the page prints how many."""
    monkeypatch.setattr(pick, "Trial", partial(Trial, repeats=3, draws=4))
    monkeypatch.setattr("core.questions.dispersion.prediction.regression.HALVES", 3)
    monkeypatch.setattr(patience, "PATIENCE", float("inf"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure(build(tmp_path_factory.mktemp("commands"), PaintedDataset(60)))


@pytest.mark.parametrize(("page", "address"), VIEWS)
def test_a_printed_command_gives_the_table_of_the_page(
    opened, store, page, address, monkeypatch, capsys
):
    tables: dict[Question, pd.DataFrame] = {}
    ask = queries.ask

    def record(at: Any, question: Any) -> pd.DataFrame:
        tables[question] = ask(at, question)
        return tables[question]

    monkeypatch.setattr(queries, "ask", record)
    app = opened(store, page, **address)
    assert not app.exception
    shown = [code.value for code in app.code if code.value.startswith("platoscope ")]
    commands = [words for words in map(shlex.split, shown) if words[1] != "published"]
    assert len(commands) >= len(app.get("plotly_chart"))
    for _, *words in commands:
        assert main([*words, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert rows == as_json(tables[question_of(words)]), shlex.join(words)


def question_of(words: list[str]) -> Question:
    arguments = make_parser().parse_args(words)
    return read_question(arguments.run.args[0], arguments)


def as_json(table: pd.DataFrame) -> Any:
    return json.loads(table.to_json(orient="records", double_precision=15))
