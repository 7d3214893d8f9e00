"""Exams of a few items, also in the processes that a suite starts."""

from __future__ import annotations

from typing import Any

from core.competence import suite
from core.stimuli.cave import exams
from core.store import ModelEntry

ALL_ITEMS = exams.items


def few_items(exam: str) -> list[Any]:
    return list(ALL_ITEMS(exam)[:8])


class AskingLittle(suite._Measuring):
    """Measures a model, in whichever process, by few items."""

    def __call__(self, entry: ModelEntry) -> list[dict[str, Any]]:
        exams.items = few_items
        return super().__call__(entry)
