"""Contrastive learners with a tied embedding: g(a, b) = ⟨f(a), f(b)⟩, an embedding per event and
nothing else.

Two losses, each on exact expectations and on sampled pairs. Negatives come from the marginal P.

    binary NCE  −p E log σ(g(x, x₊)) − (1 − p) E log σ(−g(x, x₋))
                least at g = K_PMI + log p / (1 − p)
    InfoNCE     −E log e^{g(x, x₊)/τ} / (e^{g(x, x₊)/τ} + Σₖ e^{g(x, x₋ᵏ)/τ})
                least at g = τ K_PMI + c, any c

The offset of binary NCE is fixed by p, so that a tied embedding reaches its minimum only if
K_PMI + log p / (1 − p) is positive semi-definite; InfoNCE takes an offset that makes it so. Source:
Huh et al. 2024, appendix F.1.
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

from core.errors import InputError, MetricError, TrainingError
from core.theory.contrastive.kernel import ROUNDING
from core.theory.simulation import Matrix, descend

STEPS, BATCH, NEGATIVES = 2_500, 256, 32  # of sampled training; negatives for each positive pair
_RATE = 0.05  # of Adam at the start; a cosine takes it to 0
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
    """Return the loss as a function of all products g (N, N). InfoNCE: the limit of many negatives,
    less their number's log.
    """
    own = joint.sum(1)
    if learner.loss == "nce":
        p, apart = learner.positives, own[:, None] * own
        return lambda g: -(p * joint * logsigmoid(g) + (1 - p) * apart * logsigmoid(-g)).sum()
    tau = learner.temperature
    return lambda g: (own * torch.logsumexp(g / tau + own.log(), 1)).sum() - (joint * g).sum() / tau


def learn(learner: Learner, joint: np.ndarray, *, seed: int = 0) -> Float64[np.ndarray, "n d"]:
    """Train on exact expectations by L-BFGS until nothing moves, and return the embedding.

    joint: P_coor (N, N). Raises TrainingError if the loss stops being a number.
    """
    of_products = exact_loss(learner, torch.from_numpy(joint))

    def objective(weights: Sequence[Matrix]) -> Scalar:
        return of_products(weights[0] @ weights[0].T)

    *_, (embedding,) = descend([_start(learner, len(joint), seed)], objective)
    return embedding.numpy()


def learn_sampled(
    learner: Learner, joint: np.ndarray, *, seed: int = 0, steps: int = STEPS
) -> Float64[np.ndarray, "n d"]:
    """Train on pairs drawn by the seed, BATCH a step, by Adam with a rate that falls to 0; see
    `learn`.
    """
    draw = np.random.default_rng(seed)
    embedding = _start(learner, len(joint), seed).requires_grad_()
    solver = torch.optim.Adam([embedding], lr=_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(solver, steps)
    batch_loss = {"nce": _nce_of_batch, "infonce": _infonce_of_batch}[learner.loss]
    own, pairs = _cumulated(joint.sum(1)), _cumulated(joint.ravel())
    for _ in range(steps):
        drawn = np.searchsorted(pairs, draw.random(BATCH), side="right")
        others = np.searchsorted(own, draw.random((BATCH, NEGATIVES)), side="right")
        first, second = np.divmod(drawn, len(joint))
        solver.zero_grad()
        value = batch_loss(learner, embedding, *map(torch.from_numpy, (first, second, others)))
        value.backward()
        solver.step()
        schedule.step()
        if not math.isfinite(float(value.detach())):
            raise TrainingError("the loss is no longer a number; take a higher temperature")
    return embedding.detach().numpy()


def fit_products(embedding: Float64[np.ndarray, "n d"], kernel: np.ndarray) -> Fit:
    """Compare what was learned with the PMI kernel. r2 is the squared correlation of both over all
    pairs, in 0 … 1.

    Raises MetricError for a kernel that is the same for all pairs, which nothing can follow.
    """
    if np.ptp(kernel) < ROUNDING:
        raise MetricError(
            "the PMI of all pairs is the same, so that there is nothing to learn; take fewer jumps,"
            " or uneven steps"
        )
    g, k = (embedding @ embedding.T).ravel(), kernel.ravel()
    slope = float(np.cov(g, k, bias=True)[0, 1] / k.var())
    return Fit(slope, float(g.mean() - slope * k.mean()), float(np.corrcoef(g, k)[0, 1] ** 2))


def _start(learner: Learner, events: int, seed: int) -> Matrix:
    draw, width = torch.Generator().manual_seed(seed), learner.width
    return torch.randn(events, width, generator=draw, dtype=torch.float64) / math.sqrt(width)


def _cumulated(probabilities: np.ndarray) -> np.ndarray:
    sums = probabilities.cumsum()
    shares: np.ndarray = sums / sums[-1]  # rounding must leave nothing above the last one
    return shares


def _nce_of_batch(
    learner: Learner, embedding: Matrix, first: Tensor, second: Tensor, negatives: Tensor
) -> Tensor:
    positive = (embedding[first] * embedding[second]).sum(1)
    left, right = negatives[:, ::2], negatives[:, 1::2]  # both drawn from the marginal
    negative = (embedding[left] * embedding[right]).sum(2)
    return (
        -learner.positives * logsigmoid(positive).mean()
        - (1 - learner.positives) * logsigmoid(-negative).mean()
    )


def _infonce_of_batch(
    learner: Learner, embedding: Matrix, first: Tensor, second: Tensor, negatives: Tensor
) -> Tensor:
    others = torch.cat([second[:, None], negatives], 1)
    products = (embedding[first][:, None] * embedding[others]).sum(2) / learner.temperature
    return torch.logsumexp(products, 1).mean() - products[:, 0].mean()
