"""Templates filled from a row of a table, the same in hover cards, headings and findings.

    alignment {score:.3f}[[, chance {chance:.3f}]]     what is in [[ ]] needs all of its values
    change {rise:+.3f}, {p:p} || {reason:wrap}         the first alternative that has all its values
    {pairs:pair|pairs} of {models:count} models        1 pair of 41k models

Formats are Python's, `count`, `p` or `p:q`, `time`, `small`, `title` (a capital first), `words` (no
underscores), `wrap` or `wrap:24`, and `one|many`. A value that is NaN, None, "" or absent reads
"—".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from numbers import Real
from string import Formatter
from typing import Any

import pandas as pd

from core.figures.numbers import count_text, counted, paper_p, small_text, time_text
from core.figures.theme import hover_card, plain, wrap

Row = Mapping[Hashable, Any]
Template = str | Callable[[Row], str]  # a function returns finished text, which is escaped

_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "count": count_text,
    "time": time_text,
    "small": small_text,
    "title": lambda value: f"{str(value)[:1].upper()}{str(value)[1:]}",
    "words": lambda value: str(value).replace("_", " "),
}
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)


def fill(template: Template, row: Row, *, escape: bool = True) -> str:
    """Return a template with a row's values; "" if it has fields and all of them are missing.

    escape: whether the values, not the template, are escaped for a Plotly label.

    >>> fill("ρ = {rho:.2f} [{low:.2f}, {high:.2f}], {p:p}",
    ...      {"rho": -0.77, "low": -1, "high": 0.181, "p": 0.016})
    'ρ = −0.77 [−1.00, 0.18], p = .016'
    >>> fill("{score:.1%}[[, chance {chance:.1%}]] || {reason}", {"score": 0.5, "reason": ""})
    '50.0%'
    """
    if callable(template):
        return template(row)
    alternatives = template.split("||")
    for text in alternatives[:-1]:
        if all(has(row, name) for name in _names(_OPTIONAL.sub("", text))):
            return _filled(text.strip(), row, escape)
    text = alternatives[-1].strip()
    names = _names(text)
    return "" if names and not any(has(row, name) for name in names) else _filled(text, row, escape)


def fill_card(lines: Iterable[Template], ids: Template, row: Row) -> str:
    """Return a hover card; a line of which all values are missing is left out."""
    filled = filter(None, [fill(line, row) for line in lines])
    return hover_card(*filled, ids=fill(ids, row, escape=False)) if ids else "<br>".join(filled)


def has(row: Row, name: str) -> bool:
    """Return whether a row has a value of this name."""
    value = row.get(name)
    return not (value is None or value is pd.NA or value != value) and value != ""


def number_text(value: Any, form: str) -> str:
    """Return a value in a format of this module, not escaped; a missing one is an em dash.

    >>> number_text(-0.0312, "+.2f"), number_text(0.0312, "p:q"), number_text(2, "pair|pairs")
    ('−0.03', 'q = .031', '2 pairs')
    """
    if value is None or value is pd.NA or value != value:
        return "—"
    kind, _, more = form.partition(":")
    if kind in _FORMATS:
        return _FORMATS[kind](value)
    if kind == "p":
        return paper_p(value, more or "p")
    if kind == "wrap":
        return wrap(str(value), int(more or 34))
    if "|" in form:
        return counted(value, *form.split("|"))
    if isinstance(value, float) and math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = format(value, form)
    return text.replace("-", "−") if isinstance(value, Real) else text


def _filled(text: str, row: Row, escape: bool) -> str:
    kept = _OPTIONAL.sub(
        lambda part: part[1] if all(has(row, name) for name in _names(part[1])) else "", text
    )
    words = []
    for literal, name, form in _parsed(kept):
        words.append(literal)
        if name is not None and not has(row, name):
            words.append("—")
        elif name is not None:
            value = row[name]
            plain_value = plain(value) if escape and not isinstance(value, Real) else value
            words.append(number_text(plain_value, form))
    return "".join(words)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[tuple[str, str | None, str], ...]:
    return tuple((literal, name, form or "") for literal, name, form, _ in Formatter().parse(text))


def _names(text: str) -> list[str]:
    return [name for _, name, _ in _parsed(text) if name is not None]
