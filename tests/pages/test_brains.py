"""Brains and people on the pages: compared where they are named, with their noise ceiling."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.embedding.features import embed_cortex, import_features
from core.encoders.measured import Content
from tests.pages.seen import said
from tests.pages.world import SMALL, PaintedDataset, build


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    root, dataset = tmp_path_factory.mktemp("brains"), PaintedDataset(40)
    build(root, dataset, **SMALL)
    embed_cortex(root, dataset)
    apart = np.abs(dataset.reality[:, None] - dataset.reality[None]).sum(axis=2).astype(np.float32)
    content = Content([apart], "dissimilarities")
    import_features(root, dataset.card, content, name="judges", modality="people")
    return root


def texts(app) -> str:
    said = " ".join(one.value for one in (*app.markdown, *app.caption))
    return said.replace("\\", "")


def test_alignment_draws_the_noise_ceiling_of_brains(opened, store):
    app = opened(store, "trends/across", y=["cortex-1", "cortex-3"], k="5", panels="true")
    assert not app.exception
    assert not said(app)
    trend = json.loads(app.get("plotly_chart")[0].proto.spec)
    heads = [note["text"] for note in trend["layout"]["annotations"]]
    assert any(head.startswith("<b>Brains</b>") for head in heads)
    names = [trace.get("name") for trace in trend["data"]]
    assert names.count("noise ceiling (at least)") == 1
    cards = [card for trace in trend["data"] for card in trace.get("hovertext", [])]
    assert any("noise ceiling at least 0." in card for card in cards)
    (table,) = [one.value for one in app.dataframe if "noise ceiling" in one.value]
    assert table["noise ceiling"].notna().all()
    assert "The noise ceiling is at least 0." in texts(app)
    assert "align more with brains" in texts(app)
