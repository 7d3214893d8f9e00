"""Errors name what is near, and every one of them can be shown as a sentence."""

from __future__ import annotations

from core.errors import UnknownNameError


def test_unknown_name_lists_the_nearest() -> None:
    assert str(
        UnknownNameError("model", "vit-smal", ["vit-small", "gpt2", "vit-large"])
    ).startswith("no model named 'vit-smal'; did you mean vit-small or vit-large")


def test_unknown_name_without_a_near_one_lists_what_there_is() -> None:
    assert (
        str(UnknownNameError("metric", "zzz", ["cka", "rsa"]))
        == "no metric named 'zzz'; there are: cka, rsa"
    )
