"""The page Reading across: maps that are trained as a job, and probes that are swapped at once."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest

from core.questions.asking import ask
from core.questions.prefix.question import PrefixBits, PrefixPair, WithoutImage
from core.store import Store
from core.study.study import Study
from pages._shared import runner
from tests.pages.seen import charts, said
from tests.questions.answers import answer_by

PAGE = "transfer/prefixes"
PAIR = {"x": ["gpt-2-m"], "y": ["vit-mae-m", "vit-clip-m"]}
SWAPPED = {"models": ["gpt-2-m", "vit-clip-m"]}


@pytest.fixture
def store(tmp_path, small):
    return shutil.copytree(small(40), tmp_path / "store")


@pytest.mark.slow
def test_it_offers_to_train_maps_and_swaps_probes_at_once(opened, store, monkeypatch):
    app = opened(store, PAGE)
    assert not app.exception
    assert app.button(key="queue-prefix-bits").label == "Train the maps"
    assert app.code[0].value.startswith("platoscope prefix bits")
    monkeypatch.setattr(runner, "LONGEST_WAIT", float("inf"))
    app = opened(store, "transfer/probes", **SWAPPED)
    assert not app.exception
    assert not said(app)
    assert charts(app) == ["swapped", "told", "other"]


def test_maps_that_were_trained_are_drawn(opened, store, monkeypatch):
    for kind, make in ((PrefixPair, fake_pair), (WithoutImage, fake_without)):
        answer_by(monkeypatch, kind, make)
    monkeypatch.setattr("core.questions.prefix.question.reopen", lambda *_: None)
    ask(PrefixBits(x=tuple(PAIR["x"]), y=tuple(PAIR["y"])), Study(Store(store), "cave"))
    app = opened(store, PAGE, **PAIR)
    assert not app.exception
    assert charts(app) == ["bits", "saved"]
    words = " ".join(text.value for text in app.markdown).replace("\\", "")
    assert "It saves bits in 2 of 2 pairs" in words


def fake_pair(question, study):
    rows = fake_without(question, study)
    skill = 8 if question.y == "vit-clip-m" else 4
    own = rows["without"] - skill + np.random.default_rng(skill).random(len(rows))
    costs = {"own": own, "other": rows["without"] + 2}
    return rows.drop(columns="without").assign(**costs, tokens=4)


def fake_without(question, study):
    noise = np.random.default_rng(len(question.x)).random((question.lessons.seeds, study.size))
    tables = [
        {"training": training, "index": np.arange(study.size), "without": 60 + each}
        for training, each in enumerate(noise)
    ]
    return pd.concat(map(pd.DataFrame, tables)).assign(bytes=100)
