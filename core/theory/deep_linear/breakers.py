"""Ways to break the theorem, as data. At strength 0 every layer of both networks is aligned.

Source: Ziyin and Chuang 2025, section 5, which has six (the edge of stability is
`core.theory.deep_linear.runs.EDGE`), and footnotes 2 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

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
class Breaker:
    """A way to break the theorem.

    broken: the assumption. unit: of the strength. change: both networks. solve: the closed form of
    the solution, None if there is none; theory: its networks, if not those trained.
    related: correlation of the paired inputs. counts: what the strength is a number of.
    """

    title: str
    broken: str
    mechanism: str
    formula: str
    unit: str
    strengths: tuple[float, ...]
    change: Callable[[Pair, float], Pair] = lambda nets, _: nets
    train: Callable[[Net, float], Weights] = lambda net, _: end_entropic(net)
    solve: Callable[[Pair, float], Solve | None] = lambda *_: least_entropy
    theory: Callable[[Pair, float], Pair] | None = None
    related: Callable[[float], float] = lambda _: 1.0
    counts: Literal["", "modes", "labels"] = ""

    def allowed(self, *, modes: int, labels: int) -> tuple[float, ...]:
        most = {"": math.inf, "modes": modes - 1, "labels": labels}[self.counts]
        return tuple(each for each in self.strengths if each <= most)


class Broken(NamedTuple):
    """Linear CKA of the first network's hidden layers (rows) with the second's."""

    measured: Matrix
    predicted: Matrix | None


def break_alignment(name: str, nets: Pair, strength: float) -> Broken:
    """Train two networks under a breaker."""
    breaker = BREAKERS[name]
    changed = breaker.change(nets, strength)
    ends = [breaker.train(net, strength) for net in changed]
    measured = _align(changed, ends, breaker.related(strength))
    solve = breaker.solve(changed, strength)
    if solve is None:
        return Broken(measured, None)
    solved = breaker.theory(nets, strength) if breaker.theory else changed
    return Broken(measured, _align(solved, [*map(solve, solved)], breaker.related(strength)))


def _align(nets: Pair, weights: Sequence[Weights], related: float) -> Matrix:
    first, second = (hidden_maps(held, net) for net, held in zip(nets, weights, strict=True))
    own = nets[0].world.inputs
    scores = [
        [linear_cka(x, y, of_x=own, of_y=own, between=related * own) for y in second] for x in first
    ]
    return torch.tensor(scores, dtype=torch.float64)


BREAKERS: Mapping[str, Breaker] = {
    "weight-decay": Breaker(
        "Weight decay",
        "noise alone chooses",
        "Balanced norms leave the view Z in every hidden layer but the last.",
        r"h^i = R_i\, \Sigma^{i/D} E^\top M^I Z x, \qquad U \Sigma E^\top = (M^O)^{-1} V (M^I"
        r" Z)^{-1}",
        "share of the decay in the penalty",
        (0.0, 0.25, 0.5, 0.75, 1.0),
        train=end_mixed,
        solve=lambda _, s: {0.0: least_entropy, 1.0: least_norm}.get(s),
    ),
    "gradient-flow": Breaker(
        "Gradient flow",
        "noise, finite steps",
        "Differences of layers never change: first weights decide.",
        r"\tfrac{d}{dt}\left(W_{i+1}^\top W_{i+1} - W_i W_i^\top\right) = 0",
        "random share of the first weights",
        (0.0, 0.1, 0.25, 0.5, 1.0),
        train=follow_flow,
        solve=lambda _, s: None if s else least_entropy,
    ),
    "labels": Breaker(
        "Transformed labels",
        "the same labels",
        "Solutions depend on views Φ y of the labels, not of the inputs.",
        r"y \to \Phi y, \qquad \Phi_A \neq \Phi_B",
        "spread of log Φ",
        (0.0, 0.25, 0.5, 1.0),
        change=lambda nets, s: _both(nets, lambda net: relabel(net, s)),
    ),
    "saddle": Breaker(
        "Saddle",
        "a global minimum",
        "A solution of lower rank lacks modes that the other one has.",
        r"\operatorname{rank}(W_D \cdots W_1) < \operatorname{rank}(V)",
        "modes that one network lacks",
        (0.0, 1.0, 2.0),
        change=narrow,
        theory=lambda nets, s: lack_modes(nets, s, both=False),
        counts="modes",
    ),
    "private-data": Breaker(
        "Private features",
        "the same data",
        "If labels depend on private features, the two maps differ.",
        r"x_A = x + z_A, \qquad x_B = x + z_B, \qquad y = V x + s (P_A z_A + P_B z_B) + \epsilon",
        "weight of the private features in the labels, 0 for the control",
        (0.0, 0.25, 0.5, 1.0),
        change=add_private_features,
    ),
    "nonlinear-labels": Breaker(
        "Nonlinear labels",
        "independent errors",
        "Errors depend on the inputs; moments do not factorize.",
        r"y = V x + C q(x) + \epsilon, \qquad q_k = \tfrac{1}{\sqrt 2}(z_k^2 - 1), \qquad z ="
        r" \Sigma_x^{-1/2} x",
        "standard deviation of the nonlinear part, over that of the linear one",
        (0.0, 0.5, 1.0, 2.0, 4.0),
        change=curve_labels,
        solve=lambda _, s: None if s else least_entropy,
    ),
    "quiet-labels": Breaker(
        "Labels without noise",
        "noise in every mode",
        "A mode without noise fades; without any, first weights decide.",
        r"\operatorname{rank}(\sqrt{\Sigma_\epsilon}\, V) < \operatorname{rank}(V)",
        "directions of the labels without noise",
        tuple(map(float, range(13))),
        change=quiet_labels,
        solve=_solve_noisy,
        counts="labels",
    ),
    "unrelated-data": Breaker(
        "Unrelated data",
        "paired inputs",
        "Networks that learn the same share nothing on unrelated pairs.",
        r"\mathbb{E}[x_A x_B^\top] = (1 - s)\, \Sigma_x, \qquad \mathrm{CKA} \to (1 - s)^2\,"
        r" \mathrm{CKA}",
        "1 − correlation of the paired inputs",
        (0.0, 0.25, 0.5, 0.75, 1.0),
        related=lambda s: 1 - s,
    ),
    "two-saddles": Breaker(
        "Two saddles",
        "the same solution",
        "Saddles without a common mode have alignment 0, never below.",
        r"f(x) = \sum_{k \in I} \sigma_k u_k e_k^\top \Sigma_x^{-1/2} x, \qquad I_A \neq I_B",
        "modes that each network lacks, the weakest and the strongest",
        (0.0, 1.0, 2.0),
        change=lambda nets, s: lack_modes(nets, s, both=True),
        counts="modes",
    ),
}
