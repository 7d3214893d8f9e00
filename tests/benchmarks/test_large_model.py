"""The benchmark of a large model runs, with a tiny one."""

import pytest

from tests.benchmarks.large_model import main

TINY = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 300,
}


@pytest.mark.slow
def test_it_prints_memory_and_seconds(capsys):
    main(TINY)
    model, cost = capsys.readouterr().out.splitlines()[-2:]
    assert model.endswith("bfloat16, 3 layers of 16, over 16 captions")
    assert cost.startswith("peak ")
    assert cost.endswith(" s with loading")
