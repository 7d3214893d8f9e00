"""Errors name what is near, and every one of them can be shown as a sentence."""

from __future__ import annotations

import re

from core import errors
from core.errors import PlatoscopeError, UnknownNameError


def test_unknown_name_lists_the_nearest() -> None:
    assert str(
        UnknownNameError("model", "vit-smal", ["vit-small", "gpt2", "vit-large"])
    ).startswith("no model named 'vit-smal'; did you mean vit-small or vit-large")


def test_unknown_name_without_a_near_one_lists_what_there_is() -> None:
    assert (
        str(UnknownNameError("metric", "zzz", ["cka", "rsa"]))
        == "no metric named 'zzz'; there are: cka, rsa"
    )


def test_unknown_name_lists_at_most_twelve() -> None:
    message = str(UnknownNameError("layer", "zzz", [f"{i:02d}" for i in range(20)]))
    assert message.endswith("11 …")


def test_unknown_name_where_nothing_is() -> None:
    assert (
        str(UnknownNameError("dataset", "cave", []))
        == "no dataset named 'cave'; there are none yet"
    )


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, PlatoscopeError)
    }
    assert set(re.findall(r"\b\w+Error\b", errors.__doc__ or "")) == defined
