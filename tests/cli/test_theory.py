"""`platoscope theory`: no store, one JSON object, and mistakes as one sentence."""

from __future__ import annotations

import pytest

from core.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["deep-linear", "--rank", "9"], "a rank of 1 … 5, not 9"),
        (["deep-linear", "--preset", "minima", "--rows", "layers"], "minima has no layers"),
        (["deep-linear", "--step", "0.1", "0.2"], "sgd takes 1 sizes of steps at most"),
        (["matrices"], "is now `theory deep-linear --rows layers`"),
        (["symmetry", "--layer", "3"], "network a has 2 hidden layers, not 3"),
        (["contrastive", "--positives", "0.5"], "positives makes no difference here"),
        (["contrastive", "--jumps", "0", "--window", "1"], "never share a window"),
    ],
)
def test_mistakes_are_one_sentence(capsys, words, said) -> None:
    assert main(["theory", *words]) == 2
    assert said in capsys.readouterr().err
