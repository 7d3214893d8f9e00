"""`platoscope theory`: no store, one JSON object, and mistakes as one sentence."""

from __future__ import annotations

import json

import pytest

from core.cli import main

FEW = "--inputs 3 --labels 3 --rank 2 --a 3 --b 2 3 --c 2 --d 4"


def test_theorem_1_answers_with_the_least_alignment(capsys) -> None:
    assert main(f"theory deep-linear --preset theorem-1 {FEW} --json".split()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"][-1]["min_alignment"] > 1 - 1e-4
    said = answer["findings"][0]["value"]
    assert said == pytest.approx(answer["rows"][-1]["min_alignment"])


def test_layers_answer_with_a_row_for_each_look_and_matrix(capsys) -> None:
    words = f"theory deep-linear --preset theorem-1 --rows layers {FEW} --json"
    assert main(words.split()) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    last = [row for row in rows if row["at"] == rows[-1]["at"]]
    named = [(row["network"], row["layer"]) for row in last]
    assert named[:7] == [
        *(("a", place) for place in range(3)),
        *(("b", place) for place in range(4)),
    ]
    (inner,) = (row for row in last if (row["network"], row["layer"]) == ("b", 2))
    assert inner["stretch"] == pytest.approx(1, abs=1e-2)  # a rotation
    assert inner["norm"] == pytest.approx(inner["norm_theory"], rel=1e-2)


def test_contrastive_learners_answer_with_rows(capsys) -> None:
    assert main(["theory", "contrastive", "--events", "6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][-1]["r2"] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["deep-linear", "--rank", "9"], "a rank of 1 … 5, not 9"),
        (["deep-linear", "--preset", "minima", "--rows", "layers"], "minima has no layers"),
        (["deep-linear", "--step", "0.1", "0.2"], "sgd takes at most 1 sizes of steps"),
        (["matrices"], "is now `theory deep-linear --rows layers`"),
        (["symmetry", "--layer", "3"], "network a has 2 hidden layers, not 3"),
        (["contrastive", "--positives", "0.5"], "positives makes no difference here"),
        (["contrastive", "--jumps", "0", "--window", "1"], "never share a window"),
    ],
)
def test_mistakes_are_one_sentence(capsys, words, said) -> None:
    assert main(["theory", *words]) == 2
    assert said in capsys.readouterr().err
