"""A word is the mean over its sentences, of the layers that were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from core.encoders.encoder import Encoding, ModelCard
from core.errors import InputError
from core.questions.color import sources
from core.questions.color.sources import (
    LAST_FOUR,
    PRESETS,
    read_layers,
    represent,
)


class Spelling:
    """Encodes a text as its length and its number of e's, times the layer; each layer is one wider
    than the last.
    """

    device = "cpu"
    recipe: Mapping[str, object] = {}

    def __init__(self, depth: int = 5) -> None:
        names = ("embedding", *(f"block {i}" for i in range(1, depth)))
        self.card = ModelCard(
            "spelling", "Spelling", "language", "hf:spelling", "S", "language", 1, "w", names
        )

    def encode(self, items: Sequence[str]) -> Encoding:
        base = np.array([[len(item), item.count("e")] for item in items], np.float32)
        return Encoding(
            tuple(
                np.pad(base * layer, ((0, 0), (0, layer))) for layer in range(len(self.card.layers))
            )
        )


@pytest.fixture(autouse=True)
def _sentences(monkeypatch):
    monkeypatch.setattr(sources, "SENTENCES", ("a <col>", "<col> <col> be"))


def test_the_mean_over_sentences_of_the_last_layer():
    vectors = represent(Spelling(2), ["red", "teal"])
    assert vectors == pytest.approx(
        np.array([[(5 + 10) / 2, (1 + 3) / 2, 0], [(6 + 12) / 2, (1 + 3) / 2, 0]])
    )


def test_four_layers_stand_side_by_side():
    vectors = represent(Spelling(5), ["red"], layer=LAST_FOUR)
    assert vectors.tolist() == [
        [7.5, 2, 0, 15, 4, 0, 0, 22.5, 6, 0, 0, 0, 30, 8, 0, 0, 0, 0],
    ]


def test_a_layer_by_name_and_by_number():
    for layer in ("block 2", "2"):
        assert represent(Spelling(5), ["red"], layer=layer).tolist() == [[15, 4, 0, 0]]
    assert read_layers(Spelling(5).card, "last") == [4]


def test_presets_read_as_the_paper_did():
    assert PRESETS["roberta"].layer == LAST_FOUR
    assert (PRESETS["roberta"].pooling, PRESETS["simcse"].pooling) == ("mean", "first")


def test_four_layers_of_three_are_refused():
    with pytest.raises(InputError, match="spelling has 3 layers; choose 'last'"):
        represent(Spelling(3), ["red"], layer=LAST_FOUR)
