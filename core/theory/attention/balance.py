"""Both sides of the balance of queries and keys: of their gradients, and of the weights themselves.

Wherever a loss depends on two matrices by their product alone, the least entropy has

    E[∇_Q ℓ ∇_Qᵀ ℓ] = E[∇_K ℓ ∇_Kᵀ ℓ]

with offsets as a column of both, while weight decay has Q Qᵀ = K Kᵀ without the offsets, which do
not decay. Source: Ziyin and Chuang 2025, equations 33, 39 and 63 and footnotes 13 and 15.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn import functional as F

from core.theory.attention.matrices import Layer

Sides = Float64[Tensor, "layers heads size size"]
DRAWS = 20  # random rotations of one side


def weight_sides(layers: Sequence[Layer]) -> tuple[Sides, Sides]:
    """Return Q Qᵀ and K Kᵀ of every layer and head, without offsets."""
    pairs = [layer.read(_decayed) for layer in layers]
    queries, keys = (torch.stack([_square(pair[side]) for pair in pairs]) for side in (0, 1))
    return queries, keys


def gradient_sides(
    model: Any, layers: Sequence[Layer], texts: Iterable[Sequence[int]]
) -> tuple[Sides, Sides]:
    """Return E[∇_Q ℓ ∇_Qᵀ ℓ] and E[∇_K ℓ ∇_Kᵀ ℓ] of every layer and head, over texts as tokens.

    ℓ: a text's mean negative log-likelihood of each token after the first, in nats.
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
    return queries / count, keys / count


def project(side: Sides, *, turned: bool) -> Float64[Tensor, "layers heads part part"]:
    """Return what the symmetry speaks of: all of each matrix, or, where positions turn queries and
    keys, its trace on each plane of rotation (i, i + size / 2), on a diagonal.
    """
    if not turned:
        return side
    diagonal = side.diagonal(dim1=-2, dim2=-1)
    first, second = diagonal.chunk(2, dim=-1)
    return torch.diag_embed(first + second)


def apart(first: Sides, second: Sides) -> Float64[Tensor, "layers heads"]:
    """Return ‖X − Y‖ / (‖X‖ + ‖Y‖) of both sides, in [0, 1]: 0 where they balance."""
    norms = [torch.linalg.matrix_norm(each) for each in (first - second, first, second)]
    distance: Tensor = norms[0] / (norms[1] + norms[2])
    return distance


def alike(first: Sides, second: Sides) -> Float64[Tensor, "layers heads"]:
    """Return the cosine of both sides without their multiple of the identity, in [−1, 1]: 1 where
    they balance up to a scale and about 0 by chance.
    """
    first, second = _traceless(first), _traceless(second)
    norms = torch.linalg.matrix_norm(first) * torch.linalg.matrix_norm(second)
    cosine: Tensor = (first * second).sum((-2, -1)) / norms
    return cosine


def mix_units(
    side: Sides, *, turned: bool, seed: int
) -> Float64[Tensor, "draws layers heads size size"]:
    """Return a projected side in DRAWS random bases of the head's units, or with its planes in
    random order: where the other side matches it by chance.
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


def _decayed(weight: Tensor) -> Tensor:
    """Return a parameter as weight decay sees it: offsets are 0."""
    values = weight.detach().double()
    return values if values.ndim > 1 else torch.zeros_like(values)


def _square(matrices: Tensor) -> Tensor:
    return matrices @ matrices.mT


def _traceless(side: Sides) -> Sides:
    size = side.shape[-1]
    mean = side.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    return side - mean * torch.eye(size, dtype=torch.float64)
