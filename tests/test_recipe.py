"""A recipe is named by its content alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.recipe import Recipe

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abcdef"), plain, max_size=4))
def test_choices_come_back_as_they_were(choices: dict[str, object]) -> None:
    assert Recipe.of("alignment", **choices).choices == choices


def test_order_of_choices_does_not_matter() -> None:
    assert Recipe.of("x", a=1, b=[2]).digest == Recipe.of("x", b=[2], a=1).digest


def test_kind_and_every_choice_do_matter() -> None:
    digests = {
        Recipe.of("x", k=10).digest,
        Recipe.of("y", k=10).digest,
        Recipe.of("x", k=11).digest,
        Recipe.of("x", k="10").digest,
    }
    assert len(digests) == 4
    assert all(len(digest) == 16 for digest in digests)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        Recipe.of("x", value=math.nan)
