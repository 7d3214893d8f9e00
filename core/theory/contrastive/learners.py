"""Contrastive learners of one embedding per event, g(a, b) = ⟨f(a), f(b)⟩, on exact expectations.

Binary NCE is least at g = K_PMI + log p / (1 − p), with a share p of positive pairs; InfoNCE at
g = τ K_PMI + c, any c. Source: Huh et al. 2024, appendix F.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn.functional import logsigmoid

from core.errors import InputError, MetricError
from core.theory.contrastive.world import ROUNDING
from core.theory.simulation import Matrix, descend

Scalar = Float64[Tensor, ""]


@dataclass(frozen=True)
class Learner:
    """A loss and the width of the embedding. temperature: τ of InfoNCE. positives: p of binary NCE,
    the share of positive pairs. Raises InputError for numbers that it cannot have.
    """

    loss: str = "infonce"
    width: int = 24
    temperature: float = 1.0
    positives: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise InputError(f"a temperature is a number above 0, not {self.temperature:g}")
        if not 0 < self.positives < 1:
            raise InputError(
                f"the share of positive pairs lies between 0 and 1, not at {self.positives:g}"
            )

    @property
    def slope(self) -> float:
        """What the theory says g is in units of K_PMI."""
        return self.temperature if self.loss == "infonce" else 1.0

    @property
    def offset(self) -> float:
        """What the theory says is added to K_PMI; NaN if the loss leaves it open."""
        return math.log(self.positives / (1 - self.positives)) if self.loss == "nce" else math.nan


class Fit(NamedTuple):
    """⟨f(a), f(b)⟩ = slope · K_PMI(a, b) + offset by least squares over all ordered pairs, each
    event with itself included.
    """

    slope: float
    offset: float
    r2: float


def exact_loss(learner: Learner, joint: Matrix) -> Callable[[Matrix], Scalar]:
    """Return the loss as a function of all products g (N, N).

    Binary NCE: −p E log σ(g(x, x₊)) − (1 − p) E log σ(−g(x, x₋)). InfoNCE: −E log e^{g(x, x₊)/τ} /
    Σₖ e^{g(x, x₋ᵏ)/τ} in the limit of many negatives, less their number's log.
    """
    own = joint.sum(1)
    if learner.loss == "nce":
        p, apart = learner.positives, own[:, None] * own
        return lambda g: -(p * joint * logsigmoid(g) + (1 - p) * apart * logsigmoid(-g)).sum()
    tau = learner.temperature
    return lambda g: (own * torch.logsumexp(g / tau + own.log(), 1)).sum() - (joint * g).sum() / tau


def learn(learner: Learner, joint: np.ndarray, *, seed: int = 0) -> Float64[np.ndarray, "n d"]:
    """Train by L-BFGS until nothing moves, and return the embedding. joint: P_coor (N, N)."""
    of_products = exact_loss(learner, torch.from_numpy(joint))

    def objective(weights: Sequence[Matrix]) -> Scalar:
        return of_products(weights[0] @ weights[0].T)

    draw, width = torch.Generator().manual_seed(seed), learner.width
    start = torch.randn(len(joint), width, generator=draw, dtype=torch.float64) / math.sqrt(width)
    *_, (embedding,) = descend([start], objective)
    return embedding.numpy()


def fit_products(embedding: Float64[np.ndarray, "n d"], kernel: np.ndarray) -> Fit:
    """Fit the learned products to the PMI kernel; r2 is their squared correlation over all pairs.

    Raises MetricError for a kernel that is the same for all pairs.
    """
    if np.ptp(kernel) < ROUNDING:
        raise MetricError(
            "the PMI of all pairs is the same, so that there is nothing to learn; take fewer jumps,"
            " or uneven steps"
        )
    g, k = (embedding @ embedding.T).ravel(), kernel.ravel()
    slope = float(np.cov(g, k, bias=True)[0, 1] / k.var())
    return Fit(slope, float(g.mean() - slope * k.mean()), float(np.corrcoef(g, k)[0, 1] ** 2))
