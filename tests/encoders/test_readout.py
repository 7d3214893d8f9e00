"""Models read block by block give what they give as a whole, and keep no state that was taken."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch
import transformers
from tiny_models import CAUSAL, CONFIGS

from core.encoders.language.readout import (
    TOGETHER,
    count_bits,
    find_readout,
    read_scores,
    read_states,
)

CPU = torch.device("cpu")
IDS = torch.tensor([[1, 5, 9, 2, 7], [3, 8, 8, 8, 8]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])


def make(kind: str):
    torch.manual_seed(0)
    auto = transformers.AutoModelForCausalLM if kind in CAUSAL else transformers.AutoModel
    return _whole(auto.from_config(CONFIGS[kind]()))


def _whole(model):
    """Name the architecture in the config, as saving a model does."""
    model.config.architectures = [type(model).__name__]
    return model.eval()


@pytest.mark.parametrize("kind", CONFIGS)
@torch.inference_mode()
def test_a_model_is_taken_apart_and_gives_the_same(kind):
    readout = find_readout(make(kind), CPU)
    assert len(readout.blocks) == 2
    assert readout.states == 3
    apart, scores = read_states(readout, IDS, MASK, lambda state: state)
    whole = readout.model(input_ids=IDS, attention_mask=MASK, output_hidden_states=True)
    for one, other in zip(apart, whole.hidden_states, strict=True):
        torch.testing.assert_close(one[MASK.bool()], other[MASK.bool()])
    if kind in CAUSAL:
        torch.testing.assert_close(
            scores(torch.tensor([0]), torch.tensor([3])), whole.logits[0, 3:4]
        )
    else:
        assert scores is None


@torch.inference_mode()
def test_a_state_is_gone_when_the_one_after_the_next_comes():
    model = transformers.AutoModelForCausalLM.from_config(
        transformers.GPT2Config(n_embd=16, n_layer=6, n_head=2, vocab_size=300, n_positions=64)
    ).eval()
    seen: list[weakref.ref] = []
    alive: list[int] = []

    def take(state):
        alive.append(sum(old() is not None for old in seen))
        seen.append(weakref.ref(state))

    read_states(find_readout(model, CPU), IDS, MASK, take)
    assert len(seen) == 7
    assert max(alive) <= 1


@torch.inference_mode()
def test_bits_are_those_of_a_plain_sum_however_many_tokens_are_coded_together():
    readout = find_readout(make("llama"), CPU)
    ids = torch.randint(300, (20, 40), generator=torch.Generator().manual_seed(1))
    assert ids.numel() > TOGETHER  # in several parts
    tokens, starts = ids.tolist(), [1 + row % 7 for row in range(20)]
    coded = [range(start, 40) for start in starts]
    bits = count_bits(read_scores(readout, ids, torch.ones_like(ids)), tokens, coded)
    logs = readout.model(input_ids=ids).logits.double().log_softmax(-1) / np.log(2)
    for row, start in enumerate(starts):
        wanted = -sum(float(logs[row, t - 1, tokens[row][t]]) for t in range(start, 40))
        assert bits[row] == pytest.approx(wanted, rel=1e-5)


def test_blocks_that_do_not_give_the_states_are_not_taken_for_them():
    """Another list of as many modules, met first, must not be mistaken for the blocks."""
    model = make("gpt2")
    decoy = torch.nn.ModuleList(torch.nn.Identity() for _ in range(2))
    model.transformer._modules = {"decoy": decoy, **model.transformer._modules}
    readout = find_readout(model, CPU)
    assert readout.blocks == tuple(model.transformer.h)
