"""Datasets of images, texts or ids alone: pages that need no more draw, the others say what
they need.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.embedding.features import import_features
from core.encoders.measured import Content
from core.stimuli.addition import Addition, open_addition
from core.stimuli.dataset import DatasetCard
from core.store import Store, add_dataset
from tests.pages.seen import charts, said, tiles
from tests.pages.world import LANGUAGE, LEVELS, VISION, PaintedDataset, build

NEEDS = "This dataset has only images, and the question needs captions."
CAPTION = "a crimson disk above the city"
NEEDS_IMAGES = "This dataset has only texts, and the question needs images."


class Pictures(PaintedDataset):
    """Painted stimuli without captions."""

    @property
    def card(self) -> DatasetCard:
        kind = {"kind": "folder", "folder": "/pictures", "table": "", "skip_broken": False}
        return DatasetCard("pictures", "Pictures", f"painted-{self.size}", kind, (), self.size)

    @property
    def captions(self) -> pd.DataFrame:
        empty = pd.DataFrame({"index": [], "level": [], "text": []})
        return empty.astype({"index": "int64", "level": "str", "text": "str"})


class Words(PaintedDataset):
    """Captions of painted stimuli without the pictures."""

    @property
    def card(self) -> DatasetCard:
        kind = {"kind": "folder", "folder": "/words", "table": "t.csv", "skip_broken": False}
        more = {"texts_only": True}
        return DatasetCard("words", "Words", "words-1", kind | more, LEVELS, self.size, False)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("words")
    return build(store, Words(20), vision=(), language=LANGUAGE[:3], reality=False)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("pictures")
    return build(store, Pictures(20), vision=VISION[:3], language=(), reality=False)


def test_a_page_that_needs_no_caption_draws(opened, pictures: Path):
    app = opened(pictures, "images/explore", map="pca")
    assert not app.exception
    assert NEEDS not in said(app)


def test_what_needs_captions_is_not_offered(opened, pictures: Path):
    app = opened(pictures, "images/language")
    assert not app.exception
    assert "no tab named 'language'" in said(app)


def test_texts_stand_where_pictures_would_be(opened, words: Path):
    app = opened(words, "images/explore", map="gallery")
    assert not app.exception
    assert NEEDS_IMAGES not in said(app)
    first = next(one for one in tiles(app, "all") if one["index"] == 0)
    assert (first["image"], first["caption"]) == ("", f"{CAPTION}, event 0, still, still")


def test_a_text_is_opened_without_a_picture(opened, words: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages._parts.images.opened._draw_neighbors", lambda *_: None)
    app = opened(words, "images/explore", stimulus="0")
    assert not app.exception
    assert not app.get("imgs")
    assert sum(CAPTION in text.value for text in app.text) == len(LEVELS)


def test_ids_stand_where_there_is_nothing_else(opened, tmp_path: Path):
    n, dice = 30, np.random.default_rng(0)
    (tmp_path / "ids.txt").write_text("\n".join(f"stim{at}" for at in range(n)))
    store = tmp_path / "store"
    add_dataset(store, open_addition(Addition("mine", ids=str(tmp_path / "ids.txt"))))
    for name, kind in [*((f"v{at}", "vision") for at in range(4)), ("l", "language")]:
        content = Content([dice.normal(size=(n, 4)).astype(np.float32)])
        card = Store(store).dataset("mine")
        import_features(store, card, content, name=name, modality=kind)
    first = tiles(opened(store, "images/explore", view="gallery"), "all")[0]
    assert (first["image"], first["caption"]) == ("", f"stim{first['index']}")
    app = opened(store, "overview")
    assert not app.exception
    assert "30 stimuli" in said(app) + " ".join(one.value for one in app.caption)
    app = opened(store, "images/language")
    assert {"effect", "predictors"} <= set(charts(app)) or "50 of them" in said(app)
