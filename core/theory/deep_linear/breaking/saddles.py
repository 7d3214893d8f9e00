"""Break the theorem by where training ends: at a saddle of the loss, a solution that lacks modes of
V.

Source: Ziyin and Chuang 2025, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from core.theory.deep_linear.breaking.broken import (
    Broken,
    descend_to_end,
    predict,
    same_inputs,
    train_both,
)
from core.theory.deep_linear.layer_cka import align_layers
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import hidden_maps, loss
from core.theory.deep_linear.world import World, root


def stop_at_saddle(a: Net, b: Net, strength: float) -> Broken:
    """Let the first network stop at a saddle: a solution that lacks s of the modes of V. The second
    reaches the global minimum.

    A saddle is the minimum of a network whose hidden layers are narrower than the rank of V, with
    units of weight 0 beside it.
    """
    rank, missing = int(torch.linalg.matrix_rank(a.world.target)), int(strength)
    narrow = replace(a, widths=tuple(rank - missing for _ in a.widths) if missing else a.widths)
    ends = [descend_to_end(net) for net in (narrow, b)]
    excess = float(loss(ends[0], a.frame, a.world)) - a.world.floor
    trained = hidden_maps(ends[0], a.frame), hidden_maps(ends[1], b.frame)
    return Broken(
        trained,
        None if missing else predict(a, b),
        *same_inputs(a),
        {"loss above the noise": excess},
    )


def stop_at_two_saddles(a: Net, b: Net, strength: float) -> Broken:
    """Let both networks stop at saddles, each of which lacks s of the modes of V: the first the
    weakest ones, the second the strongest; predicted for every strength.

    Modes are those of V √Σx, so that what a saddle misses is independent of what it holds, and is
    noise to it: it has a solution of least entropy of its own. Saddles without a mode in common
    have an alignment of 0. Figures: the alignment with b's layers where b stops at a's saddle.
    """
    rank, missing = int(torch.linalg.matrix_rank(a.world.target)), int(strength)
    weakest, strongest = range(rank - missing), range(missing, rank)
    first = replace(a, world=keep_modes(a.world, weakest))
    second, same = (replace(b, world=keep_modes(b.world, kept)) for kept in (strongest, weakest))
    trained = train_both(first, second)
    alike = align_layers(trained[0], hidden_maps(descend_to_end(same), same.frame), a.world.inputs)
    return Broken(
        trained,
        predict(first, second),
        *same_inputs(a),
        {"at the same saddle": float(alike.min())},
    )


def keep_modes(world: World, kept: Sequence[int]) -> World:
    """Return a world of which only some modes can be known, strongest first: the others are
    noise.
    """
    half = root(world.inputs)
    left, values, right = torch.linalg.svd(world.target @ half, full_matrices=False)
    chosen = list(kept)
    learned = (left[:, chosen] * values[chosen]) @ right[chosen] @ torch.linalg.inv(half)
    rest = world.target - learned
    return World(world.inputs, learned, world.noise + rest @ world.inputs @ rest.T)
