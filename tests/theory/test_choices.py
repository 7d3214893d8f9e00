"""What the commands of the theory offer is what there is to run."""

from __future__ import annotations

import pytest

from core.options import options_of
from core.theory.contrastive import setups
from core.theory.contrastive.learners import LOSSES
from core.theory.contrastive.question import Contrastive
from core.theory.contrastive.world import KINDS
from core.theory.deep_linear import presets
from core.theory.deep_linear.breaking.breakers import BREAKERS
from core.theory.deep_linear.question import DeepLinear, Matrices


@pytest.mark.parametrize(
    ("kind", "option", "names"),
    [
        (Contrastive, "preset", setups.PRESETS),
        (Contrastive, "world", KINDS),
        (Contrastive, "loss", LOSSES),
        (DeepLinear, "preset", [*presets.PRESETS, *BREAKERS]),
        (Matrices, "preset", ["theorem-1", "sgd"]),
    ],
)
def test_every_name_is_offered_in_order(kind, option, names) -> None:
    (choices,) = (one.choices for one in options_of(kind) if one.name == option)
    assert choices == tuple(names)
