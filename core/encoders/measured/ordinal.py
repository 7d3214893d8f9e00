"""A space from judgments of similarity: which of the pairs within a triplet is the most alike.

    p(pair c of a triplet) = exp⟨xᵢ, xⱼ⟩_c / Σ_pairs exp⟨xᵢ, xⱼ⟩,  x > 0

An odd one out leaves the pair of the two others, of three pairs; “is the anchor more like this or
that?” leaves one of two. The space is the most probable one under the prior x exp(−x) on each
coordinate, a gamma distribution of shape 2. The source takes exp(−x), under which a stimulus that
is like no other gets a vector of zeros, which has no direction and so no neighbors.

Source: Zheng, Pereira, Baker, Hebart 2019 (SPoSE); Hebart et al. 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from core.errors import FeatureError
from core.progress import Progress

DIMS = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # that are tried in turn, while they foretell better
HELD_OUT = 0.1  # of the triplets, once to choose the number of dimensions and once to report
FEWEST = 100  # judgments: with a tenth of fewer nothing can be chosen
STEPS = 300  # of L-BFGS at most

# the pairs of each judged triplet, the one that was found most alike first
Pairs = Int64[np.ndarray, "m p 2"]


@dataclass(frozen=True)
class Fitted:
    """A space from judgments.

    space: a row per stimulus. accuracy: the share of held-out judgments that it foretells. chance:
    that of guessing. tried: mean log-likelihood of the judgments that chose, by number of
    dimensions. held_out: how many judgments the accuracy is of.
    """

    space: Float64[np.ndarray, "n d"]
    accuracy: float
    chance: float
    held_out: int
    tried: Mapping[int, float]


def fit_judgments(
    pairs: Pairs, *, stimuli: int, seed: int, report: Progress | None = None
) -> Fitted:
    """Return the space that explains judgments best, in as many dimensions as foretell others best.

    A tenth of the triplets chooses the number of dimensions, another tenth is held out for the
    accuracy; all judgments of one triplet are on one side. More dimensions are tried while they
    foretell better. Raises FeatureError for fewer than FEWEST judgments, and for a stimulus that is
    in none.
    """
    _check_judgments(pairs, stimuli)
    train, choose, test = split_triplets(pairs, seed=seed)
    tried: dict[int, float] = {}
    for done, dims in enumerate(DIMS):
        if report:
            report(done, len(DIMS) + 1, "dimensions tried")
        space = most_probable(pairs[train], stimuli=stimuli, dims=dims, seed=seed)
        tried[dims] = float(np.log(chosen_share(space, pairs[choose])).mean())
        if tried[dims] < max(tried.values()):
            break
    best = max(tried, key=lambda dims: tried[dims])
    space = most_probable(pairs[train | choose], stimuli=stimuli, dims=best, seed=seed)
    if report:
        report(len(DIMS) + 1, len(DIMS) + 1, "dimensions tried")
    accuracy = foretold(space, pairs[test])
    return Fitted(space, accuracy, 1 / pairs.shape[1], int(test.sum()), tried)


def _check_judgments(pairs: Pairs, stimuli: int) -> None:
    if len(pairs) < FEWEST:
        raise FeatureError(
            f"expected at least {FEWEST} judgments, some of which are held out; got {len(pairs)}"
        )
    missing = np.setdiff1d(np.arange(stimuli), pairs)
    if len(missing):
        raise FeatureError(
            f"{len(missing)} of {stimuli} stimuli are in no judgment, such as stimulus"
            f" {missing[0]}, so they have no place; import over a dataset of the judged ones"
        )


def split_triplets(pairs: Pairs, *, seed: int) -> Sequence[np.ndarray]:
    """Return masks of the judgments that are fitted, that choose, and that are held out; drawn by
    triplet, whatever its order.
    """
    triplets = np.sort(pairs.reshape(len(pairs), -1), axis=1)
    kinds, kind_of = np.unique(triplets, axis=0, return_inverse=True)
    places = np.random.default_rng(seed).random(len(kinds))[kind_of.ravel()]
    choose, test = places < HELD_OUT, places >= 1 - HELD_OUT
    return ~(choose | test), choose, test


def chosen_share(space: Float64[np.ndarray, "n d"], pairs: Pairs) -> Float64[np.ndarray, "m"]:
    """Return the probability of each judgment."""
    return _shares(space, pairs)[:, 0]


def foretold(space: Float64[np.ndarray, "n d"], pairs: Pairs) -> float:
    """Return the share of judgments whose pair is the most probable one; of equally probable pairs
    each counts in part.
    """
    shares = _shares(space, pairs)
    most = shares == shares.max(axis=1, keepdims=True)
    return float((most[:, 0] / most.sum(axis=1)).mean())


def _shares(space: Float64[np.ndarray, "n d"], pairs: Pairs) -> Float64[np.ndarray, "m p"]:
    similar = np.einsum("mpd,mpd->mp", space[pairs[..., 0]], space[pairs[..., 1]])
    powers = np.exp(similar - similar.max(axis=1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return shares


def most_probable(
    pairs: Pairs, *, stimuli: int, dims: int, seed: int
) -> Float64[np.ndarray, "n d"]:
    """Return the positive space that maximizes probability under the prior, from a random start:
    one mode, not always the highest.
    """
    from scipy.optimize import fmin_l_bfgs_b

    start = np.log(np.random.default_rng(seed).uniform(0.1, 1, (stimuli, dims)))

    def loss(logs: Float64[np.ndarray, "nd"]) -> tuple[float, Float64[np.ndarray, "nd"]]:
        space = np.exp(logs).reshape(stimuli, dims)
        value, slope = _loss(space, pairs)
        return value / len(pairs), (slope * space).ravel() / len(pairs)

    logs, _, _ = fmin_l_bfgs_b(loss, start.ravel(), maxiter=STEPS)
    space: np.ndarray = np.exp(logs).reshape(stimuli, dims)
    return space


def _loss(
    space: Float64[np.ndarray, "n d"], pairs: Pairs
) -> tuple[float, Float64[np.ndarray, "n d"]]:
    """Return −log of prior times likelihood, and its slope."""
    from scipy.sparse import coo_array

    shares = _shares(space, pairs)
    value = -np.log(np.maximum(shares[:, 0], np.finfo(float).tiny)).sum()
    value += (space - np.log(space)).sum()
    shares[:, 0] -= 1
    i, j = pairs.reshape(-1, 2).T
    pull = coo_array((shares.ravel(), (i, j)), shape=(len(space), len(space))).tocsr()
    return float(value), pull @ space + pull.T @ space + 1 - 1 / space
