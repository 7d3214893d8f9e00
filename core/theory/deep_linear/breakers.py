"""How each way breaks the theorem. At strength 0 every layer of both networks is aligned.

Source: Ziyin and Chuang 2025, section 5, which has six (the edge of stability is
`core.theory.deep_linear.runs.approach_edge`), and footnotes 2 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from core.theory.deep_linear.minima import least_entropy, least_norm
from core.theory.deep_linear.network import (
    Matrix,
    Net,
    Weights,
    World,
    draw_matrix,
    draw_positive,
    hidden_maps,
    linear_cka,
    root,
)
from core.theory.deep_linear.training import end_entropic, end_mixed, flow

FLOW_TIME = 200.0
Pair = tuple[Net, Net]
Solve = Callable[..., list[Matrix]]


def relabel(net: Net, strength: float) -> Net:
    """Return a network that learns Φ y, Φ = exp(s G) with a symmetric G of eigenvalues −1 … 1,
    drawn by its seed.
    """
    size, world = len(net.world.noise), net.world
    spread = draw_positive(torch.Generator().manual_seed(net.seed), size, 10.0)
    values, vectors = torch.linalg.eigh(spread)  # 10⁰ … 10¹
    labels = (vectors * (strength * (2 * values.log10() - 1)).exp()) @ vectors.T
    target, noise = labels @ world.target, labels @ world.noise @ labels.T
    return replace(net, world=replace(world, target=target, noise=noise))


def keep_modes(net: Net, kept: Sequence[int]) -> Net:
    """Return a network to which only some modes of V √Σx, strongest first, can be known; the others
    are independent noise.
    """
    world, half, chosen = net.world, root(net.world.inputs), list(kept)
    left, values, right = torch.linalg.svd(world.target @ half, full_matrices=False)
    learned = (left[:, chosen] * values[chosen]) @ right[chosen] @ torch.linalg.inv(half)
    rest = world.target - learned
    noise = world.noise + rest @ world.inputs @ rest.T
    return replace(net, world=World(world.inputs, learned, noise))


def add_private_features(nets: Pair, strength: float) -> Pair:
    """Add to each network's inputs features of its own, x_A = x + z_A, on which the labels depend,
    too: y = V x + s (P_A z_A + P_B z_B) + ε, with z standard normal and P as large as V.

    A network can know W x_A of y, W = (V Σx + s P_A) (Σx + 1)⁻¹; the rest is noise, independent of
    its inputs. At s = 0 both learn the same W.
    """
    world = nets[0].world
    own = torch.eye(len(world.inputs), dtype=torch.float64)
    seen = world.inputs + own
    basis = torch.linalg.svd(world.target)[0][:, : world.rank]
    parts = []
    for net in nets:  # within the labels that V reaches, so that the rank stays
        drawn = basis @ draw_matrix(basis.shape[1], len(own), seed=net.seed + 1000)
        scale = torch.linalg.matrix_norm(world.target) / torch.linalg.matrix_norm(drawn)
        parts.append(strength * scale * drawn)
    whole = world.target @ world.inputs @ world.target.T + world.noise  # second moment of y
    whole = whole + sum(part @ part.T for part in parts)
    first, second = (
        replace(net, world=World(seen, known, whole - known @ seen @ known.T))
        for net, part in zip(nets, parts, strict=True)
        for known in [torch.linalg.solve(seen, (world.target @ world.inputs + part).T).T]
    )
    return first, second


def curve_labels(nets: Pair, strength: float) -> Pair:
    """Add to the labels a quadratic in one direction of the inputs, its standard deviation s times
    that of V x. The best linear map is still V, but what it misses depends on the inputs.
    """
    world = nets[0].world
    linear = torch.trace(world.target @ world.inputs @ world.target.T)
    labels = draw_matrix(len(world.noise), 1, seed=nets[0].seed)
    curve = torch.zeros_like(world.target)
    curve[:, :1] = strength * linear.sqrt() * labels / torch.linalg.matrix_norm(labels)
    return _both(nets, lambda net: replace(net, world=replace(net.world, curve=curve)))


def quiet_labels(nets: Pair, strength: float) -> Pair:
    """Take the noise from s directions of the labels, those that have least of it."""
    values, vectors = torch.linalg.eigh(nets[0].world.noise)  # least first
    values[: int(strength)] = 0.0
    noise = (vectors * values) @ vectors.T
    return _both(nets, lambda net: replace(net, world=replace(net.world, noise=noise)))


def narrow(nets: Pair, strength: float) -> Pair:
    """Make the hidden layers of the first network as narrow as the rank of V less s: its minimum is
    a saddle of the wider one.
    """
    first, width = nets[0], nets[0].world.rank - int(strength)
    widths = tuple(width if strength else each for each in first.widths)
    return replace(first, widths=widths), nets[1]


def lack_modes(nets: Pair, strength: float, *, both: bool) -> Pair:
    """Let the first lack the s weakest modes and, if both, the second the s strongest."""
    rank, missing = nets[0].world.rank, int(strength)
    first = keep_modes(nets[0], range(rank - missing))
    return first, keep_modes(nets[1], range(missing, rank)) if both else nets[1]


def follow_flow(net: Net, strength: float) -> Weights:
    """Follow gradient flow from weights of which a share s is random and the rest is the aligned
    solution.
    """
    aligned = least_entropy(net, seed=net.seed)
    start = [
        (1 - strength) * solved + strength * drawn
        for solved, drawn in zip(aligned, net.start, strict=True)
    ]
    return list(flow(net, until=FLOW_TIME, start=start))[-1]


def _both(nets: Pair, change: Callable[[Net], Net]) -> Pair:
    return change(nets[0]), change(nets[1])


def _solve_noisy(nets: Pair, _: float) -> Solve | None:
    # without noise in a mode of V the entropy falls for ever as the mode fades
    world = nets[0].world
    noisy = torch.linalg.matrix_rank(root(world.noise) @ world.target, rtol=1e-10)
    return least_entropy if int(noisy) == world.rank else None


@dataclass(frozen=True)
class Trial:
    """How a breaker of `setup.BREAKERS` is tried.

    change: both networks. solve: the closed form of the solution, None if there is none; theory:
    its networks, if not those trained. related: correlation of the paired inputs.
    """

    change: Callable[[Pair, float], Pair] = lambda nets, _: nets
    train: Callable[[Net, float], Weights] = lambda net, _: end_entropic(net)
    solve: Callable[[Pair, float], Solve | None] = lambda *_: least_entropy
    theory: Callable[[Pair, float], Pair] | None = None
    related: Callable[[float], float] = lambda _: 1.0


class Broken(NamedTuple):
    """Linear CKA of the first network's hidden layers (rows) with the second's."""

    measured: Matrix
    predicted: Matrix | None


def break_alignment(name: str, nets: Pair, strength: float) -> Broken:
    """Train two networks under a breaker."""
    trial = TRIALS[name]
    changed = trial.change(nets, strength)
    ends = [trial.train(net, strength) for net in changed]
    measured = _align(changed, ends, trial.related(strength))
    solve = trial.solve(changed, strength)
    if solve is None:
        return Broken(measured, None)
    solved = trial.theory(nets, strength) if trial.theory else changed
    return Broken(measured, _align(solved, [*map(solve, solved)], trial.related(strength)))


def _align(nets: Pair, weights: Sequence[Weights], related: float) -> Matrix:
    first, second = (hidden_maps(held, net) for net, held in zip(nets, weights, strict=True))
    own = nets[0].world.inputs
    scores = [
        [linear_cka(x, y, of_x=own, of_y=own, between=related * own) for y in second] for x in first
    ]
    return torch.tensor(scores, dtype=torch.float64)


TRIALS: Mapping[str, Trial] = {
    "weight-decay": Trial(
        train=end_mixed,
        solve=lambda _, s: {0.0: least_entropy, 1.0: least_norm}.get(s),
    ),
    "gradient-flow": Trial(
        train=follow_flow,
        solve=lambda _, s: None if s else least_entropy,
    ),
    "labels": Trial(
        change=lambda nets, s: _both(nets, lambda net: relabel(net, s)),
    ),
    "saddle": Trial(
        change=narrow,
        theory=lambda nets, s: lack_modes(nets, s, both=False),
    ),
    "private-data": Trial(
        change=add_private_features,
    ),
    "nonlinear-labels": Trial(
        change=curve_labels,
        solve=lambda _, s: None if s else least_entropy,
    ),
    "quiet-labels": Trial(
        change=quiet_labels,
        solve=_solve_noisy,
    ),
    "unrelated-data": Trial(
        related=lambda s: 1 - s,
    ),
    "two-saddles": Trial(
        change=lambda nets, s: lack_modes(nets, s, both=True),
    ),
}
