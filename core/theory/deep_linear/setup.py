"""What runs of deep linear networks are about, in words and numbers. Nothing here needs torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from core.options import option, seed_option

Tables = dict[str, pd.DataFrame]
NETWORKS = "abcd"
NOISE, NO_NOISE = "with noise", "without noise"
DATA = {"sharpens": "Little noise in strong modes", "flattens": "Ill-conditioned view"}
SETTLED = 1_500  # steps after which the loss has settled
EDGE_BATCH = 1024
REACH, POINTS = 1.0, 41  # of λ
EDGE = "Edge of stability"
CONTROL = "samples"  # what differs between two networks that differ in nothing else


@dataclass(frozen=True)
class Descent:
    """SGD: the size of its steps, and the samples per step; 0 for the expected loss, no noise."""

    step: float
    batch: int = 1


def _widths(name: str, *widths: int) -> Any:
    text = f"widths of the hidden layers of {name}"
    return option(widths, least=1, most=32, label=f"Network {name}", help=text)


@dataclass(frozen=True)
class Networks:
    """The world, the networks, and how SGD goes if it trains them."""

    inputs: int = option(5, least=1, most=64, help="inputs of the world")
    labels: int = option(5, least=1, most=64, help="labels of the world")
    rank: int = option(
        3, least=1, most=64, label="Rank of V", help="rank of the map from inputs to labels"
    )
    a: tuple[int, ...] = _widths("a", 6, 7)
    b: tuple[int, ...] = _widths("b", 5, 9, 8)
    c: tuple[int, ...] = _widths("c", 4)
    d: tuple[int, ...] = _widths("d", 7, 5, 6, 8)
    condition: float = option(
        4.0,
        least=1,
        most=1_000,
        label="Condition of M Z",
        help="how unevenly frozen matrix and view stretch the inputs, 1 for a rotation",
    )
    step: tuple[float, ...] = option(
        (),
        least=1e-4,
        most=1,
        metavar="ETA",
        label="Step η",
        help="size of SGD's steps, up to six if they are compared (those of the preset)",
    )
    batch: int | None = option(
        None,
        least=1,
        most=4096,
        help="samples per step of SGD, whose gradients are averaged (the preset's)",
    )
    seed: int = seed_option("seed of the world and of all networks")

    def descent(self, usual: Descent) -> Descent:
        return Descent(self.step[0] if self.step else usual.step, self.batch or usual.batch)

    @property
    def world(self) -> dict[str, int]:
        return {"d": self.inputs, "c": self.labels, "rank": self.rank, "seed": self.seed}


def late(looks: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the last 60% of the time."""
    return looks[looks["time"] > 0.4 * looks["time"].max()]


def name_generators(width: int) -> list[str]:
    """Return the names of the symmetric matrices T that a hidden layer can be moved along."""
    return ["all units", *(f"unit {j + 1}" for j in range(width)), "random"]


@dataclass(frozen=True)
class Breaker:
    """A way to break the theorem.

    broken: the assumption. unit: of the strength. counts: what the strength is a number of.
    """

    title: str
    broken: str
    mechanism: str
    formula: str
    unit: str
    strengths: tuple[float, ...]
    counts: Literal["", "modes", "labels"] = ""

    def allowed(self, *, modes: int, labels: int) -> tuple[float, ...]:
        most = {"": math.inf, "modes": modes - 1, "labels": labels}[self.counts]
        return tuple(each for each in self.strengths if each <= most)


BREAKERS: Mapping[str, Breaker] = {
    "weight-decay": Breaker(
        "Weight decay",
        "noise alone chooses",
        "Balanced norms leave the view Z in every hidden layer but the last.",
        r"h^i = R_i\, \Sigma^{i/D} E^\top M^I Z x, \qquad U \Sigma E^\top = (M^O)^{-1} V (M^I"
        r" Z)^{-1}",
        "share of the decay in the penalty",
        (0.0, 0.25, 0.5, 0.75, 1.0),
    ),
    "gradient-flow": Breaker(
        "Gradient flow",
        "noise, finite steps",
        "Differences of layers never change: first weights decide.",
        r"\tfrac{d}{dt}\left(W_{i+1}^\top W_{i+1} - W_i W_i^\top\right) = 0",
        "random share of the first weights",
        (0.0, 0.1, 0.25, 0.5, 1.0),
    ),
    "labels": Breaker(
        "Transformed labels",
        "the same labels",
        "Solutions depend on views Φ y of the labels, not of the inputs.",
        r"y \to \Phi y, \qquad \Phi_A \neq \Phi_B",
        "spread of log Φ",
        (0.0, 0.25, 0.5, 1.0),
    ),
    "saddle": Breaker(
        "Saddle",
        "a global minimum",
        "A solution of lower rank lacks modes that the other one has.",
        r"\operatorname{rank}(W_D \cdots W_1) < \operatorname{rank}(V)",
        "modes that one network lacks",
        (0.0, 1.0, 2.0),
        counts="modes",
    ),
    "private-data": Breaker(
        "Private features",
        "the same data",
        "If labels depend on private features, the two maps differ.",
        r"x_A = x + z_A, \qquad x_B = x + z_B, \qquad y = V x + s (P_A z_A + P_B z_B) + \epsilon",
        "weight of the private features in the labels, 0 for the control",
        (0.0, 0.25, 0.5, 1.0),
    ),
    "nonlinear-labels": Breaker(
        "Nonlinear labels",
        "independent errors",
        "Errors depend on the inputs; moments do not factorize.",
        r"y = V x + C q(x) + \epsilon, \qquad q_k = \tfrac{1}{\sqrt 2}(z_k^2 - 1), \qquad z ="
        r" \Sigma_x^{-1/2} x",
        "standard deviation of the nonlinear part, over that of the linear one",
        (0.0, 0.5, 1.0, 2.0, 4.0),
    ),
    "quiet-labels": Breaker(
        "Labels without noise",
        "noise in every mode",
        "A mode without noise fades; without any, first weights decide.",
        r"\operatorname{rank}(\sqrt{\Sigma_\epsilon}\, V) < \operatorname{rank}(V)",
        "directions of the labels without noise",
        tuple(map(float, range(13))),
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
    ),
    "two-saddles": Breaker(
        "Two saddles",
        "the same solution",
        "Saddles without a common mode have alignment 0, never below.",
        r"f(x) = \sum_{k \in I} \sigma_k u_k e_k^\top \Sigma_x^{-1/2} x, \qquad I_A \neq I_B",
        "modes that each network lacks, the weakest and the strongest",
        (0.0, 1.0, 2.0),
        counts="modes",
    ),
}

WAYS = (*BREAKERS, "edge-of-stability")
