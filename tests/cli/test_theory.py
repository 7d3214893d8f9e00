"""`platoscope theory`: no store, one JSON object, and mistakes as one sentence."""

from __future__ import annotations

import json

import pytest

from core.cli import main


def test_theorem_1_answers_with_the_least_alignment(capsys) -> None:
    words = "theory deep-linear --preset theorem-1 --a 4 --b 4 --json"
    assert main(words.split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["min_alignment"] > 1 - 1e-4
    assert answer["min_alignment"] == answer["rows"][-1]["min_alignment"]
    assert "Theorem 1 predicts 1." in answer["verdict"]


def test_a_sweep_answers_with_rows_alone(capsys) -> None:
    assert main(["theory", "contrastive", "--preset", "capacity", "--events", "6", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"][-1]["r2"] == pytest.approx(1, abs=1e-3)
    assert "r2" not in answer
    assert answer["given_offset"] is None  # InfoNCE's own


def test_matrices_answer_with_a_row_for_each_look_and_matrix(capsys) -> None:
    assert main(["theory", "matrices", "--a", "3", "--b", "3", "4", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    last = [row for row in rows if row["at"] == rows[-1]["at"]]
    assert [(row["network"], row["matrix"]) for row in last] == [
        *(("a", place) for place in range(3)),
        *(("b", place) for place in range(4)),
    ]
    (inner,) = (row for row in last if (row["network"], row["matrix"]) == ("b", 2))
    assert inner["stretch"] == pytest.approx(1, abs=1e-2)  # a rotation
    assert inner["norm"] == pytest.approx(inner["norm_theory"], rel=1e-2)
    assert max(row["gradients_apart"] or 0 for row in last) < 1e-2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["deep-linear", "--strength", "1"], "theorem-1 has no strength"),
        (["deep-linear", "--rank", "9"], "a rank of 1 … 5, not 9"),
        (["deep-linear", "--step", "0.1"], "SGD does not train theorem-1"),
        (["deep-linear", "--preset", "sgd", "--step", "0.1", "0.2"], "sgd has one size of steps"),
        (["matrices", "--batch", "4"], "SGD does not train theorem-1"),
        (["attention", "--models", "gpt2-q"], "no shipped language model named 'gpt2-q'"),
        (["contrastive", "--positives", "0.5"], "positives cannot be chosen with the loss infonce"),
        (["contrastive", "--jumps", "0", "--window", "1"], "never share a window"),
    ],
)
def test_mistakes_are_one_sentence(capsys, words, said) -> None:
    assert main(["theory", *words]) == 2
    assert said in capsys.readouterr().err
