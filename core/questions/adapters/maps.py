"""Linear adapters as plain matrices: how they are trained, which stimuli may teach them, and the
weights that training starts from. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from core.errors import InputError
from core.options import option
from core.spaces.bases import center, span
from core.spaces.preprocess import check_space, normalize_rows

DEPTHS = (1, 5, 10)


class Ranks(NamedTuple):
    """The place of each query's own stimulus: how many others are more similar, and how many
    stimuli, itself too, equally so.
    """

    above: Int64[np.ndarray, "n"]
    tied: Int64[np.ndarray, "n"]

    @property
    def places(self) -> Float64[np.ndarray, "n"]:
        """Return at which place each query's own stimulus comes, counted from 1; equally similar
        ones share their mean place.
        """
        return self.above + (self.tied + 1) / 2


def rank_own(queries: Float[np.ndarray, "n dq"], candidates: Float[np.ndarray, "n df"]) -> Ranks:
    """Rank each query's own stimulus among all candidates, by cosine.

    queries, candidates: row i of both is stimulus i. Raises MetricError for a degenerate side,
    FeatureError for a vector of zeros, InputError where widths differ.
    """
    similar = _cosines(queries, candidates)
    own = np.diag(similar)[:, None]
    return Ranks((similar > own).sum(axis=1), (similar == own).sum(axis=1))


def recall(ranks: Ranks, k: int) -> float:
    """Return the share of queries whose own stimulus is among the first k.

    Ties are broken at random, on average: of t equally similar stimuli with a above them the own
    one is in with probability min(max((k − a)/t, 0), 1), so that an encoder that distinguishes
    nothing stays at chance, k/n. Range 0 … 1, higher is better.
    """
    return float(np.clip((k - ranks.above) / ranks.tied, 0, 1).mean())


def median_rank(ranks: Ranks) -> float:
    """Return the median of the places at which queries' own stimuli come. Chance is (n + 1)/2."""
    return float(np.median(ranks.places))


def _cosines(
    queries: Float[np.ndarray, "n dq"], candidates: Float[np.ndarray, "n df"]
) -> Float32[np.ndarray, "n n"]:
    """Return all cosines, summed in float64 and rounded once, so that equal vectors are equally
    similar.
    """
    if queries.shape[1] != candidates.shape[1]:
        raise InputError(
            f"vectors of {queries.shape[1]} and {candidates.shape[1]} dimensions have no cosine;"
            " bring both into one space first"
        )
    for space in (queries, candidates):
        check_space(space)
    left, right = (normalize_rows(space.astype(np.float64)) for space in (queries, candidates))
    cosines: np.ndarray = (left @ right.T).astype(np.float32)
    return cosines


SHARES = (4, 8)  # one in four stimuli is a test, one in eight validates,
MOST = (1024, 512)  # but no more than these: intervals measure halves of the test hundreds of times
FEWEST = 32  # stimuli; of fewer, validation would be three or less
LEAST = 3  # training pairs; two lie on one line
RANKS = tuple(2**power for power in range(1, 11))  # directions that canonical correlation may keep
POWER = 4  # of the correlations, by which canonical variates are weighted

Space = Float[np.ndarray, "n _"]
Rows = Int64[np.ndarray, "_"]
Direction = Literal["both", "forward"]
Products = Literal["cosine", "raw"]


@dataclass(frozen=True)
class Fitting:
    """How adapters are trained. The proposal does not name first weights, decay or which pass is
    kept. The loss's denominator runs over a batch of 256 pairs, the proposal's over all.
    """

    width: int = option(
        256, least=1, most=8192, label="Width", help="dimensions of the common space"
    )
    temperature: float = option(
        0.07,
        least=0.001,
        most=10.0,
        label="Temperature",
        metavar="T",
        help="of the loss; at low temperatures only the nearest stimuli matter",
    )
    learned: bool = option(
        False, label="Learn the temperature", help="learn the temperature from there"
    )
    start: Literal["canonical", "random"] = option(
        "canonical",
        label="Start",
        help="canonical: weights of canonical correlation, learned in whitened coordinates of the"
        " directions that it keeps, and decaying toward it; random: random weights of all"
        " directions, decaying toward 0 (published: random, since the proposal names no start)",
    )
    direction: Direction = option(
        "both",
        label="Direction of the loss",
        help="each encoder looks for its own stimulus in the other, or the first in the second"
        " alone (published: forward)",
    )
    products: Products = option(
        "cosine",
        label="Products",
        help="what the loss and all kernels compare: cosines, or inner products of vectors as long"
        " as they are (published: raw)",
    )
    offset: bool = option(
        True, label="Offset", help="center each encoder's vectors (published: no offset)"
    )


