"""What the commands of the theory offer is what there is to run."""

from __future__ import annotations

import pytest

from core.errors import UnknownNameError
from core.options import options_of
from core.questions.words import from_query
from core.theory.contrastive import setups
from core.theory.contrastive.learners import LOSSES
from core.theory.contrastive.question import Contrastive
from core.theory.contrastive.world import KINDS
from core.theory.deep_linear import presets
from core.theory.deep_linear.breakers import BREAKERS
from core.theory.deep_linear.question import DeepLinear


@pytest.mark.parametrize(
    ("kind", "option", "names"),
    [
        (Contrastive, "preset", setups.PRESETS),
        (Contrastive, "world", KINDS),
        (Contrastive, "loss", LOSSES),
        (DeepLinear, "preset", [*presets.PRESETS, *BREAKERS]),
    ],
)
def test_every_name_is_offered_in_order(kind, option, names) -> None:
    (choices,) = (one.choices for one in options_of(kind) if one.name == option)
    assert choices == tuple(names)


@pytest.mark.parametrize(
    ("kind", "query", "right"),
    [
        (Contrastive, {"preset": "info"}, "infonce"),
        (Contrastive, {"world": "rings"}, "ring"),
        (DeepLinear, {"preset": "theorem"}, "theorem-1"),
    ],
)
def test_another_name_in_an_address_is_refused(kind, query, right) -> None:
    ((option, name),) = query.items()
    with pytest.raises(UnknownNameError, match=f"no {option} named '{name}'; did you mean {right}"):
        from_query(kind, query)
