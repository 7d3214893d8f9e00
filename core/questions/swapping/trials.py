"""Probes at home and in other spaces, fold by fold: on which stimuli they are right.

Two ways use a probe of one space on another without training. Both need the anchors, stimuli seen
by both models, and nothing else.

relative    each stimulus is described by its cosines with the anchors of its own space
orthogonal  one space is turned onto the other by the orthogonal map that fits the anchors best

Source: Moschella et al. 2023 (relative representations); Schönemann 1966 (the orthogonal map), for
swapped probes Maiorca et al. 2023.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Float64, Int64

from core.competence.probes import STRENGTHS, Split, fit
from core.machine.memory import check_memory
from core.progress import Progress, tell_each
from core.spaces.preprocess import normalize_rows

_VALIDATES = 4  # one known stimulus of so many chooses a probe's strength

Labels = Int64[np.ndarray, " n"]
Right = Bool[np.ndarray, "factors n"]
Rows = Int64[np.ndarray, "_"]
Space = Float[np.ndarray, "n _"]
Read = Float32[np.ndarray, "_ _"]


class Held(NamedTuple):
    """One space as probes meet it.

    framed: centered on the mean of the known stimuli and scaled to a mean squared length of 1.
    spread: the standard deviation of each of its features over them. cosines: of each stimulus with
    the anchors, each standardized over the known stimuli. anchors: by which spaces are joined.
    """

    framed: Float64[np.ndarray, "n d"]
    spread: Float64[np.ndarray, " d"]
    cosines: Float32[np.ndarray, "n anchors"]
    anchors: Rows


def hold(space: Space, training: Rows, anchors: Rows) -> Held:
    """Return a space as probes meet it; raises FeatureError for a stimulus at the mean, which has
    no cosines.

    training: the stimuli that probes learn from, anchors among them.
    """
    centered = space.astype(np.float64) - space[training].mean(axis=0, dtype=np.float64)
    framed = centered / np.sqrt((centered[training] ** 2).sum(axis=1).mean())
    unit = normalize_rows(framed)
    cosines = unit @ unit[anchors].T
    middle, spread = cosines[training].mean(axis=0), _spread(cosines[training])
    standardized = ((cosines - middle) / spread).astype(np.float32)
    return Held(framed, _spread(framed[training]), standardized, anchors)


def cosines(held: Held) -> Read:
    """Return a space by its cosines with the anchors."""
    return held.cosines


def cosines_of(guest: Held, host: Held, order: Rows, rows: Rows) -> Read:  # noqa: ARG001 - as `turned`
    """Return some stimuli of a guest by their cosines with its own anchors.

    order: of the anchors, 0, 1 … but for a null.
    """
    read: Read = guest.cosines[rows][:, order]
    return read


def features(held: Held) -> Read:
    """Return a space's own features, standardized."""
    read: Read = (held.framed / held.spread).astype(np.float32)
    return read


def turned(guest: Held, host: Held, order: Rows, rows: Rows) -> Read:
    """Return some stimuli of a guest turned onto the host, W = UVᵀ of GᵀH = USVᵀ over the anchors,
    and standardized as the host is.

    Of two widths the wider keeps the directions that the narrower one fits. order: in which the
    guest's anchors are paired with the host's, 0, 1 … but for a null.
    """
    own, others = guest.framed[guest.anchors[order]], host.framed[host.anchors]
    left, _, right = np.linalg.svd(own.T @ others, full_matrices=False)
    read: Read = (guest.framed[rows] @ (left @ right / host.spread)).astype(np.float32)
    return read


class Way(NamedTuple):
    """home: what a probe learns from. abroad: what it is given of another space."""

    home: Callable[[Held], Read]
    abroad: Callable[[Held, Held, Rows, Rows], Read]


WAYS: Mapping[str, Way] = {
    "orthogonal": Way(features, turned),
    "relative": Way(cosines, cosines_of),
}


def _spread(rows: Space) -> Float64[np.ndarray, " d"]:
    # 1 for a feature that is constant but for rounding
    spread = rows.std(axis=0)
    return np.where(spread > 1e-9 * np.abs(rows).max(), spread, 1.0)


class Probes(NamedTuple):
    """Probes of several factors side by side. classes: of each, in the columns of weights."""

    weights: Float32[np.ndarray, "d _"]
    bias: Float32[np.ndarray, " _"]
    classes: tuple[int, ...]

    def answer(self, rows: Read) -> Int64[np.ndarray, "factors rows"]:
        """Return the class of each factor that is likeliest for each row."""
        scores = rows @ self.weights + self.bias
        parts = np.split(scores, np.cumsum(self.classes)[:-1], axis=1)
        return np.stack([part.argmax(axis=1) for part in parts])


