"""Levels that follow from several captions: which text each gives, and what is said where there is
none.
"""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import StimuliError
from core.stimuli.captions import offered_levels, texts_at

CAPTIONS = pd.DataFrame(
    [
        (0, "0", "a dog"),
        (0, "1", "one brown dog"),
        (0, "2", "the old dog!!"),
        (1, "0", "a cat sits here"),
        (1, "2", "cat"),
    ],
    columns=["index", "level", "text"],
)
OWN, IDS = ("0", "1", "2"), ["x", "y"]


def read(level: str, own=OWN):
    return texts_at(CAPTIONS, level, own=own, stimuli=IDS)


def test_each_level_gives_its_texts():
    assert read("0") == [("a dog",), ("a cat sits here",)]
    assert read("longest") == [
        ("one brown dog",),
        ("a cat sits here",),
    ]  # the first of two that are 13 characters long
    assert read("concatenated") == [
        ("a dog one brown dog the old dog!!",),
        ("a cat sits here cat",),
    ]
    assert read("mean") == [("a dog", "one brown dog", "the old dog!!"), ("a cat sits here", "cat")]


def test_a_level_of_the_datasets_own_wins():
    captions = CAPTIONS.assign(level=CAPTIONS["level"].replace("0", "mean"))
    assert texts_at(captions, "mean", own=("mean", "1", "2"), stimuli=IDS) == [
        ("a dog",),
        ("a cat sits here",),
    ]
    assert offered_levels(("mean", "1")) == ("mean", "1", "longest", "concatenated")


def test_missing_captions_are_named():
    with pytest.raises(
        StimuliError,
        match=r"1 of 2 stimuli have no caption of level '1': 'y'; add them, or .* of: 0, 1, 2",
    ):
        read("1")
