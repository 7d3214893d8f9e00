"""Simulations that the pages hold: each question is simulated once for all visitors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import streamlit as st

from core.options import Option, Range
from core.progress import heard_by
from pages._shared import controls, queries
from pages._shared.address import bind

WIDTHS = Range(1, 32)  # wider ones are drawn too slowly
T = TypeVar("T")


def held(key: Hashable, run: Callable[[], T]) -> T:
    """Return what a run has given before, or run it under a bar of its progress."""
    results: dict[Hashable, T] = queries.computed()
    if key not in results:
        with queries.bar() as report, heard_by(report):
            results[key] = run()
    return results[key]


def pick_numbers(one: Option, start: tuple[float, ...], numbers: Range) -> tuple[float, ...]:
    """Choose up to six numbers, written with commas between them; raises InputError."""
    text = st.text_input(
        one.label,
        help=controls.tip_of(one),
        **bind(one.name, ", ".join(f"{each:g}" for each in start), joint=", "),
    )
    return controls.read_numbers(text, numbers, most=6)
