"""A word is the mean over its sentences, of the layers that were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from core.encoders.encoder import Encoding, ModelCard
from core.errors import InputError
from core.questions.color.sources import (
    LAST_FOUR,
    PRESETS,
    SENTENCES,
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


def test_the_mean_over_sentences_of_the_last_layer():
    vectors = represent(Spelling(2), ["red", "teal"], sentences=("a <col>", "<col> <col> be"))
    assert vectors == pytest.approx(
        np.array([[(5 + 10) / 2, (1 + 3) / 2, 0], [(6 + 12) / 2, (1 + 3) / 2, 0]])
    )


def test_the_papers_sentences_are_the_default():
    assert len(SENTENCES) == 3
    expected = np.mean([len(sentence.replace("<col>", "red")) for sentence in SENTENCES])
    assert represent(Spelling(2), ["red"])[0, 0] == pytest.approx(expected)


def test_four_layers_stand_side_by_side():
    vectors = represent(Spelling(5), ["red"], sentences=("<col>",), layer=LAST_FOUR)
    assert vectors.tolist() == [[3, 1, 0, 6, 2, 0, 0, 9, 3, 0, 0, 0, 12, 4, 0, 0, 0, 0]]


def test_a_layer_by_name_and_by_number():
    for layer in ("block 2", 2, "2"):
        assert represent(Spelling(5), ["red"], sentences=("<col>",), layer=layer).tolist() == [
            [6, 2, 0, 0]
        ]
    assert read_layers(Spelling(5).card, "last") == [4]


def test_presets_read_as_the_paper_did():
    assert PRESETS["roberta"].layer == LAST_FOUR
    assert (PRESETS["roberta"].pooling, PRESETS["simcse"].pooling) == ("mean", "first")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sentences": ()}, "at least one sentence expected"),
        (
            {"sentences": ("The color.",)},
            "a sentence has <col> where the color stands; got 'The color.'",
        ),
        ({"layer": LAST_FOUR}, "spelling has 3 layers; choose 'last'"),
    ],
)
def test_what_cannot_be_represented_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        represent(Spelling(3), ["red"], **given)
