"""A store that an earlier version made opens: embeddings are kept, answers are computed again."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from core.questions.asking import answer, recall
from core.questions.models.pairs import ModelPairs
from core.store import Store
from core.store.files import read_frame
from core.study.parts import Comparison
from core.study.study import Study

# made by commit 05e31421: 12 painted stimuli, four models and reality, two kept answers
OLD = Path(__file__).with_name("store-05e31421.zip")
PAIRS = ModelPairs(comparison=Comparison(k=3))


def test_a_store_of_an_earlier_version_keeps_its_embeddings_and_answers_afresh(tmp_path: Path):
    with zipfile.ZipFile(OLD) as file:
        file.extractall(tmp_path)
    store = Store(tmp_path)
    assert all("is a result of an earlier version" in one for one in store.problems())
    names = [entry.card.name for entry in store.models("cave")]
    assert names == ["gpt-2-m", "gpt-2-s", "reality", "vit-clip-m", "vit-clip-s"]
    assert np.isfinite(store.space("cave", "gpt-2-m", 3)).all()
    study = Study(store, "cave")
    assert recall(PAIRS, study) is None
    tables = [read_frame(path) for path in (tmp_path / "results" / "cave").glob("answer-*.duckdb")]
    old = max(tables, key=len)  # the other is of the finished models alone
    new = answer(PAIRS, study)
    pd.testing.assert_frame_equal(new.table, old)
    assert f"embedding:cave:{names[0]}" in new.reads
    assert recall(PAIRS, Study(store, "cave")) is not None
