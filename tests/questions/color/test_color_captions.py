"""Color words are counted where they stand in one caption."""

from __future__ import annotations

from core.questions.color.counts import count_together, find_words

WORDS = ("red", "blue", "teal")


def test_whole_words_in_any_case_and_as_often_as_they_occur():
    assert find_words("A Red car, a blue-red hat; colored, bluebell.", WORDS) == [0, 1, 0]


def test_counts_by_hand():
    captions = ["a red car and a teal car", "red, red and blue", "teal alone", ""]
    assert count_together(captions, WORDS).tolist() == [[2, 2, 1], [2, 0, 0], [1, 0, 0]]
