"""A repository of the hub, and how sentences name what is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from huggingface_hub import constants

from core.errors import shortened

LONGEST = 200  # characters: an id has 96 at most, next to a revision


@dataclass(frozen=True)
class Repository:
    """A repository of the hub. id: owner/name. what: the name that sentences use. instead: the way
    without the hub. revision: the newest commit if None.
    """

    id: str
    what: str
    instead: str
    kind: Literal["model", "dataset"] = "model"
    revision: str | None = None

    @property
    def title(self) -> str:
        return shortened(self.what, LONGEST)

    @property
    def cache(self) -> Path:
        return Path(constants.HF_HUB_CACHE) / "--".join([f"{self.kind}s", *self.id.split("/")])
