"""Queries and keys of the models of a study: rows per head, reasons, findings and the figure."""

from __future__ import annotations

import math

import pandas as pd
import pytest
import torch

from core.cave.world import CaveDataset
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder
from core.errors import NotApplicableError, UnknownNameError
from core.questions.asking import answer, ask
from core.questions.models.balance import ModelBalance, find, median
from core.settings import CAVE_WEIGHTS
from core.store import Store
from core.study.study import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    root, dataset = tmp_path_factory.mktemp("store"), CaveDataset(8)
    for name in ("gpt2-xs", "roberta-s"):
        embed(root, dataset, open_encoder(f"hf:{CAVE_WEIGHTS / name}", device=torch.device("cpu")))
    return Study(Store(root), "cave")


def test_every_head_of_every_language_model_has_a_row(study):
    answered = answer(ModelBalance(captions=2), study)
    table = answered.table
    assert set(table["model"]) == {"gpt2-xs", "roberta-s"}
    causal, masked = (table[table["model"] == name] for name in ("gpt2-xs", "roberta-s"))
    assert causal["gradients_alike"].between(-1, 1).all()
    assert masked["gradients_alike"].isna().all()  # it does not predict the next token
    assert masked["weights_alike"].notna().all()
    claims = [one.claim for one in answered.findings]
    assert [claim.split()[0] for claim in claims] == ["Gradients", "Weights", "Weights"]
    assert answered.findings[0].value == pytest.approx(causal["gradients_alike"].median())
    assert median(table)["gpt2-xs"] == answered.findings[0].value
    panels = [note.text for note in ModelBalance().plot(table).draw("light").layout.annotations]
    assert len(panels) == 2
    with pytest.raises(UnknownNameError, match="no language model that can be run named 'gpt3'"):
        ask(ModelBalance(names=("gpt3",)), study)


def test_models_whose_attention_is_not_known_have_a_reason():
    table = pd.DataFrame(
        [{"model": "m", "title": "M", "family": "f", "step": math.nan, "reason": "no"}]
    )
    (said,) = find(table)
    assert said.sentence == "No model has queries and keys that can be read: no."


def test_features_alone_cannot_be_run(study, monkeypatch):
    monkeypatch.setattr("core.questions.models.balance.can_measure", lambda _: False)
    with pytest.raises(NotApplicableError, match="no language model here can be run"):
        ask(ModelBalance(), study)
