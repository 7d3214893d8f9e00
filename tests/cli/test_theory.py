"""`platoscope theory`: no store, one JSON object, and mistakes as one sentence."""

from __future__ import annotations

import json

import pytest

from core.cli import main
from core.theory.contrastive import setups
from core.theory.deep_linear import presets
from core.theory.deep_linear.breaking.breakers import BREAKERS


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


def test_people_read_a_table_and_a_verdict(capsys) -> None:
    words = "theory contrastive --preset nce --events 6 --apart --jumps 0.9"
    assert main(words.split()) == 0
    shown = capsys.readouterr()
    assert shown.out.split()[:5] == ["at", "loss", "slope", "offset", "r2"]
    assert "The theory predicts slope 1 and offset 0.405" in shown.err


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


@pytest.mark.parametrize(
    ("command", "preset", "presets"),
    [
        ("deep-linear", "label", [*presets.PRESETS, *BREAKERS]),
        ("contrastive", "info", setups.PRESETS),
    ],
)
def test_a_preset_that_is_not_there_is_refused_with_all_that_are(
    capsys, command, preset, presets
) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["theory", command, "--preset", preset])
    assert refusal.value.code == 2
    said = capsys.readouterr().err
    assert f"--preset: invalid choice: '{preset}'" in said
    assert all(name in said for name in presets)
