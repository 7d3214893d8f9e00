"""What becomes of two networks under a breaker, and how a breaker that changes their worlds trains
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.theory.deep_linear.closed_form import least_entropy
from core.theory.deep_linear.descent.entropic import descend_entropic
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import hidden_maps
from core.theory.deep_linear.world import Matrix

Maps = tuple[list[Matrix], list[Matrix]]


@dataclass(frozen=True)
class Broken:
    """What became of both networks: the maps of their hidden layers, and those that the theory
    predicts, none where it is silent.

    between: second moment of the two networks' inputs. figures: what else was measured, by name.
    """

    trained: Maps
    predicted: Maps | None
    moments: tuple[Matrix, Matrix]
    between: Matrix
    figures: Mapping[str, float] = field(default_factory=dict)


def train_both(a: Net, b: Net) -> Maps:
    """Descend on the entropic loss with both networks; return the maps of their hidden layers."""
    return hidden_maps(descend_to_end(a), a.frame), hidden_maps(descend_to_end(b), b.frame)


def descend_to_end(net: Net) -> list[Matrix]:
    """Return the weights in which descent on the entropic loss ends."""
    *_, end = descend_entropic(net.start, net.frame, net.world)
    return end


def predict(a: Net, b: Net, solve: Callable[..., list[Matrix]] = least_entropy) -> Maps:
    """Return the maps of both networks' hidden layers at the solution that is written down."""
    first, second = (
        hidden_maps(solve(net.world, net.frame, net.widths), net.frame) for net in (a, b)
    )
    return first, second


def same_inputs(net: Net) -> tuple[tuple[Matrix, Matrix], Matrix]:
    """Return the moments of two networks that see the same inputs, and that between them."""
    return (net.world.inputs, net.world.inputs), net.world.inputs
