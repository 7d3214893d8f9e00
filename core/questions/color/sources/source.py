"""What every source of dissimilarities of colors can do."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from core.questions.color.geometry.dissimilarities import Dissimilarities
from core.study.study import Study


@runtime_checkable  # tests check arguments against it
class Source(Protocol):
    """What says how unlike colors are: frozen data that `gather` turns into dissimilarities."""

    @property
    def title(self) -> str:
        """Return what tables call the source."""

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        """Return the dissimilarities. survey: the one that says which color a word means."""
