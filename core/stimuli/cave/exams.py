"""Exams for language models: a text about a held-out event, and four endings of which one is true.

The four endings of an item are made of the same words, bound otherwise, so that neither length nor the frequency of words tells the
right one; each is the answer as often as the others. Texts are worded as the grammar words its captions.

    binding     Three things with their colors; then, in other words, which has which. Wrong: the colors change places.
    relations   Who stands where. Wrong: left and right swapped so that two things share a side, or a relation contradicts a side.
    counting    All things of an event, several of a kind together; then how many there are. Wrong: the other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, count, islice, permutations
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from core.stimuli.cave.events import MAX_OBJECTS, TEST_SIZE, Event, Thing, event_rng, events
from core.stimuli.cave.words import WORDINGS, plural, with_article

T = TypeVar("T")
SIZES: Mapping[str, int] = MappingProxyType({"binding": 256, "relations": 256, "counting": 512})  # items of each exam
_EDGE = 0.3  # share of the width that the grammar calls left or right
_COUNTS = ("one", "two", "three", "four")
_OPENINGS = ("{scene}, {see}", "{time}, {weather}, {see}", "{weather}, {scene}, {see}", "{time}, {see}")
_TOTALS = (
    "{time}, {things} {wait} {scene} {weather}. In all, {see}",
    "{scene} {wait} {things}. This happens {time} {weather}, and {see}",
)


@dataclass(frozen=True)
class Item:
    """One question. event: index of the test event. endings: four, each with the space before it. answer: the right one's index."""

    exam: str
    event: int
    context: str
    endings: tuple[str, ...]
    answer: int


@cache
def items(exam: str) -> tuple[Item, ...]:
    """Return the items of an exam in SIZES, always the same; the right ending is as often first, second, third and last."""
    drawn = islice(_ITEMS[exam](), SIZES[exam])
    return tuple(_shuffled(exam, place, *parts) for place, parts in enumerate(drawn))


Parts = tuple[Event, str, list[str]]  # an event, a context, and endings with the right one first


