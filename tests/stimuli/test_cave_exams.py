"""Exams: an independent reader finds the right ending true and the others false, and nothing outside the event gives it away."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from core.competence.probes import wilson
from core.stimuli.cave.events import COLORS, KINDS, Event, Thing, draw_event, events
from core.stimuli.cave.exams import SIZES, Item, items
from core.stimuli.cave.grammar import describe
from core.stimuli.cave.words import WORDINGS

HELD_OUT = list(events("test", 1024))
SIDES = {"left": lambda x: x < 0.3, "right": lambda x: x > 0.7}


def means(wording: str, concepts: tuple[str, ...]) -> set[str]:
    return {concept for concept in concepts if wording in WORDINGS[concept]}


def called(noun: str, event: Event) -> list[Thing]:
    return [thing for thing in event.things if noun in WORDINGS[thing.kind]]


def reads_binding(ending: str, event: Event) -> bool:
    said = re.findall(r" The ([\w-]+) is ([\w-]+)\.", ending)
    assert len(said) == 3
    return all(thing.color in means(color, COLORS) for noun, color in said for thing in called(noun, event))


def reads_relations(ending: str, event: Event) -> bool:
    places = {wording: side for side in SIDES for wording in WORDINGS[f"at {side}"]}
    ways = {wording: side for side in SIDES for wording in WORDINGS[f"{side} of"]}
    place, way = ("|".join(sorted(words, key=len, reverse=True)) for words in (places, ways))
    said = re.fullmatch(rf" an? ([\w-]+) ({place}), and an? ([\w-]+) ({way}) an? ([\w-]+) ({place})\.", ending)
    assert said
    one, at, two, relation, three, other = said.groups()
    trios = [called(noun, event) for noun in (one, two, three)]
    assert [len(things) for things in trios] == [1, 1, 1]
    (a,), (b,), (c,) = trios
    beside = b.x < c.x if ways[relation] == "left" else b.x > c.x
    return SIDES[places[at]](a.x) and SIDES[places[other]](c.x) and beside


def reads_counting(ending: str, event: Event) -> bool:
    numbers = {wording: total for total, word in enumerate(("one", "two", "three", "four"), 1) for wording in WORDINGS[word]}
    said = re.fullmatch(rf" ({'|'.join(sorted(numbers, key=len, reverse=True))}) \w+\.", ending)
    assert said
    return numbers[said[1]] == len(event.things)


READERS = {"binding": reads_binding, "relations": reads_relations, "counting": reads_counting}


@pytest.mark.parametrize("exam", SIZES)
def test_the_right_ending_is_true_and_the_others_are_false(exam):
    for item in items(exam):
        event = HELD_OUT[item.event]
        assert [READERS[exam](ending, event) for ending in item.endings] == [place == item.answer for place in range(4)]


@pytest.mark.parametrize("exam", SIZES)
def test_every_item_has_four_endings_and_each_place_is_as_often_right(exam):
    asked = items(exam)
    assert len(asked) == SIZES[exam]
    assert all(len(set(item.endings)) == 4 and all(ending.startswith(" ") for ending in item.endings) for item in asked)
    assert set(Counter(item.answer for item in asked).values()) == {len(asked) // 4}
    assert len({(item.context, item.endings) for item in asked}) == len(asked)


def test_each_test_has_five_hundred_items():
    assert SIZES["binding"] + SIZES["relations"] >= 500
    assert SIZES["counting"] >= 500


def test_each_number_is_as_often_right():
    totals = Counter(len(HELD_OUT[item.event].things) for item in items("counting"))
    assert totals == dict.fromkeys((1, 2, 3, 4), SIZES["counting"] // 4)


def test_counting_also_adds_up_kinds():
    several = re.compile("|".join(rf"\b{wording} " for word in ("two", "three", "four") for wording in WORDINGS[word]), re.I)
    assert sum(bool(several.search(item.context)) for item in items("counting")) > 100


def test_endings_bind_the_same_words_otherwise():
    for item in items("binding"):
        assert len({tuple(sorted(ending.split())) for ending in item.endings}) == 1
        told = [
            thing
            for thing in HELD_OUT[item.event].things
            if thing.kind in {k for w in words(item.context) for k in means(w, KINDS)}
        ]
        assert len(told) >= 3
    for item in items("relations"):
        assert len({re.sub("left|right", "side", ending) for ending in item.endings}) == 1


def test_the_other_consistent_telling_is_never_an_ending():
    mirror = {"left": "right", "right": "left"}
    for item in items("relations"):
        mirrored = re.sub("left|right", lambda side: mirror[side[0]], item.endings[item.answer])
        assert mirrored not in item.endings


def words(text: str) -> list[str]:
    return re.findall(r"[\w-]+|[.,]", text.lower())


@pytest.fixture(scope="module")
def frequency() -> Counter[str]:
    return Counter(
        word for index in range(400) for level in ("20", "40") for word in words(describe(draw_event("train", index), level))
    )


def guesses(item: Item, frequency: Counter[str]) -> dict[str, int]:
    """Return the choices of those who know only lengths, or how frequent words are; the first of equals."""
    total = frequency.total()
    bits = [sum(math.log2((total + 1) / (frequency[word] + 1)) for word in words(ending)) for ending in item.endings]
    per_byte = [round(cost / len(ending), 9) for cost, ending in zip(bits, item.endings, strict=True)]
    sizes = [len(ending) for ending in item.endings]
    rounded = [round(cost, 6) for cost in bits]
    return {
        "shortest": sizes.index(min(sizes)),
        "longest": sizes.index(max(sizes)),
        "frequent words": rounded.index(min(rounded)),
        "frequent words per byte": per_byte.index(min(per_byte)),
    }


@pytest.mark.parametrize("exam", SIZES)
@pytest.mark.parametrize("guess", ["shortest", "longest", "frequent words", "frequent words per byte"])
def test_lengths_and_frequencies_are_at_chance(exam, guess, frequency):
    right = sum(guesses(item, frequency)[guess] == item.answer for item in items(exam))
    low, high = wilson(right, SIZES[exam])
    assert low <= 0.25 <= high


def test_items_are_the_same_each_time():
    assert items.__wrapped__("binding") == items("binding")
