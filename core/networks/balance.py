"""Both sides of the balance of queries and keys, head by head: of gradients, and of weights.

A loss that depends on two matrices by their product alone has, at its least entropy,

    E[∇_Q ℓ ∇_Qᵀ ℓ] = E[∇_K ℓ ∇_Kᵀ ℓ]

with offsets as a column of both, while weight decay has Q Qᵀ = K Kᵀ without the offsets, which do
not decay. A query is Q [x, 1] and a key K [x, 1], so a logit stays what it is as Q → A Q and
K → A⁻ᵀ K; if positions turn queries and keys (RoPE), only for an A that scales each plane of
rotation. Source: Ziyin and Chuang 2025, equations 33, 39 and 63 and footnotes 13 and 15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn
from torch.nn import functional as F

from core.encoders.checkpoint import MAKING
from core.errors import EncoderError

if TYPE_CHECKING:  # seconds
    from transformers import PreTrainedModel

Heads = Float[Tensor, "heads size inputs"]
Sides = Float64[Tensor, "layers heads size size"]
Value = Callable[[nn.Parameter], Tensor]  # the weight itself, or its gradient
MODEL_TYPES = ("gpt2", "bloom", "llama", "bert", "roberta")  # by config.model_type
DRAWS = 20  # random rotations of one side


@dataclass(frozen=True)
class Layer:
    """One layer's attention. weights: its parameters that make queries and keys. read: their
    queries and keys, each (heads, size, inputs), from what is wanted of each parameter.
    """

    weights: tuple[nn.Parameter, ...]
    read: Callable[[Value], tuple[Heads, Heads]]


def find_layers(model: PreTrainedModel) -> list[Layer]:
    """Return every layer's attention, first to last. Raises EncoderError for a kind of model that
    is not among MODEL_TYPES and for fewer keys than queries: others lay their matrices out, turn or
    norm queries and keys in ways of their own.
    """
    config = model.config
    heads = int(getattr(config, "num_attention_heads", 0))
    if config.model_type not in MODEL_TYPES or (
        getattr(config, "num_key_value_heads", heads) != heads
    ):
        raise EncoderError(
            f"queries and keys of {type(model).__name__} are not known; expected the attention of"
            " GPT-2, BLOOM, BERT, RoBERTa, or LLaMA with a key for each query"
        )
    layers = []
    for module in model.modules():
        parts = dict(module.named_children())
        if "c_attn" in parts:  # GPT-2: queries, keys and values in a row, transposed
            layers.append(
                _fused(parts["c_attn"], lambda w: _cut(w.chunk(3)[0], w.chunk(3)[1], heads))
            )
        if "query_key_value" in parts:  # BLOOM: of one head after the other
            layers.append(_fused(parts["query_key_value"], lambda w: _of_heads(w, heads)))
        for query, key in (("q_proj", "k_proj"), ("query", "key")):
            if query in parts and key in parts:
                layers.append(_apart(parts[query], parts[key], heads))
    return layers


def is_turned(model: PreTrainedModel) -> bool:
    """Return whether positions turn queries and keys."""
    return any(type(module).__name__.endswith("RotaryEmbedding") for module in model.modules())


def _fused(linear: nn.Module, split: Callable[[Tensor], tuple[Heads, Heads]]) -> Layer:
    return Layer(tuple(linear.parameters()), lambda value: split(_whole(linear, value)))


def _apart(query: nn.Module, key: nn.Module, heads: int) -> Layer:
    return Layer(
        (*query.parameters(), *key.parameters()),
        lambda value: _cut(_whole(query, value), _whole(key, value), heads),
    )


def _whole(linear: Any, value: Value) -> Float[Tensor, "outputs inputs"]:
    """Return weight and offset as one matrix, an output per row."""
    weight = value(linear.weight)
    weight = weight if isinstance(linear, nn.Linear) else weight.T  # GPT-2's Conv1D
    return weight if linear.bias is None else torch.cat([weight, value(linear.bias)[:, None]], 1)


def _cut(query: Tensor, key: Tensor, heads: int) -> tuple[Heads, Heads]:
    return query.reshape(heads, -1, query.shape[1]), key.reshape(heads, -1, key.shape[1])


def _of_heads(whole: Tensor, heads: int) -> tuple[Heads, Heads]:
    parts = whole.reshape(heads, 3, -1, whole.shape[1])
    return parts[:, 0], parts[:, 1]


def weight_sides(layers: Sequence[Layer]) -> tuple[Sides, Sides]:
    """Return Q Qᵀ and K Kᵀ of every layer and head, without offsets."""

    def decayed(weight: Tensor) -> Tensor:  # as weight decay sees a parameter
        values = weight.detach().double()
        return values if values.ndim > 1 else torch.zeros_like(values)

    pairs = [layer.read(decayed) for layer in layers]
    queries, keys = (torch.stack([_square(pair[side]) for pair in pairs]) for side in (0, 1))
    return queries, keys


def gradient_sides(
    model: PreTrainedModel, layers: Sequence[Layer], texts: Iterable[Sequence[int]]
) -> tuple[Sides, Sides]:
    """Return E[∇_Q ℓ ∇_Qᵀ ℓ] and E[∇_K ℓ ∇_Kᵀ ℓ] of every layer and head, over texts as tokens (NaN
    without), with ℓ a text's mean negative log-likelihood of each token after the first, in nats.
    """
    moving = [weight.requires_grad_() for layer in layers for weight in layer.weights]
    queries, keys = (torch.zeros_like(side) for side in weight_sides(layers))
    count = 0
    for ids in texts:
        tokens = torch.tensor([list(ids)])
        logits = model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits
        loss = F.cross_entropy(logits[0, :-1], tokens[0, 1:])
        slopes = (slope.double() for slope in torch.autograd.grad(loss, moving))
        of = dict(zip(moving, slopes, strict=True))
        for place, layer in enumerate(layers):
            query, key = layer.read(of.__getitem__)
            queries[place] += _square(query)
            keys[place] += _square(key)
        count += 1
    return (
        queries / count if count else queries * torch.nan,
        keys / count if count else keys * torch.nan,
    )


def project(side: Sides, *, turned: bool) -> Float64[Tensor, "layers heads part part"]:
    """Return what the symmetry speaks of: all of each matrix, or, if positions turn queries and
    keys, its trace on each plane of rotation (i, i + size / 2), on a diagonal.
    """
    if not turned:
        return side
    first, second = side.diagonal(dim1=-2, dim2=-1).chunk(2, dim=-1)
    return torch.diag_embed(first + second)


def apart(first: Sides, second: Sides) -> Float64[Tensor, "layers heads"]:
    """Return ‖X − Y‖ / (‖X‖ + ‖Y‖) of both sides, in [0, 1]: 0 if they balance."""
    norms = [torch.linalg.matrix_norm(each) for each in (first - second, first, second)]
    distance: Tensor = norms[0] / (norms[1] + norms[2])
    return distance


def alike(first: Sides, second: Sides) -> Float64[Tensor, "layers heads"]:
    """Return the cosine of both sides without their multiple of the identity, in [−1, 1]: 1 if they
    balance up to a scale and about 0 by chance.
    """
    eye = torch.eye(first.shape[-1], dtype=torch.float64)
    first, second = (
        side - side.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None] * eye
        for side in (first, second)
    )
    norms = torch.linalg.matrix_norm(first) * torch.linalg.matrix_norm(second)
    cosine: Tensor = (first * second).sum((-2, -1)) / norms
    return cosine


def mix_units(
    side: Sides, *, turned: bool, seed: int
) -> Float64[Tensor, "draws layers heads size size"]:
    """Return a projected side in DRAWS random bases of the head's units, or with its planes in
    random order, so that the other side matches it by chance alone.
    """
    draw = torch.Generator().manual_seed(seed)
    size = side.shape[-1]
    if turned:
        orders = torch.stack([torch.randperm(size, generator=draw) for _ in range(DRAWS)])
        bases = torch.eye(size, dtype=torch.float64)[orders]
    else:
        normal = torch.randn(DRAWS, size, size, generator=draw, dtype=torch.float64)
        bases = torch.linalg.qr(normal)[0]
    bases = bases[:, None, None]
    return bases @ side @ bases.mT


def measure_heads(
    model: PreTrainedModel, texts: Sequence[Sequence[int]], *, seed: int
) -> list[dict[str, float]]:
    """Return a row for every layer and head: for `weights` and `gradients` each how far both sides
    are apart and how alike they are, with the name's ending _initial for fresh weights of the same
    architecture and _chance for the mean over random bases of one side.
    """
    with MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(model)(model.config).eval().requires_grad_(False)
    turned = is_turned(fresh)
    columns: dict[str, Tensor] = {}
    for kind in ("weights", "gradients"):
        pairs = []
        for one in (model, fresh):
            layers = find_layers(one)
            sides = (
                weight_sides(layers) if kind == "weights" else gradient_sides(one, layers, texts)
            )
            pairs.append([project(side, turned=turned) for side in sides])
        (first, second), start = pairs
        mixed = mix_units(second, turned=turned, seed=seed)
        for name, measure in (("apart", apart), ("alike", alike)):
            columns[f"{kind}_{name}"] = measure(first, second)
            columns[f"{kind}_{name}_initial"] = measure(*start)
            by_chance = torch.stack([measure(first, one) for one in mixed])
            columns[f"{kind}_{name}_chance"] = by_chance.mean(0)
    depth, heads = columns["weights_alike"].shape
    return [
        {"layer": layer + 1, "head": head + 1}
        | {name: float(values[layer, head]) for name, values in columns.items()}
        for layer in range(depth)
        for head in range(heads)
    ]


def _square(matrices: Tensor) -> Tensor:
    return matrices @ matrices.mT
