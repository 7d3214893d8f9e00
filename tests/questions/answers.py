"""Other answers in the place of a question's own, for one test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from core.questions.question import Answer, Question


def answer_by(
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Question],
    make: Callable[[Any, Any, Any], pd.DataFrame],
    *,
    kept: bool = True,
) -> None:
    """Let a question be answered by `make`, of question and study."""

    def answer(self: Question, study: Any) -> Answer:
        return Answer(make(self, study))

    monkeypatch.setattr(kind, "answer", answer)
    monkeypatch.setattr(kind, "is_kept", lambda _: kept)
