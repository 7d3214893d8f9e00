"""Characters that are obeyed are written out; all others stay."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from core.visible import visible, visible_json

ANY = st.text(st.characters(exclude_categories=()))
TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ANY)
def test_no_character_that_is_obeyed_is_left(text):
    for one in visible(text):
        assert unicodedata.category(one) not in ("Cc", "Cs", "Zl", "Zp") or one in "\t\n"
        assert unicodedata.bidirectional(one) not in TURNS


@given(ANY)
def test_all_other_characters_stay(text):
    kept = [one for one in text if visible(one) == one]
    assert visible("".join(kept)) == "".join(kept)
    assert all(one in kept for one in text if one.isprintable())


def test_letters_from_right_to_left_and_characters_of_no_width_stay():
    text = "שלום مرحبا \u200b\u200d\u200e\ufeff\u00ad é\tå\n"
    assert visible(text) == text


def test_what_is_obeyed_is_written_as_python_and_json_do():
    assert visible("\x1b[1m\x00\r\x9b\u202e\ud800") == r"\x1b[1m\x00\r\x9b\u202e\ud800"
    assert visible_json("\x9b\u2067é") == r"\u009b\u2067é"
