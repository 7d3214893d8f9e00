"""Two networks before training: of different depths, widths, frozen matrices and views, over one
world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.theory.deep_linear.world import Frame, Matrix, World, draw_weights, make_frame, make_world

WIDTHS = ((6, 7), (5, 9, 8))  # of the hidden layers


@dataclass(frozen=True)
class Net:
    """One network: what it learns from, what surrounds it, its hidden widths and the seed of its
    first weights.
    """

    world: World
    frame: Frame
    widths: tuple[int, ...]
    seed: int

    @property
    def start(self) -> list[Matrix]:
        """Return the weights before training."""
        return draw_weights(self.widths, self.frame, seed=self.seed)


def make_nets(
    *,
    d: int = 5,
    c: int = 5,
    rank: int = 3,
    widths: Sequence[Sequence[int]] = WIDTHS,
    condition: float = 4.0,
    seed: int = 0,
) -> tuple[Net, Net]:
    """Draw a world of d inputs and c labels and two networks in it; condition: of each one's M^I Z.

    Raises InputError for a rank above d or c.
    """
    world = make_world(d=d, c=c, rank=rank, seed=seed)
    first, second = (
        Net(
            world,
            make_frame(world, seed=seed + place, condition=condition),
            tuple(hidden),
            seed + place,
        )
        for place, hidden in enumerate(widths, start=1)
    )
    return first, second
