"""Break the theorem by the labels: transformed, nonlinear in the inputs, or in part without noise.

Source: Ziyin and Chuang 2025, section 5 and footnote 9.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from core.theory.deep_linear.breaking.broken import Broken, predict, same_inputs, train_both
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.world import Matrix, World, draw_matrix, draw_positive, root


def transform_labels(a: Net, b: Net, strength: float) -> Broken:
    """Let each network learn the labels Φ y, with a symmetric positive Φ = exp(s G) of its own;
    predicted for every strength.
    """
    first, second = (relabel(net, strength) for net in (a, b))
    return Broken(train_both(first, second), predict(first, second), *same_inputs(a))


def relabel(net: Net, strength: float) -> Net:
    """Return a network that learns Φ y, Φ = exp(s G) drawn by its seed."""
    labels, world = _stretch(net, strength), net.world
    target, noise = labels @ world.target, labels @ world.noise @ labels.T
    return replace(net, world=replace(world, target=target, noise=noise))


def curve_labels(a: Net, b: Net, strength: float) -> Broken:
    """Add to the labels of both a quadratic in one direction of the inputs, its standard deviation
    s times that of V x.

    The best linear map is still V, but what it misses depends on the inputs. The theory says that
    alignment breaks, and gives no number.
    """
    linear = torch.trace(a.world.target @ a.world.inputs @ a.world.target.T)
    labels = draw_matrix(len(a.world.noise), 1, seed=a.seed)
    curve = torch.zeros_like(a.world.target)
    curve[:, :1] = strength * linear.sqrt() * labels / torch.linalg.matrix_norm(labels)
    first, second = (replace(net, world=replace(net.world, curve=curve)) for net in (a, b))
    predicted = None if strength else predict(a, b)
    return Broken(train_both(first, second), predicted, *same_inputs(a))


def quiet_labels(a: Net, b: Net, strength: float) -> Broken:
    """Take the noise from s directions of the labels, those that have least of it.

    As long as √Σε V has the rank of V, one solution of least entropy is left and is the
    prediction. Beyond, some mode of V comes without noise: the entropy falls for ever as that mode
    fades from the hidden layers, no solution has the least, and the theory is silent. Without any
    noise there is no entropy at the minima, and the first weights decide.
    """
    first, second = (
        replace(net, world=_without_noise(net.world, quiet=int(strength))) for net in (a, b)
    )
    ranks = [
        int(torch.linalg.matrix_rank(each, rtol=1e-10))
        for each in (root(first.world.noise) @ a.world.target, a.world.target)
    ]
    predicted = predict(first, second) if ranks[0] == ranks[1] else None
    return Broken(train_both(first, second), predicted, *same_inputs(a))


def _without_noise(world: World, *, quiet: int) -> World:
    values, vectors = torch.linalg.eigh(world.noise)  # least first
    values[:quiet] = 0.0
    return replace(world, noise=(vectors * values) @ vectors.T)


def _stretch(net: Net, strength: float) -> Matrix:
    """Return exp(s G), G symmetric and drawn by the network's seed, with eigenvalues spread evenly
    from −1 to 1.
    """
    size = len(net.world.noise)
    spread = draw_positive(
        torch.Generator().manual_seed(net.seed), size, 10.0
    )  # eigenvalues 10^0 … 10^1
    values, vectors = torch.linalg.eigh(spread)
    stretch: Matrix = (vectors * (strength * (2 * values.log10() - 1)).exp()) @ vectors.T
    return stretch