def _shuffled(exam: str, place: int, event: Event, context: str, endings: list[str]) -> Item:
    right, *wrong = endings
    wrong = _permuted(wrong, event_rng(event, purpose=f"{exam}-order-{place}"))
    answer = (place + place // len(endings)) % len(endings)
    return Item(exam, event.index, context, (*wrong[:answer], right, *wrong[answer:]), answer)


def _binding() -> Iterator[Parts]:
    """Yield items round by round, one of each event that has three things of own kinds and colors."""
    for turn in count():
        for event in events("test", TEST_SIZE):
            trios = [trio for trio in combinations(_unique(event), 3) if len({thing.color for thing in trio}) == 3]
            if trios:
                dice = event_rng(event, purpose=f"binding-{turn}")
                yield event, *_bind(event, _permuted(_pick(trios, dice), dice), dice)


def _bind(event: Event, trio: Sequence[Thing], dice: np.random.Generator) -> tuple[str, list[str]]:
    told = [_phrase((thing,), _noun(thing, event, dice), dice) for thing in trio]
    context = _sentence(f"{_fill(_pick(_OPENINGS, dice), event, dice)} {_listed(told)}.")
    again = [(thing, _noun(thing, event, dice)) for thing in _permuted(trio, dice)]
    colors = [_wording(thing.color, dice) for thing, _ in again]
    right, *wrong = (
        "".join(f" The {noun} is {color}." for (_, noun), color in zip(again, order, strict=True)) for order in permutations(colors)
    )
    return context, [right, *_permuted(wrong, dice)[:3]]


def _relations() -> Iterator[Parts]:
    """Yield two items of each event whose outermost things stand at the edges: told from the left, and from the right."""
    for event in events("test", TEST_SIZE):
        unique = _unique(event)
        first, *between, last = event.things if len(event.things) > 2 else (None, None)
        between = [thing for thing in between if thing in unique]
        if first in unique and last in unique and between and first.x < _EDGE and last.x > 1 - _EDGE:
            for sides in (("left", "right"), ("right", "left")):
                dice = event_rng(event, purpose=f"relations-{sides[0]}")
                trio = (first, _pick(between, dice), last)[:: 1 if sides[0] == "left" else -1]
                yield event, *_relate(event, trio, sides, dice)


def _relate(event: Event, trio: Sequence[Thing], sides: tuple[str, str], dice: np.random.Generator) -> tuple[str, list[str]]:
    """Return a context and endings: the first thing at its side, and the second on that side of the third, at the other side.

    Two endings have one word of the far side and two have two, so that left and right are as frequent right as wrong.
    """
    near, far = sides
    one, two, three = (with_article(_noun(thing, event, dice)) for thing in trio)
    place, relation, other = dice.integers(4, size=3)

    def ending(a: str, b: str, c: str) -> str:
        bound = f"{two} {WORDINGS[f'{b} of'][relation]} {three} {WORDINGS[f'at {c}'][other]}"
        return f" {one} {WORDINGS[f'at {a}'][place]}, and {bound}."

    contrary = _pick([(near, far, near), (far, near, near)], dice)
    context = _sentence(_fill(_pick(_OPENINGS, dice), event, dice))
    return context, [ending(*way) for way in ((near, near, far), contrary, (far, near, far), (near, far, far))]


def _counting() -> Iterator[Parts]:
    """Yield items with one, two, three and four things in turn."""
    by_count: dict[int, list[Event]] = {total: [] for total in range(1, MAX_OBJECTS + 1)}
    for event in events("test", TEST_SIZE):
        by_count[len(event.things)].append(event)
    for row in zip(*by_count.values(), strict=False):
        for event in row:
            yield event, *_count(event, event_rng(event, purpose="counting"))


def _count(event: Event, dice: np.random.Generator) -> tuple[str, list[str]]:
    groups: dict[str, list[Thing]] = {}
    for thing in event.things:
        groups.setdefault(thing.kind, []).append(thing)
    told = [_phrase(group, _wording(kind, dice), dice) for kind, group in groups.items()]
    wait, total = _wording("wait", dice), len(event.things)
    frame = _pick(_TOTALS, dice)
    context = _fill(frame, event, dice, things=_listed(_permuted(told, dice)), wait=wait if total > 1 else wait + "s")
    way, noun = int(dice.integers(4)), _wording("thing", dice)
    endings = [f" {WORDINGS[number][way]} {noun if number == 'one' else plural(noun)}." for number in _COUNTS]
    return _sentence(context), [endings[total - 1], *endings[: total - 1], *endings[total:]]


_ITEMS: Mapping[str, Callable[[], Iterator[Parts]]] = MappingProxyType(
    {"binding": _binding, "relations": _relations, "counting": _counting}
)


def _unique(event: Event) -> list[Thing]:
    """Return the things that are the only ones of their kind."""
    kinds = [thing.kind for thing in event.things]
    return [thing for thing in event.things if kinds.count(thing.kind) == 1]


def _noun(thing: Thing, event: Event, dice: np.random.Generator) -> str:
    """Draw a noun of a thing that no other kind of its event shares."""
    others = {noun for other in event.things if other.kind != thing.kind for noun in WORDINGS[other.kind]}
    return _pick([noun for noun in WORDINGS[thing.kind] if noun not in others], dice)


def _phrase(things: Sequence[Thing], noun: str, dice: np.random.Generator) -> str:
    """Word things of one kind, with their color before or after the noun where they share one."""
    number = _wording(_COUNTS[len(things) - 1], dice) if len(things) > 1 else ""
    noun = plural(noun) if number else noun
    if len({thing.color for thing in things}) == 1:
        color = _wording(things[0].color, dice)
        noun = f"{color} {noun}" if dice.random() < 0.5 else f"{noun} {_wording('painted', dice)} {color}"
    return f"{number} {noun}" if number else with_article(noun)


def _fill(frame: str, event: Event, dice: np.random.Generator, **given: str) -> str:
    worded = {slot: _wording(concept, dice) for slot, concept in (
        ("scene", event.scene), ("time", event.time), ("weather", event.weather), ("see", "see"))}  # fmt: skip
    return frame.format(**worded, **given)


def _listed(phrases: Sequence[str]) -> str:
    *firsts, last = phrases
    return f"{', '.join(firsts)} and {last}" if firsts else last


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _wording(concept: str, dice: np.random.Generator) -> str:
    return _pick(WORDINGS[concept], dice)


def _pick(options: Sequence[T], dice: np.random.Generator) -> T:
    return options[int(dice.integers(len(options)))]


def _permuted(options: Iterable[T], dice: np.random.Generator) -> list[T]:
    given = list(options)
    return [given[place] for place in dice.permutation(len(given))]
