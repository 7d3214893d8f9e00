"""A dataset of images alone: pages that need no caption draw, the others say what they need."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.errors import StimuliError
from core.stimuli.dataset import DatasetCard, check_captions
from tests.pages.seen import said
from tests.pages.test_pages import assert_calm
from tests.pages.world import VISION, PaintedDataset, build

NEEDS = "This dataset holds images alone, and the question needs captions."


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


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("pictures")
    return build(store, Pictures(20), vision=VISION[:3], language=(), reality=False)


def test_a_page_that_needs_no_caption_draws(opened, pictures: Path):
    app = opened(pictures, "stimuli", map="pca")
    assert_calm(app, "stimuli")
    assert NEEDS not in said(app)


@pytest.mark.parametrize("page", ["alignment", "dispersion"])
def test_a_page_that_needs_captions_says_so(opened, pictures: Path, page: str):
    app = opened(pictures, page)
    assert_calm(app, page)
    assert NEEDS in said(app)


def test_commands_that_need_captions_say_so():
    with pytest.raises(StimuliError, match="'pictures' has images and no captions"):
        check_captions(Pictures(20).card)
