"""What an embedding will take is told from what others took, or not at all."""

from __future__ import annotations

import pytest

from core.embedding.forecast import Measured, measured, room_for, seconds_for
from core.store import Store
from core.store.editing import embedding_size
from tests.pages.world import SMALL, PaintedDataset, build

LIKE = [
    Measured("vision", "cuda:0", 1_000, 1.0),
    Measured("vision", "cpu", 1_000, 2.0),
    Measured("vision", "cpu", 2_000, 4.0),
    Measured("vision", "cpu", 50_000, 9.0),
    Measured("language", "cpu", 1_000, 7.0),
]


@pytest.mark.parametrize(
    ("parameters", "modality", "device", "seconds"),
    [
        (1_000, "vision", "cpu", 3.0 * 1_000 * 10),  # the median of two
        (250, "vision", "cpu", 2.0 * 250 * 10),  # the first alone is similar
        (249, "vision", "cpu", None),
        (1_000, "vision", "auto", None),  # a device must be known
        (1_000, "vision", "cuda:0", 1.0 * 1_000 * 10),
        (1_000, "vision", "cuda", 1.0 * 1_000 * 10),
        (1_000, "vision", "mps", None),
        (1_000, "audio", "cpu", None),
        (None, "vision", "cpu", None),
    ],
)
def test_time_follows_from_similar_models_alone(parameters, modality, device, seconds):
    assert seconds_for(parameters, 10, LIKE, modality=modality, device=device) == seconds


def test_an_empty_store_tells_no_time():
    assert seconds_for(1_000, 10, [], modality="vision", device="cpu") is None


def test_imported_features_have_no_time_and_others_have_theirs(tmp_path):
    store = Store(build(tmp_path, PaintedDataset(20), **SMALL))
    entries = store.models("cave")
    timed = measured(entries, 20)
    assert len(timed) == len(entries) - 1  # reality was not computed
    assert timed[0].rate * 20 * timed[0].parameters == pytest.approx(0.1)
    assert measured(entries, 0) == []


def test_room_is_that_of_whole_blocks():
    assert room_for((), 1_000) is None
    assert room_for((1,), 1) == 1 << 18
    assert room_for((96,) * 5, 1024) == 5 * (2 << 18)


def test_an_embedding_takes_about_the_room_that_was_told(tmp_path):
    build(tmp_path, PaintedDataset(600), vision=SMALL["vision"][:1], language=(), reality=False)
    (entry,) = Store(tmp_path).models("cave")
    size = embedding_size(tmp_path, "cave", entry.card.name)
    assert room_for(entry.dims, 600) <= size <= room_for(entry.dims, 600) + (1 << 20)
