"""Adapters as plain matrices, how they are trained, and which stimuli may teach them. Nothing here
needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import get_args

import numpy as np
from jaxtyping import Float, Float32, Int64

from core.errors import FeatureError, InputError
from core.questions.adapters.parts import LEAST, WIDEST, Direction, Fitting, Products, Start
from core.spaces.preprocess import normalize_rows

SHARES = (4, 8)  # one in four stimuli is a test, one in eight validates,
MOST = (
    1024,
    512,
)  # but no more than these: every interval measures halves of the test hundreds of times
FEWEST = 32  # stimuli; of fewer, validation would be three or less


@dataclass(frozen=True)
class Parts:
    """Which stimuli teach adapters, tell when to stop, and measure them; no stimulus is in two
    parts.
    """

    train: Int64[np.ndarray, "_"]
    validation: Int64[np.ndarray, "_"]
    test: Int64[np.ndarray, "_"]


def split(n: int, *, pairs: int | None = None, seed: int = 0, draw: int = 0) -> Parts:
    """Draw the parts of n stimuli: a quarter test, the same for every `draw`; an eighth validate;
    of the others `pairs` train.

    No more than MOST test and validate. pairs: all others where None; of one draw the smaller set
    lies within the larger. Raises InputError for fewer than FEWEST stimuli and for pairs
    outside LEAST … what is left.
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
class Settings(Fitting):
    """How adapters are trained: what a question leaves to a person, and what none asks for.

    batch: pairs at a time, at most (one more rather than a pair by itself). rate, decay: of AdamW.
    epochs: passes over the training pairs, at most. patience: passes without better adapters
    after which training stops. Raises InputError for what no training can follow.
    """

    batch: int = 256
    rate: float = 1e-3
    decay: float = 0.1
    epochs: int = 200
    patience: int = 30

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("batch", 2), ("epochs", 1), ("patience", 1)):
            if not (isinstance(getattr(self, name), int) and getattr(self, name) >= least):
                raise InputError(
                    f"adapters need a whole number of {least} or more for {name}; got"
                    f" {getattr(self, name)}"
                )
        if self.width > WIDEST:
            raise InputError(
                f"adapters take a common space of {WIDEST} dimensions at most; got a width of"
                f" {self.width}"
            )
        for name, words in (
            ("start", get_args(Start)),
            ("direction", get_args(Direction)),
            ("products", get_args(Products)),
            ("offset", (True, False)),
        ):
            if getattr(self, name) not in words:
                raise InputError(
                    f"adapters need one of {', '.join(map(str, words))} for {name}; got"
                    f" {getattr(self, name)!r}"
                )
        for name in ("temperature", "rate"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(
                    f"adapters need a finite {name} above 0; got {getattr(self, name)}"
                )
        if not 0 <= self.decay < inf:
            raise InputError(f"adapters need a finite decay, 0 or more; got {self.decay}")


DEFAULTS = Settings()


def settings_of(fitting: Fitting) -> Settings:
    """Return how adapters are trained; raises InputError for what no training can follow."""
    return Settings(**asdict(fitting))


@dataclass(frozen=True)
class Adapter:
    """A linear map of one encoder's vectors into the common space: x ↦ x · weight + offset."""

    weight: Float32[np.ndarray, "d width"]
    offset: Float32[np.ndarray, "width"]


@dataclass(frozen=True)
class Adapters:
    """One adapter per encoder, by name, the temperature that they were trained at (or learned), and
    which products of theirs are compared.
    """

    maps: Mapping[str, Adapter]
    temperature: float
    products: Products = "cosine"

    @property
    def width(self) -> int:
        """Return the dimensions of the common space."""
        width: int = next(iter(self.maps.values())).weight.shape[1]
        return width

    def apply(
        self, spaces: Mapping[str, Float[np.ndarray, "n _"]]
    ) -> dict[str, Float32[np.ndarray, "n width"]]:
        """Bring each encoder's vectors into the common space, as the loss compares them: with rows
        of length 1 unless products are raw.

        Raises FeatureError for an encoder without adapter or of another width, and for vectors that
        an adapter maps to zero.
        """
        return {name: self._apply(name, space) for name, space in spaces.items()}

    def _apply(self, name: str, space: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n width"]:
        if name not in self.maps:
            raise FeatureError(
                f"these adapters are of {', '.join(self.maps)}; none is of {name}: train one, or"
                " choose these"
            )
        weight, offset = self.maps[name].weight, self.maps[name].offset
        if len(weight) != space.shape[1]:
            raise FeatureError(
                f"the adapter of {name} takes vectors of {len(weight)} dimensions; got"
                f" {space.shape[1]}: it was trained on another model or layer of that name; train"
                " it again"
            )
        return compared((space @ weight + offset).astype(np.float32), self.products)


def joined(
    adapted: Mapping[str, Float32[np.ndarray, "n width"]], products: Products = "cosine"
) -> Float32[np.ndarray, "n width"]:
    """Return the mean of the encoders' vectors in the common space, as they are compared."""
    return compared(np.mean(list(adapted.values()), axis=0), products)


def compared(space: Float[np.ndarray, "n d"], products: Products) -> Float[np.ndarray, "n d"]:
    """Return vectors whose inner products are the ones compared: of length 1 for cosines."""
    return normalize_rows(space) if products == "cosine" else space
