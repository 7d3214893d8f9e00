"""Rows of a table as plain data, for figures that cut them into many small parts: of a table, each
part would cost more than what is drawn of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

Row = dict[Hashable, Any]


def grouped(rows: Iterable[Row], *names: str) -> list[list[Row]]:
    """Return the rows that have the same values under these names, together, in the order in which
    each group begins.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(groups.values())


def column(rows: Iterable[Row], name: str) -> list[Any]:
    """Return what the rows hold under a name."""
    return [row[name] for row in rows]
