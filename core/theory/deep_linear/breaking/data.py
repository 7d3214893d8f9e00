"""Break the theorem by the data: inputs with features of each network's own, or unrelated ones.

Source: Ziyin and Chuang 2025, section 5 and footnote 2.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from core.theory.deep_linear.breaking.broken import Broken, predict, train_both
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.world import Matrix, World


def add_private_features(a: Net, b: Net, strength: float) -> Broken:
    """Add to each network's inputs normal features of its own, of variance s² each; predicted for
    every strength.

    What a network can know of V x is then V Σx (Σx + s²)⁻¹ of its inputs, and the rest is noise to
    it, independent of them.
    """
    own = strength**2 * torch.eye(len(a.world.inputs), dtype=torch.float64)
    first, second = (replace(net, world=_clouded(net.world, own)) for net in (a, b))
    seen = first.world.inputs, second.world.inputs
    return Broken(train_both(first, second), predict(first, second), seen, a.world.inputs)


def unrelate_data(a: Net, b: Net, strength: float) -> Broken:
    """Let each network learn from inputs of its own, with labels of their own, whose pairs are
    correlated by 1 − s; predicted for every strength.

    Each set of data has the same moments, so that both networks learn the same as ever. But what
    they are compared on are the pairs: their alignment is (1 − s)² times what it would be, 0 where
    the data are unrelated.
    """
    moments = a.world.inputs, b.world.inputs
    return Broken(train_both(a, b), predict(a, b), moments, (1 - strength) * a.world.inputs)


def _clouded(world: World, own: Matrix) -> World:
    seen = world.inputs + own
    wiener = torch.linalg.solve(seen, world.inputs).T  # Σx (Σx + Σz)⁻¹
    rest = world.inputs - wiener @ world.inputs
    return World(seen, world.target @ wiener, world.noise + world.target @ rest @ world.target.T)