@dataclass(frozen=True)
class Settings(Fitting):
    """Fitting, and what no question asks for.

    batch: pairs at a time, at most. rate, decay: of AdamW. epochs: passes over the training pairs,
    at most. patience: passes without better adapters after which training stops.
    """

    batch: int = 256
    rate: float = 1e-3
    decay: float = 0.1
    epochs: int = 200
    patience: int = 30


@dataclass(frozen=True)
class Parts:
    """Which stimuli teach adapters, tell when to stop, and measure them; no stimulus is in two."""

    train: Rows
    validation: Rows
    test: Rows


def split(n: int, *, pairs: int | None = None, seed: int = 0, draw: int = 0) -> Parts:
    """Draw the parts of n stimuli: a quarter test, the same for every `draw`; an eighth validate;
    of the others `pairs` train, all if None. Of one draw the smaller set lies within the larger.

    Raises InputError for fewer than FEWEST stimuli and for too few or too many pairs.
    """
    if n < FEWEST:
        raise InputError(
            f"adapters need at least {FEWEST} stimuli to train, validate and test on; got {n}"
        )
    test, validation = (min(n // share, most) for share, most in zip(SHARES, MOST, strict=True))
    order = np.random.default_rng([seed, 0]).permutation(n)
    rest = np.random.default_rng([seed, 1, draw]).permutation(order[test:])
    most = len(rest) - validation
    pairs = most if pairs is None else pairs
    if not LEAST <= pairs <= most:
        raise InputError(
            f"of {n} stimuli {test} test and {validation} validate, so {LEAST} to {most} can"
            f" train; got {pairs}"
        )
    return Parts(rest[validation : validation + pairs], rest[:validation], order[:test])


@dataclass(frozen=True)
class Adapter:
    """A linear map of one encoder's vectors into the common space: x ↦ x · weight + offset."""

    weight: Float32[np.ndarray, "d width"]
    offset: Float32[np.ndarray, "width"]


@dataclass(frozen=True)
class Adapters:
    """One adapter per encoder, by name, the temperature of their training, and which products are
    compared.
    """

    maps: Mapping[str, Adapter]
    temperature: float
    products: Products = "cosine"

    def apply(self, spaces: Mapping[str, Space]) -> dict[str, Float32[np.ndarray, "n width"]]:
        """Map each encoder's vectors into the common space, as the loss compares them.

        Raises FeatureError for vectors that an adapter maps to zero, if cosines are compared.
        """
        mapped = {
            name: space @ self.maps[name].weight + self.maps[name].offset
            for name, space in spaces.items()
        }
        return {
            name: compared(space.astype(np.float32), self.products)
            for name, space in mapped.items()
        }


def joined(
    adapted: Mapping[str, Float32[np.ndarray, "n width"]], products: Products = "cosine"
) -> Float32[np.ndarray, "n width"]:
    """Return the mean of the encoders' vectors in the common space, as they are compared."""
    return compared(np.mean(list(adapted.values()), axis=0), products)


def compared(space: Float[np.ndarray, "n d"], products: Products) -> Float[np.ndarray, "n d"]:
    """Return vectors with the inner products that are compared: of length 1 for cosines."""
    return normalize_rows(space) if products == "cosine" else space


class White(NamedTuple):
    """Coordinates of an encoder's vectors x, (x − middle) · turn, that are uncorrelated over the
    training stimuli and of variance 1 there, those of the largest principal axes first.
    """

    middle: Float64[np.ndarray, "d"]
    turn: Float64[np.ndarray, "d r"]

    def of(self, space: Float[np.ndarray, "n d"]) -> Float64[np.ndarray, "n r"]:
        coordinates: np.ndarray = (space.astype(np.float64) - self.middle) @ self.turn
        return coordinates


class Start(NamedTuple):
    """First weights of one encoder, `base + learned`, in `coordinates`. Training changes `learned`
    alone, and decay pulls it to 0.
    """

    coordinates: White
    base: Float64[np.ndarray, "r width"]
    learned: Float64[np.ndarray, "r width"]


def first_weights(
    spaces: Mapping[str, Space], parts: Parts, settings: Settings, *, seed: int
) -> dict[str, Start]:
    """Return where each encoder's weights start.

    canonical: at the canonical variates of all encoders, scaled to vectors of root mean square
    length 1: from random weights, training fits large directions by chance before it finds the
    small shared ones. random: at normal weights of variance 1/width on vectors of root mean square
    length 1. Raises MetricError if training stimuli lie on one line.
    """
    starts, width = {}, settings.width
    if settings.start == "canonical":
        maps = canonical_maps([*spaces.values()], parts, offset=settings.offset)
        for name, (white, weight) in zip(spaces, maps, strict=True):
            kept = min(width, weight.shape[1])
            base = np.zeros((len(weight), width))
            base[:, :kept] = weight[:, :kept] / np.linalg.norm(weight[:, :kept])
            starts[name] = Start(white, base, np.zeros_like(base))
        return starts
    rng = np.random.default_rng(seed)
    for name, space in spaces.items():
        seen = space[parts.train].astype(np.float64)
        middle = seen.mean(axis=0) * settings.offset
        length = np.sqrt(((seen - middle) ** 2).sum(axis=1).mean())
        learned = rng.standard_normal((seen.shape[1], width)) / width**0.5
        white = White(middle, np.eye(seen.shape[1]) / length)
        starts[name] = Start(white, np.zeros_like(learned), learned)
    return starts


def canonical_maps(
    spaces: Sequence[Space], parts: Parts, *, offset: bool = True
) -> list[tuple[White, Float64[np.ndarray, "_ _"]]]:
    """Return the coordinates of each space, and in its first ones the weights of the canonical
    variates of all, each times its correlation to the power POWER.

    How many principal directions are kept is chosen in RANKS, by the mean rank of a validation
    stimulus in retrieval over all directions; otherwise variates of wide spaces correlate perfectly
    by chance.
    """
    whites = [whiten(space, parts.train, offset=offset) for space in spaces]
    seen, checked = (
        [white.of(space[rows]) for white, space in zip(whites, spaces, strict=True)]
        for rows in (parts.train, parts.validation)
    )

    def mean_rank(weights: Iterable[np.ndarray]) -> float:
        views = [side[:, : len(one)] @ one for side, one in zip(checked, weights, strict=True)]
        return float(np.mean([rank_own(x, y).places.mean() for x, y in permutations(views, 2)]))

    most = min(side.shape[1] for side in seen)
    ways = [correlate(seen, rank) for rank in sorted({min(rank, most) for rank in RANKS})]
    return [
        (White(white.middle, white.turn[:, : len(weight)]), weight)
        for white, weight in zip(whites, min(ways, key=mean_rank), strict=True)
    ]


def whiten(space: Space, train: Rows, *, offset: bool = True) -> White:
    """Return white coordinates over the training stimuli; no axis that is rounding alone.

    offset: False for coordinates that need no middle, orthogonal to the mean. Raises MetricError if
    the stimuli lie on one line.
    """
    seen = space[train]
    middle = seen.mean(axis=0, dtype=np.float64)
    unit = middle / (np.linalg.norm(middle) or 1)
    if not offset:
        seen = (seen - np.outer(seen @ unit, unit)).astype(space.dtype)
    basis = span(center(seen))
    length = float(np.abs(seen).max())  # the unit of `center`
    turn = basis.axes.T / basis.sizes * (len(seen) ** 0.5 / length)
    if offset:
        return White(middle, turn)
    return White(np.zeros_like(middle), turn - np.outer(unit, unit @ turn))


def correlate(
    sides: Sequence[Float64[np.ndarray, "n _"]], rank: int
) -> list[Float64[np.ndarray, "_ _"]]:
    """Return the weights of each side's first `rank` white coordinates that give the canonical
    variates of all sides, times their correlations to the power POWER.

    Of two sides these are Hotelling's; of more, the variates whose sum varies most (MAXVAR), whose
    correlation is the mean over pairs. Source: Kettenring 1971; weights after Gong, Ke, Isard,
    Lazebnik 2014.
    """
    kept = [side[:, :rank] for side in sides]
    joint = np.hstack(kept)
    values, vectors = np.linalg.eigh(joint.T @ joint / len(joint))
    shared = (values[::-1][:rank] - 1) / (len(sides) - 1)
    weights = vectors[:, ::-1][:, :rank] * shared.clip(min=0) ** POWER
    return np.split(weights, np.cumsum([side.shape[1] for side in kept])[:-1])
