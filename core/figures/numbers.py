"""Numbers as people read them, the same in sentences, hover cards and headings."""

from __future__ import annotations

import math


def count_text(number: float | int | None) -> str:
    """Return a count for people: 950, 41k, 1.3M; an em dash where unknown."""
    if number is None or math.isnan(number):
        return "—"
    for step, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= step:
            return f"{number / step:.3g}{unit}"
    return f"{number:.0f}"


def paper_p(p: float, name: str = "p") -> str:
    """Return a p-value as papers print it.

    >>> paper_p(0.0164), paper_p(0.2, "q"), paper_p(1e-9), paper_p(1)
    ('p = .016', 'q = .20', 'p < .001', 'p = 1')
    """
    if p < 0.001:
        return f"{name} < .001"
    digits = 3 if p < 0.1 else 2
    text = f"{p:.{digits}f}"
    return f"{name} = {text[1:] if text.startswith('0') else '1'}"


def small_text(number: object, digits: int = 2) -> str:
    """Return a small number for people: 0.012, 4.8 × 10⁻⁶, 10⁻⁹; no line breaks within."""
    mantissa, _, power = f"{number:.{digits}g}".partition("e")
    if not power:
        return mantissa
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if mantissa == "1" else f"{mantissa}\u202f×\u202f10{raised}"


def counted(number: object, one: str, many: str) -> str:
    """Return how many there are of something, with its word.

    >>> counted(1, "pass", "passes"), counted(1500, "pass", "passes")
    ('1 pass', '1,500 passes')
    """
    return f"{number:,.0f} {one if number == 1 else many}"


def time_text(seconds: float | None) -> str:
    """Return a duration for people; an em dash where unknown.

    >>> time_text(4.6), time_text(75), time_text(5400), time_text(None)
    ('4.6 s', '75 s', '1 h 30 min', '—')
    """
    if seconds is None or math.isnan(seconds):
        return "—"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
