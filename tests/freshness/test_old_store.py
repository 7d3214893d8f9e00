"""A store that an earlier version made opens: embeddings are kept, answers are computed again."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from core.questions.asking import answer, recall
from core.questions.kept import list_results
from core.questions.models.pairs import ModelPairs
from core.store import Store
from core.store.writer import convert_results
from core.study.parts import Comparison
from core.study.study import Study

# made by commit 05e31421: 12 painted stimuli, four models and reality, two kept answers
OLD = Path(__file__).with_name("store-05e31421.zip")
PAIRS = ModelPairs(comparison=Comparison(k=3))


def test_a_store_of_an_earlier_version_keeps_its_embeddings_and_answers_afresh(tmp_path: Path):
    with zipfile.ZipFile(OLD) as file:
        file.extractall(tmp_path)
    convert_results(tmp_path)
    store = Store(tmp_path)
    assert store.problems() == []
    names = [entry.card.name for entry in store.models("cave")]
    assert names == ["gpt-2-m", "gpt-2-s", "reality", "vit-clip-m", "vit-clip-s"]
    assert np.isfinite(store.space("cave", "gpt-2-m", 3)).all()
    study = Study(store, "cave")
    states = list_results(study)
    assert set(states.loc[states["holds"] == ModelPairs.title(), "state"]) == {"stale"}
    assert recall(PAIRS, study) is None
    kept = [store.result("cave", name) for name in store.results("cave", "answer-")]
    tables = [found[0] for found in kept if found and found[1].kind == ModelPairs.command]
    old = max(tables, key=len)  # the other is of the finished models alone
    new = answer(PAIRS, study)
    pd.testing.assert_frame_equal(new.table, old)
    assert f"embedding:cave:{names[0]}" in new.reads
    assert recall(PAIRS, Study(store, "cave")) is not None
