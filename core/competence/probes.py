"""Linear probes of frozen spaces: multinomial logistic regression on standardized features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float32, Int64
from scipy.stats import binomtest
from torch import Tensor

from core.errors import FeatureError

STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # λ; scikit-learn's C is 1 / (λ n), or 2 / (λ n) of two
STEPS = 100  # of L-BFGS at most; in whitened coordinates about 30 are enough
_HISTORY = 10  # steps that L-BFGS remembers
_FLAT, _STILL = 1e-4, 1e-6  # gradient and change below which no answer changes any more
_SHARES = (1 / 2, 1 / 6)  # of the samples, for training and validation; the rest is the test


@dataclass(frozen=True)
class Split:
    """Which samples train a probe, choose its strength and measure it."""

    train: Int64[np.ndarray, "_"]
    validation: Int64[np.ndarray, "_"]
    test: Int64[np.ndarray, "_"]


@dataclass(frozen=True)
class Score:
    """A share of n right answers with its 95% interval, next to chance."""

    value: float
    low: float
    high: float
    chance: float
    n: int


def split(n: int) -> Split:
    """Return the first half, the next sixth and the last third of n samples in random order."""
    first, second = (round(n * sum(_SHARES[:parts])) for parts in (1, 2))
    ends = (0, first), (first, second), (second, n)
    return Split(*(np.arange(*each, dtype=np.int64) for each in ends))


def probe(
    features: Float32[np.ndarray, "_ d"],
    labels: Int64[np.ndarray, "_"],
    parts: Split,
    *,
    device: torch.device | str = "cpu",
) -> Score:
    """Return the accuracy of a linear probe on the test samples; see `right_answers`. Chance is the
    share of the test's largest class.
    """
    right = right_answers(features, labels, parts, device=device)
    count, n = int(right.sum()), len(right)
    chance = np.bincount(labels[parts.test]).max() / n
    return Score(count / n, *wilson(count, n), chance=float(chance), n=n)


def right_answers(
    features: Float32[np.ndarray, "_ d"],
    labels: Int64[np.ndarray, "_"],
    parts: Split,
    *,
    strengths: Sequence[float] = STRENGTHS,
    device: torch.device | str = "cpu",
) -> Bool[np.ndarray, "_"]:
    """Return on which test samples a linear probe is right.

    Features are standardized by the training samples; the best of `strengths` on validation is
    taken (the strongest of equals). labels: classes from 0. Raise FeatureError for features that do
    not match the labels or are not finite.
    """
    if len(features) != len(labels):
        raise FeatureError(
            f"{len(features)} rows of features were given for {len(labels)} labels; give one row"
            " per label"
        )
    if not np.isfinite(features).all():
        raise FeatureError("features have NaN or infinity; a probe takes finite numbers only")
    rows = torch.from_numpy(features).to(device)
    targets = torch.from_numpy(labels).to(device)
    rows = standardize(rows, rows[parts.train])
    classes, strong_first = int(labels.max()) + 1, sorted(strengths, reverse=True)
    learned = rows[parts.train], targets[parts.train]
    weights = fit(*learned, classes=classes, strengths=strong_first)

    def right(weights: Tensor, part: Int64[np.ndarray, "_"]) -> Tensor:
        scores = rows[part] @ weights[:, :-1] + weights[:, -1:]
        return scores.argmax(-1) == targets[part]

    best = int(right(weights, parts.validation).sum(1).argmax())
    answers: np.ndarray = right(weights[best : best + 1], parts.test)[0].cpu().numpy()
    return answers


def standardize(rows: Float[Tensor, "n d"], train: Float[Tensor, "m d"]) -> Float[Tensor, "n d"]:
    """Return (rows − mean) / standard deviation, both of `train`; constant features become 0."""
    spread = train.std(0, correction=0)
    flat = spread <= 1e-6 * train.abs().amax(0)  # what is left of a constant after rounding
    return ((rows - train.mean(0)) / spread.masked_fill(flat, 1.0)).masked_fill(flat, 0.0)


def fit(
    rows: Float[Tensor, "n d"],
    labels: Tensor,
    *,
    classes: int,
    strengths: Sequence[float],
    steps: int = STEPS,
) -> Float[Tensor, "s rows classes"]:
    """Return, for each strength λ, the weights W (d + 1, classes; the last row is the bias) that
    minimize

        mean over samples of −log softmax(x W)[label] + λ/2 ‖W without bias‖².

    All strengths are solved at once by L-BFGS, in the coordinates in which Böhning's bound of the
    curvature is the identity.
    """
    weight = torch.tensor(strengths, dtype=torch.float64)
    # not every device has doubles
    values, vectors = torch.linalg.eigh((rows.T @ rows / len(rows)).cpu().double())
    turn = vectors.float().to(rows.device)
    widths = (values.clamp(min=0.0)[:, None] / 4 + weight).rsqrt()[:, :, None]
    scale, levels = widths.float().to(rows.device), weight.float().to(rows.device)
    turned, many = rows @ turn, len(strengths)
    wanted = labels.repeat_interleave(many)
    inner = turned.new_zeros(turned.shape[1], many, classes, requires_grad=True)
    bias = turned.new_zeros(many, classes, requires_grad=True)
    solver = torch.optim.LBFGS(
        [inner, bias],
        max_iter=steps,
        tolerance_grad=_FLAT,
        tolerance_change=_STILL,
        history_size=_HISTORY,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        solver.zero_grad()
        weights = scale * inner
        # one product for all strengths
        scores = (turned @ weights.flatten(1)).view(-1, many, classes) + bias
        total: Tensor = F.cross_entropy(scores.flatten(0, 1), wanted) * many
        total = total + (levels * weights.square().sum((0, 2))).sum() / 2
        total.backward()
        return total

    solver.step(loss)
    coefficients = (turn @ (scale * inner).flatten(1)).view_as(inner)
    return torch.cat([coefficients, bias[None]]).detach().movedim(1, 0)


def wilson(right: int, n: int) -> tuple[float, float]:
    """Return the 95% interval of a share of `right` among n independent answers (Wilson 1927)."""
    interval = binomtest(right, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)