class Trials(NamedTuple):
    """What probes get right of each stimulus, by way, space whose probe it is, and space that it is
    used on.

    right: with anchors paired as they are; at home if both spaces are one. null: shares of right
    answers with anchors paired at random, by permutation and factor, means over folds.
    """

    right: Mapping[tuple[str, int, int], Right]
    null: Mapping[tuple[str, int, int], Float64[np.ndarray, "permutations factors"]]


def run_trials(
    spaces: Sequence[Float[np.ndarray, "n _"]],
    labels: Sequence[Labels],
    *,
    anchors: int,
    folds: int,
    permutations: int,
    seed: int,
    report: Progress | None = None,
) -> Trials:
    """Fit a probe of every factor in every space, and use it in every other, by every way.

    Each stimulus is tested once, by probes that learned from the other folds. Anchors teach no
    probe: what a probe remembers of them by chance, the map that they make would find again, even
    between unrelated spaces. spaces: over the same stimuli. labels: classes from 0, by factor.
    """
    n, dice = len(labels[0]), np.random.default_rng(seed)
    pairs = [(host, guest) for host in range(len(spaces)) for guest in range(len(spaces))]
    keys = [(way, *pair) for way in WAYS for pair in pairs]
    right = {key: np.zeros((len(labels), n), dtype=bool) for key in keys}
    abroad = [key for key in keys if key[1] != key[2]]
    check_memory(
        8 * permutations * len(labels) * len(abroad),
        f"{permutations:,} permutations for {len(abroad):,} probes and spaces",
        "ask for fewer",
    )
    null = {key: np.zeros((permutations, len(labels))) for key in abroad}
    truth = np.stack(labels)
    for fold, (joined, parts) in enumerate(_folds(dice.permutation(n), folds, anchors)):
        taught = np.concatenate([joined, parts.train, parts.validation])
        orders = [dice.permutation(anchors) for _ in range(permutations)]
        held = [hold(space, taught, joined) for space in spaces]
        for host, one in enumerate(held):
            probes = {name: fit_probes(way.home(one), labels, parts) for name, way in WAYS.items()}
            for way, guest in ((way, guest) for way in WAYS for guest in range(len(spaces))):
                key = way, host, guest
                right[key][:, parts.test] = _right(
                    probes[way], way, held[guest], one, np.arange(anchors), parts.test, truth
                )
                drawn = orders if guest != host else ()
                for draw, order in enumerate(tell_each(drawn, "random pairings of the anchors")):
                    answers = _right(probes[way], way, held[guest], one, order, parts.test, truth)
                    null[key][draw] += answers.sum(axis=1) / n
            if report:
                report(fold * len(spaces) + host + 1, folds * len(spaces), "probes swapped")
    return Trials(right, null)


def foresee(
    widths: Sequence[int], labels: Sequence[Labels], *, anchors: int, folds: int, permutations: int
) -> float:
    """Return about how many seconds `run_trials` takes over spaces so wide, at the pace that this
    machine has now; rather more, since all count as wide as the widest.
    """
    n, dice = len(labels[0]), np.random.default_rng(0)
    joined, parts = next(_folds(dice.permutation(n), folds, anchors))
    host, guest = (hold(dice.normal(size=(n, max(widths))), np.arange(n), joined) for _ in range(2))
    fit_probes(host.cosines[:, :1], labels[:1], parts)  # wakes the threads
    began = time.perf_counter()
    probes = {name: fit_probes(way.home(host), labels, parts) for name, way in WAYS.items()}
    fitted = time.perf_counter() - began
    tried = []
    for _ in range(3):
        began = time.perf_counter()
        for way in WAYS:
            _right(probes[way], way, guest, host, np.arange(anchors), parts.test, np.stack(labels))
        tried.append(time.perf_counter() - began)
    swaps = (len(widths) - 1) * (1 + permutations)
    return folds * len(widths) * (fitted + swaps * min(tried))


def _right(
    probes: Probes,
    way: str,
    guest: Held,
    host: Held,
    order: Rows,
    rows: Rows,
    truth: Int64[np.ndarray, "factors n"],
) -> Bool[np.ndarray, "factors rows"]:
    read = (
        WAYS[way].home(host)[rows] if guest is host else WAYS[way].abroad(guest, host, order, rows)
    )
    right: np.ndarray = probes.answer(read) == truth[:, rows]
    return right


def fit_probes(rows: Read, labels: Sequence[Labels], parts: Split) -> Probes:
    """Fit a linear probe of each factor; of STRENGTHS that which is right most often on validation,
    the strongest of equals.
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
