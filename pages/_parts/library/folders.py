"""A folder on the server, as people type or paste its path."""

from __future__ import annotations

import os

from core.errors import InputError, quoted
from core.options import Option
from pages._shared import controls

QUOTES = "'\""  # around a path that was copied from a terminal
LONGEST = 4_000  # characters of a path: systems have none beyond


def pick(one: Option, *, example: str) -> str:
    """Name a folder and return its absolute path; "" for none.

    Raises InputError for a text that can be no path.
    """
    text = controls.pick_text(one, example=example).strip(QUOTES)
    if not text.isprintable() or len(text) > LONGEST:
        raise InputError(f"{quoted(text)} names no folder; expected a path such as {example}")
    return os.path.abspath(os.path.expanduser(text)) if text else ""
