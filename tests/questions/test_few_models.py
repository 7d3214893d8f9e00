"""Each question over a store with hardly any models has a table or a reason, never a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from core.errors import PlatoscopeError
from core.questions.asking import ask
from core.store import Store
from core.study.study import Study
from tests.freshness.test_fresh import EVERY, with_few
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, add_dataset, build

Models = Sequence[tuple[str, str, float]]


@pytest.mark.parametrize(
    ("vision", "language"),
    [
        ((), ()),
        pytest.param(VISION[1:2], (), marks=pytest.mark.slow),
        pytest.param((), LANGUAGE[:1], marks=pytest.mark.slow),
        pytest.param(VISION[1:2], LANGUAGE[:1], marks=pytest.mark.slow),
    ],
)
def test_each_question_has_a_table_or_a_reason(
    tmp_path: Path, vision: Models, language: Models
) -> None:
    dataset = PaintedDataset(60)
    add_dataset(root := tmp_path / "store", dataset)
    build(root, dataset, vision=vision, language=language, reality=False)
    study = Study(Store(root), "cave")
    given: dict[str, pd.DataFrame | str] = {}
    for kind in EVERY:
        try:
            given[kind.command] = ask(with_few(kind()), study)
        except PlatoscopeError as error:
            given[kind.command] = str(error)
    tables = sum(isinstance(one, pd.DataFrame) for one in given.values())
    assert len(given) == len(EVERY)
    assert tables >= len(EVERY) / 3  # else hardly anything can be asked
