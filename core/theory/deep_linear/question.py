"""What the page and `platoscope theory` ask of deep linear networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from core.options import option, part, seed_option
from core.questions.question import Question

PresetName = Literal[
    "theorem-1",
    "sgd",
    "minima",
    "tanh",
    "relu",
    "limits",
    "hierarchy",
    "weight-decay",
    "gradient-flow",
    "labels",
    "saddle",
    "private-data",
    "edge-of-stability",
    "nonlinear-labels",
    "quiet-labels",
    "unrelated-data",
    "two-saddles",
]
CourseName = Literal["theorem-1", "sgd"]


@dataclass(frozen=True)
class Networks:
    """The world, both networks, and how SGD goes where it trains them."""

    inputs: int = option(5, least=1, most=64, help="inputs of the world")
    labels: int = option(5, least=1, most=64, help="labels of the world")
    rank: int = option(
        3, least=1, most=64, label="Rank of V", help="rank of the map from inputs to labels"
    )
    a: tuple[int, ...] = option(
        (6, 7),
        least=1,
        most=256,
        label="Network a",
        help="widths of the first network's hidden layers",
    )
    b: tuple[int, ...] = option(
        (5, 9, 8),
        least=1,
        most=256,
        label="Network b",
        help="widths of the second network's hidden layers",
    )
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
        help="size of SGD's steps, up to six for limits (those of the preset)",
    )
    batch: int | None = option(
        None,
        least=1,
        most=256,
        help="samples per step of SGD, whose gradients are averaged (the preset's)",
    )
    seed: int = seed_option("seed of the world and of both networks")


@dataclass(frozen=True)
class DeepLinear(Question):
    """Why would two networks come to see the same?

    A preset trains two networks over one world, or breaks the theorem at several strengths.
    """

    command: ClassVar[str] = "theory deep-linear"

    preset: PresetName = option(
        "theorem-1", help="how the networks learn, or what breaks the theorem"
    )
    strength: tuple[float, ...] = option(
        (),
        least=0,
        most=1_000,
        metavar="S",
        label="Strengths",
        help="strengths of what breaks the theorem (those of the preset)",
    )
    networks: Networks = part(Networks)


@dataclass(frozen=True)
class Matrices(Question):
    """What becomes of each matrix while the layers align?"""

    command: ClassVar[str] = "theory matrices"

    preset: CourseName = option("theorem-1", help="how the networks learn")
    networks: Networks = part(Networks)
