"""Exams: an independent reader finds the right ending true and the others false, and nothing
outside the event gives it away.
"""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from core.cave.captions import WORDINGS, describe
from core.cave.events import COLORS, KINDS, KINDS_OF_SCENE, Event, Thing, draw_event, events
from core.cave.exams import SIZES, items
from core.competence.probes import wilson
from core.stimuli.worlds import Choice

pytestmark = pytest.mark.slow

HELD_OUT = list(events("test", 1024))
SHARED = [exam for exam in SIZES if exam != "counting"]  # whose endings return in other items


def means(wording: str, concepts: tuple[str, ...]) -> set[str]:
    return {concept for concept in concepts if wording in WORDINGS[concept]}


def called(noun: str, event: Event) -> list[Thing]:
    return [thing for thing in event.things if noun in WORDINGS[thing.kind]]


def reads_binding(context: str, ending: str, event: Event) -> bool:
    """Find each thing's color in the phrase that names it, whatever its color in the event."""
    told: dict[str, set[str]] = {}
    for phrase in re.split(", | and ", context.rstrip(".")):
        nouns, colors = (
            [word for word in words(phrase) if means(word, concepts)]
            for concepts in (KINDS, COLORS)
        )
        if nouns and colors:
            told[called(nouns[-1], event)[0].kind] = means(colors[-1], COLORS)
    said = re.findall(r" The ([\w-]+) is ([\w-]+)\.", ending)
    assert len(said) == len(told) == 3
    return all(means(color, COLORS) <= told[called(noun, event)[0].kind] for noun, color in said)


def reads_companions(context: str, ending: str, event: Event) -> bool:
    ways = {wording: side for side in ("left", "right") for wording in WORDINGS[f"{side} of"]}
    way = "|".join(sorted(ways, key=len, reverse=True))
    said = re.search(rf" an? ([\w-]+) ({way}) an? ([\w-]+)\.$", context + ending)
    assert said
    one, relation, other = said.groups()
    (placed,) = called(one, event)
    return any(
        placed.x < thing.x if ways[relation] == "left" else placed.x > thing.x
        for thing in called(other, event)
    )


def reads_counting(_: str, ending: str, event: Event) -> bool:
    numbers = {
        wording: total
        for total, word in enumerate(("one", "two", "three", "four"), 1)
        for wording in WORDINGS[word]
    }
    said = re.fullmatch(rf" ({'|'.join(sorted(numbers, key=len, reverse=True))}) \w+\.", ending)
    assert said
    return numbers[said[1]] == len(event.things)


READERS = {"binding": reads_binding, "companions": reads_companions, "counting": reads_counting}


@pytest.mark.parametrize("exam", SIZES)
def test_the_right_ending_is_true_and_the_others_are_false(exam):
    for item in items(exam):
        event = HELD_OUT[item.event]
        read = [READERS[exam](item.context, ending, event) for ending in item.endings]
        assert read == [place == item.answer for place in range(4)]


@pytest.mark.parametrize("exam", SIZES)
def test_every_item_has_four_endings_and_each_place_is_as_often_right(exam):
    asked = items(exam)
    assert len(asked) == SIZES[exam]
    assert all(
        len(set(item.endings)) == 4 and all(ending.startswith(" ") for ending in item.endings)
        for item in asked
    )
    assert set(Counter(item.answer for item in asked).values()) == {len(asked) // 4}
    assert len({(item.context, item.endings) for item in asked}) == len(asked)


@pytest.mark.parametrize("exam", SHARED)
def test_every_ending_is_right_once_in_the_four_items_that_share_it(exam):
    """So whoever scores an ending without its context is right once in four, whatever the score."""
    asked = items(exam)
    for four in (asked[place : place + 4] for place in range(0, len(asked), 4)):
        (shared,) = {frozenset(item.endings) for item in four}
        assert {item.endings[item.answer] for item in four} == shared


def test_wrong_ends_of_companions_belong_to_other_scenes():
    for item in items("companions"):
        event = HELD_OUT[item.event]
        kinds = [means(ending[1:-1].split(" ", 1)[1], KINDS) for ending in item.endings]
        assert all(len(kind) == 1 for kind in kinds)
        assert [kind <= set(KINDS_OF_SCENE[event.scene]) for kind in kinds] == [
            place == item.answer for place in range(4)
        ]


def test_typical_colors_do_not_tell_the_binding():
    """The world's colors by kind, which answered nine in ten items that told things in their own
    colors.
    """
    usual = Counter(
        (thing.kind, thing.color)
        for index in range(2000)
        for thing in draw_event("train", index).things
    )
    right = 0
    for item in items("binding"):
        scores = []
        for ending in item.endings:
            said = re.findall(r"The ([\w-]+) is ([\w-]+)\.", ending)
            pairs = [
                (kind, color)
                for noun, word in said
                for kind in means(noun, KINDS)
                for color in means(word, COLORS)
            ]
            scores.append(sum(math.log(usual[pair] + 0.5) for pair in pairs))
        right += scores.index(max(scores)) == item.answer
    assert right == SIZES["binding"] // 4


def words(text: str) -> list[str]:
    return re.findall(r"[\w-]+|[.,]", text.lower())


@pytest.fixture(scope="module")
def frequency() -> Counter[str]:
    return Counter(
        word
        for index in range(400)
        for level in ("20", "40")
        for word in words(describe(draw_event("train", index), level))
    )


def guesses(item: Choice, frequency: Counter[str]) -> dict[str, int]:
    """Return the choices of those who know only lengths, or how frequent words are; the first of
    equals.
    """
    total = frequency.total()
    bits = [
        sum(math.log2((total + 1) / (frequency[word] + 1)) for word in words(ending))
        for ending in item.endings
    ]
    per_byte = [
        round(cost / len(ending), 9) for cost, ending in zip(bits, item.endings, strict=True)
    ]
    sizes = [len(ending) for ending in item.endings]
    rounded = [round(cost, 6) for cost in bits]
    return {
        "shortest": sizes.index(min(sizes)),
        "longest": sizes.index(max(sizes)),
        "frequent words": rounded.index(min(rounded)),
        "frequent words per byte": per_byte.index(min(per_byte)),
    }


@pytest.mark.parametrize("exam", SIZES)
@pytest.mark.parametrize(
    "guess", ["shortest", "longest", "frequent words", "frequent words per byte"]
)
def test_lengths_and_frequencies_are_at_chance(exam, guess, frequency):
    right = sum(guesses(item, frequency)[guess] == item.answer for item in items(exam))
    low, high = wilson(right, SIZES[exam])
    assert low <= 0.25 <= high
