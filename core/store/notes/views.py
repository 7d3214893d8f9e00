"""Saved views: links to pages with everything chosen there, each under a name.

They are one text file of the store, ROOT/views.json, since they belong to the data that they show:
they outlive browser and server, are shared by all who use the store, and can be read, edited and
copied by hand.

    {"NAME": {"link": "/PAGE?KEY=VALUE&…", "saved_at": "ISO 8601, UTC"}, …}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from core.errors import InputError
from core.store.notes.file import PATIENCE, read_file
from core.store.publishing import locked, publish_json
from core.store.schema import now

LONGEST = 80  # characters of a name
_LINK = r"/[a-z-]*(\?\S*)?"

Views = dict[str, "SavedView"]  # by name


@dataclass(frozen=True)
class SavedView:
    """A link to a page of the dashboard under a name; raises InputError for a name that is empty,
    too long or not tidy, and for a link to anywhere else.

    link: path and query. saved_at: ISO 8601, UTC.
    """

    name: str
    link: str
    saved_at: str = field(default_factory=now)

    def __post_init__(self) -> None:
        if not self.name or len(self.name) > LONGEST or self.name != tidy(self.name):
            raise InputError(
                f"a view's name has 1 to {LONGEST} characters on one line, not {self.name[:99]!r}"
            )
        if not is_link(self.link):
            raise InputError(f"a view's link is /PAGE?KEY=VALUE, not {self.link[:99]!r}")
        datetime.fromisoformat(self.saved_at)


def tidy(name: str) -> str:
    """Return a name on one line, without characters that cannot be seen."""
    return " ".join("".join(one if one.isprintable() else " " for one in name).split())


def is_link(text: str) -> bool:
    """Return whether a text is the path and query of a page of the dashboard, and leads nowhere
    else.
    """
    return bool(re.fullmatch(_LINK, text))


def read_views(root: Path) -> list[SavedView]:
    """Return the saved views of a store, the latest first; raises StoreDamagedError."""
    return sorted(_read(_file(root)).values(), key=lambda view: view.saved_at)[::-1]


def save_view(root: Path, view: SavedView, *, over: SavedView | None = None) -> None:
    """Save a view; over: the view of that name whose place it takes.

    Raises InputError where the name has another view by now, StoreDamagedError, StoreWriteError.
    """
    with _editing(root) as views:
        _check(views, view.name, over)
        views[view.name] = view


def remove_view(root: Path, view: SavedView) -> None:
    """Remove a saved view; `save_view` brings it back to its place.

    Raises InputError where another view has its name by now, StoreDamagedError, StoreWriteError.
    """
    with _editing(root) as views:
        _check(views, view.name, view)
        del views[view.name]


@contextmanager
def _editing(root: Path) -> Iterator[Views]:
    """Give the views of a store to one writer at a time, and publish what it makes of them."""
    path = _file(root)
    with locked(path, patience=PATIENCE):
        views = _read(path)
        yield views
        entries = {
            view.name: {"link": view.link, "saved_at": view.saved_at} for view in views.values()
        }
        publish_json(path, entries)


def _check(views: Views, name: str, expected: SavedView | None) -> None:
    """Raise InputError where a name does not have the view that the writer has seen."""
    if views.get(name) == expected:
        return
    if expected is None:
        raise InputError(f"a view is named {name!r} already; take another name, or replace it")
    raise InputError(f"the view {name!r} has been changed meanwhile; look at the list again")


def _file(root: Path) -> Path:
    return Path(root).absolute() / "views.json"


def _read(path: Path) -> Views:
    return read_file(path, _parse, holds="saved views", anew="begin anew") or {}


def _parse(entries: Any) -> Views:
    return {name: SavedView(name, **entry) for name, entry in entries.items()}
