"""Queries and keys: their gradients by differences of the loss, their symmetry, and chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    BloomConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
)

from core.encoders.language.encoder import open_language
from core.errors import EncoderError
from core.networks.balance import (
    alike,
    apart,
    find_layers,
    gradient_sides,
    measure_heads,
    mix_units,
    project,
    weight_sides,
)
from core.settings import CAVE_WEIGHTS

TEXTS = ([1, 4, 3, 7, 2], [1, 6, 5, 2])
CONFIGS = {
    "gpt2": GPT2Config(n_layer=2, n_embd=8, n_head=2, n_positions=8, vocab_size=9),
    "bloom": BloomConfig(n_layer=2, hidden_size=8, n_head=2, vocab_size=9),
    "llama": LlamaConfig(
        num_hidden_layers=2,
        hidden_size=8,
        intermediate_size=8,
        num_attention_heads=2,
        num_key_value_heads=2,
        vocab_size=9,
        initializer_range=0.3,
    ),
}


@pytest.fixture(params=CONFIGS)
def model(request):
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(CONFIGS[request.param]).double().eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.5 * torch.randn_like(weight)
    return made.requires_grad_(False)


def loss_of(model, ids) -> float:
    tokens = torch.tensor([ids])
    logits = model(input_ids=tokens).logits
    return float(F.cross_entropy(logits[0, :-1], tokens[0, 1:]))


def slope(model, cell, ids) -> float:
    """Return the derivative of the loss by one entry of a parameter, which `cell` views."""
    kept, values = float(cell), []
    for sign in (1, -1):
        cell.copy_(torch.tensor(kept + sign * 1e-3))  # transformers' softmax is in float32
        values.append(loss_of(model, ids))
    cell.copy_(torch.tensor(kept))
    return (values[0] - values[1]) / 2e-3


def rows_of_head(model, *, head: int) -> tuple[list, list]:
    """Return query and key rows of the first layer's head, as lists of entries of its parameters,
    from each architecture's own documentation.
    """
    size, kind = 4, model.config.model_type
    own = range(head * size, (head + 1) * size)
    if kind == "gpt2":
        whole = model.transformer.h[0].attn.c_attn
        return tuple(
            [
                [*(whole.weight[j, k] for j in range(8)), whole.bias[k]]
                for k in map(start.__add__, own)
            ]
            for start in (0, 8)
        )
    if kind == "bloom":
        whole = model.transformer.h[0].self_attention.query_key_value
        return tuple(
            [
                [*(whole.weight[k, j] for j in range(8)), whole.bias[k]]
                for k in range(head * 3 * size + part * size, head * 3 * size + (part + 1) * size)
            ]
            for part in (0, 1)
        )
    attention = model.model.layers[0].self_attn
    return tuple(
        [[part.weight[k, j] for j in range(8)] for k in own]
        for part in (attention.q_proj, attention.k_proj)
    )


@pytest.mark.slow
def test_both_sides_are_those_of_differences_of_the_loss(model) -> None:
    layers = find_layers(model)
    found = gradient_sides(model, layers, TEXTS)
    model.requires_grad_(False)
    for side, rows in zip(found, rows_of_head(model, head=1), strict=True):
        expected = np.zeros((4, 4))
        for ids in TEXTS:
            slopes = [[slope(model, cell, ids) for cell in row] for row in rows]
            for j, k in itertools.product(range(4), repeat=2):
                expected[j, k] += sum(a * b for a, b in zip(slopes[j], slopes[k], strict=True)) / 2
        assert side[0, 1].numpy() == pytest.approx(expected, abs=5e-3 * np.abs(expected).max())


def test_sides_of_weights_are_products_of_rows(model) -> None:
    for side, rows in zip(
        weight_sides(find_layers(model)), rows_of_head(model, head=1), strict=True
    ):
        plain = [[float(cell) for cell in row[:8]] for row in rows]  # without the offset
        expected = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in plain] for x in plain]
        assert side[0, 1].numpy() == pytest.approx(np.array(expected))


def test_alike_and_apart_of_known_sides() -> None:
    draw = torch.Generator().manual_seed(0)
    half = torch.randn(1, 3, 6, 9, generator=draw, dtype=torch.float64)
    side = half @ half.mT
    assert apart(side, side).max() == 0
    assert alike(side, side).tolist() == [pytest.approx([1, 1, 1])]
    assert apart(side, 3 * side).tolist() == [pytest.approx([0.5] * 3)]
    assert alike(side, 3 * side).tolist() == [pytest.approx([1, 1, 1])]
    eye = torch.eye(6, dtype=torch.float64)
    assert alike(side, side + 5 * eye).tolist() == [pytest.approx([1, 1, 1])]
    opposite = 20 * eye - side
    assert alike(side, opposite).tolist() == [pytest.approx([-1, -1, -1])]


def test_by_chance_sides_keep_their_spectrum_and_are_not_alike() -> None:
    draw = torch.Generator().manual_seed(1)
    half = torch.randn(2, 2, 8, 8, generator=draw, dtype=torch.float64)
    side = half @ half.mT
    mixed = mix_units(side, turned=False, seed=0)
    assert torch.allclose(torch.linalg.eigvalsh(mixed[3]), torch.linalg.eigvalsh(side))
    chance = torch.stack([alike(side, one) for one in mixed])
    assert chance.abs().mean() < 0.3
    assert chance.mean().abs() < 0.1
    planes = project(side, turned=True)
    assert planes.shape == (2, 2, 4, 4)
    assert planes[0, 1, 2, 2] == side[0, 1, 2, 2] + side[0, 1, 6, 6]
    orders = mix_units(planes, turned=True, seed=0)
    assert torch.equal(
        orders[5].diagonal(dim1=-2, dim2=-1).sort().values,
        planes.diagonal(dim1=-2, dim2=-1).sort().values,
    )


def test_a_model_whose_attention_is_not_known_is_refused() -> None:
    grouped = LlamaConfig(
        num_hidden_layers=1,
        hidden_size=8,
        intermediate_size=8,
        num_attention_heads=2,
        num_key_value_heads=1,
        vocab_size=9,
    )
    with pytest.raises(EncoderError, match="queries and keys of LlamaModel are not known"):
        find_layers(AutoModel.from_config(grouped))
    alike = GPTNeoXConfig(  # has query_key_value as BLOOM has
        num_hidden_layers=1,
        hidden_size=8,
        intermediate_size=8,
        num_attention_heads=2,
        vocab_size=9,
    )
    with pytest.raises(EncoderError, match="queries and keys of GPTNeoXModel are not known"):
        find_layers(AutoModel.from_config(alike))


def test_a_shipped_model_is_measured_head_by_head() -> None:
    encoder = open_language(f"hf:{CAVE_WEIGHTS / 'gpt2-xs'}", device=torch.device("cpu"))
    rows = measure_heads(
        encoder.model, encoder.tokenizer(["a car", "two birds"])["input_ids"], seed=0
    )
    assert [(row["layer"], row["head"]) for row in rows[:3]] == [(1, 1), (1, 2), (2, 1)]
    assert all(-1 <= row["gradients_alike"] <= 1 for row in rows)
    bert = open_language(f"hf:{CAVE_WEIGHTS / 'roberta-s'}", device=torch.device("cpu"))
    row = measure_heads(bert.model, [], seed=0)[0]
    assert np.isnan(row["gradients_alike"])
    assert 0 < row["weights_apart"] < 1
