"""Values near 1 in words: how far from it, and where that is rounding alone."""

from __future__ import annotations

from core.figures.numbers import small_text

ROUNDING = 1e-12  # of a CKA or an R²


def near_one(value: float) -> str:
    """Return a value with as many digits as its distance from 1 needs; 1 is what rounding alone
    keeps from it.
    """
    if not abs(1 - value) <= 1e-3:
        return f"{value:.3f}"
    if abs(1 - value) <= ROUNDING:
        return "1"
    return f"1 {'−' if value < 1 else '+'} {small_text(abs(1 - value), 1)}"
