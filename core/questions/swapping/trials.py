"""Probes in their own and in other spaces, fold by fold: on which stimuli they are right.

Two ways use a probe of one space on another without training; both need only the anchors, stimuli
seen by both models. relative: each stimulus is described by its cosines with the anchors of its own
space (Moschella et al. 2023). orthogonal: one space is rotated onto the other by the orthogonal map
that fits the anchors best (Schönemann 1966; for swapped probes Maiorca et al. 2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Float64, Int64

from core.competence.probes import STRENGTHS, Split, fit
from core.machine.memory import check_memory
from core.progress import tell, tell_each
from core.spaces.preprocess import normalize_rows

WAYS = ("orthogonal", "relative")
_VALIDATES = 4  # one known stimulus of so many chooses a probe's strength

Labels = Int64[np.ndarray, " n"]
Rows = Int64[np.ndarray, "_"]
Space = Float[np.ndarray, "n _"]
Read = Float32[np.ndarray, "_ _"]


class Held(NamedTuple):
    """One space as probes read it.

    framed: centered on the mean of the known stimuli and scaled to a mean squared length of 1.
    spread: the standard deviation of each of its features over them. cosines: of each stimulus with
    the anchors, each standardized over the known stimuli.
    """

    framed: Float64[np.ndarray, "n d"]
    spread: Float64[np.ndarray, " d"]
    cosines: Float32[np.ndarray, "n anchors"]
    anchors: Rows

    def own(self, way: str) -> Read:
        """Return what probes of this space learn from."""
        if way == "relative":
            return self.cosines
        read: Read = (self.framed / self.spread).astype(np.float32)
        return read


def hold(space: Space, training: Rows, anchors: Rows) -> Held:
    """Return a space as probes read it; raise FeatureError for a stimulus at the mean, which has no
    cosines. training: the stimuli that probes learn from, and the anchors.
    """
    centered = space.astype(np.float64) - space[training].mean(axis=0, dtype=np.float64)
    framed = centered / np.sqrt((centered[training] ** 2).sum(axis=1).mean())
    unit = normalize_rows(framed)
    cosines = unit @ unit[anchors].T
    middle, spread = cosines[training].mean(axis=0), _spread(cosines[training])
    standardized = ((cosines - middle) / spread).astype(np.float32)
    return Held(framed, _spread(framed[training]), standardized, anchors)


def swapped(way: str, guest: Held, host: Held, order: Rows, rows: Rows) -> Read:
    """Return what a probe of the host reads of some stimuli of a guest.

    relative: cosines with the guest's own anchors. orthogonal: the guest times W = UVᵀ, GᵀH = USVᵀ
    over the anchors, standardized as the host is; of two widths the wider keeps the directions that
    the narrower one fits. order: of the guest's anchors, 0, 1 … except for a null.
    """
    if way == "relative":
        cosines: Read = guest.cosines[rows][:, order]
        return cosines
    own, others = guest.framed[guest.anchors[order]], host.framed[host.anchors]
    left, _, right = np.linalg.svd(own.T @ others, full_matrices=False)
    read: Read = (guest.framed[rows] @ (left @ right / host.spread)).astype(np.float32)
    return read


def _spread(rows: Space) -> Float64[np.ndarray, " d"]:
    # 1 for a feature that is constant but for rounding
    spread = rows.std(axis=0)
    return np.where(spread > 1e-9 * np.abs(rows).max(), spread, 1.0)


class Probes(NamedTuple):
    """Probes of several factors in one matrix. classes: of each, in the columns of weights."""

    weights: Float32[np.ndarray, "d _"]
    bias: Float32[np.ndarray, " _"]
    classes: tuple[int, ...]

    def answer(self, rows: Read) -> Int64[np.ndarray, "factors rows"]:
        """Return the most likely class of each factor for each row."""
        scores = rows @ self.weights + self.bias
        parts = np.split(scores, np.cumsum(self.classes)[:-1], axis=1)
        return np.stack([part.argmax(axis=1) for part in parts])


class Trials(NamedTuple):
    """By way, space of the probe, and space that it is used on.

    right: which stimuli the probe gets right. null: shares of right answers with anchors paired at
    random, by permutation and factor, means over folds.
    """

    right: Mapping[tuple[str, int, int], Bool[np.ndarray, "factors n"]]
    null: Mapping[tuple[str, int, int], Float64[np.ndarray, "permutations factors"]]


def run_trials(
    spaces: Sequence[Space],
    labels: Sequence[Labels],
    *,
    anchors: int,
    folds: int,
    permutations: int,
    seed: int,
) -> Trials:
    """Fit a probe of every factor in every space, and use it in every other, by every way.

    Each stimulus is tested once, by probes that learned from the other folds. Anchors teach no
    probe: the map that they give would recover what a probe has memorized of them, even between
    unrelated spaces. labels: classes from 0, by factor.
    """
    n, rng = len(labels[0]), np.random.default_rng(seed)
    pairs = [(host, guest) for host in range(len(spaces)) for guest in range(len(spaces))]
    keys = [(way, *pair) for way in WAYS for pair in pairs]
    right = {key: np.zeros((len(labels), n), dtype=bool) for key in keys}
    others = [key for key in keys if key[1] != key[2]]
    check_memory(
        8 * permutations * len(labels) * len(others),
        f"{permutations:,} permutations for {len(others):,} probes and spaces",
        "ask for fewer",
    )
    null = {key: np.zeros((permutations, len(labels))) for key in others}
    truth = np.stack(labels)
    for fold, (joined, parts) in enumerate(_folds(rng.permutation(n), folds, anchors)):
        taught = np.concatenate([joined, parts.train, parts.validation])
        orders = [rng.permutation(anchors) for _ in range(permutations)]
        held = [hold(space, taught, joined) for space in spaces]
        test, paired = parts.test, np.arange(anchors)
        for place, host in enumerate(held):
            probes = {way: fit_probes(host.own(way), labels, parts) for way in WAYS}
            for way, other in ((way, other) for way in WAYS for other in range(len(spaces))):
                key, guest = (way, place, other), held[other]
                if place == other:
                    right[key][:, test] = probes[way].answer(host.own(way)[test]) == truth[:, test]
                    continue
                read = swapped(way, guest, host, paired, test)
                right[key][:, test] = probes[way].answer(read) == truth[:, test]
                for draw, order in enumerate(tell_each(orders, "random pairings of the anchors")):
                    answers = probes[way].answer(swapped(way, guest, host, order, test))
                    null[key][draw] += (answers == truth[:, test]).sum(axis=1) / n
            tell(fold * len(spaces) + place + 1, folds * len(spaces), "probes swapped")
    return Trials(right, null)


def fit_probes(rows: Read, labels: Sequence[Labels], parts: Split) -> Probes:
    """Fit a linear probe of each factor, its strength chosen in STRENGTHS by validation, the
    strongest of equals.
    """
    features, strong_first = torch.from_numpy(rows), sorted(STRENGTHS, reverse=True)
    chosen = []
    for each in labels:
        targets = torch.from_numpy(each)
        tried = fit(
            features[parts.train],
            targets[parts.train],
            classes=int(each.max()) + 1,
            strengths=strong_first,
        )
        scores = features[parts.validation] @ tried[:, :-1] + tried[:, -1:]
        best = int((scores.argmax(-1) == targets[parts.validation]).sum(1).argmax())
        chosen.append(tried[best].numpy())
    weights = np.concatenate(chosen, axis=1)
    return Probes(weights[:-1], weights[-1], tuple(each.shape[1] for each in chosen))


def _folds(order: Rows, count: int, anchors: int) -> Iterator[tuple[Rows, Split]]:
    parts = np.array_split(order, count)
    for place, test in enumerate(parts):
        others = np.concatenate([part for other, part in enumerate(parts) if other != place])
        rest = others[anchors:]
        validates = len(rest) // _VALIDATES
        yield others[:anchors], Split(rest[validates:], rest[:validates], np.sort(test))
