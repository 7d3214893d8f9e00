"""Recipes: every choice that a number depends on, as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Plain = Mapping[str, Any]  # by name, values that JSON can hold


@dataclass(frozen=True)
class Recipe:
    """The choices behind a number, frozen and hashable by content.

    kind: what is made (`dataset`, `embedding`, `neighbors`, `alignment` …).
    text: the choices as canonical JSON (sorted keys, no spaces).
    """

    kind: str
    text: str

    @classmethod
    def of(cls, kind: str, **choices: Any) -> Recipe:
        """Freeze `choices`; they must be plain JSON values, so that a recipe can be replayed
        anywhere.
        """
        return cls(
            kind, json.dumps(choices, sort_keys=True, separators=(",", ":"), allow_nan=False)
        )

    @cached_property
    def choices(self) -> Plain:
        """Return the choices as plain data."""
        choices: Plain = json.loads(self.text)
        return choices

    @property
    def digest(self) -> str:
        """Return 16 hexadecimal digits that name this recipe."""
        return hashlib.sha256(f"{self.kind}\n{self.text}".encode()).hexdigest()[:16]
