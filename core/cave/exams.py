"""Exams for language models: a text about a held-out event, and four endings of which one is true.

In binding and companions four items share their endings, each right once; counting asks for each
number equally often. So no ending is likelier without the context.

    binding     three things with colors, not always their own; then which has which
    companions  a thing in its scene, left or right of another: of which?
    counting    all things of an event; then how many there are
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, count, islice, permutations
from typing import NamedTuple, TypeVar

import numpy as np

from core.cave.captions import COUNTS, WORDINGS, plural, with_article
from core.cave.events import (
    KINDS,
    KINDS_OF_SCENE,
    MAX_OBJECTS,
    SCENES,
    TEST_SIZE,
    Event,
    Thing,
    event_rng,
    events,
)
from core.stimuli.worlds import Choice

VERSION = 1  # raise it when an item changes
T = TypeVar("T")
SIZES = {"binding": 256, "companions": 256, "counting": 512}  # items of each exam
_OPENINGS = (
    "{scene}, {see}",
    "{time}, {weather}, {see}",
    "{weather}, {scene}, {see}",
    "{time}, {see}",
)
_TOTALS = (
    "{time}, {things} {wait} {scene} {weather}. In all, {see}",
    "{scene} {wait} {things}. This happens {time} {weather}, and {see}",
)


Parts = tuple[Event, str, list[str], int]  # an event, a context, endings and the right one's place


@cache
def items(exam: str) -> tuple[Choice, ...]:
    """Return the items of an exam in SIZES, always the same; the right ending is as often first,
    second, third and last.
    """
    choices = []
    for place, (event, context, endings, right) in enumerate(islice(_ITEMS[exam](), SIZES[exam])):
        wrong = [*endings[:right], *endings[right + 1 :]]
        wrong = _permuted(wrong, event_rng(event, purpose=f"{exam}-order-{place}"))
        answer = (place + place // len(endings)) % len(endings)
        shown = (*wrong[:answer], endings[right], *wrong[answer:])
        choices.append(Choice(exam, event.index, context, shown, answer))
    return tuple(choices)


def _binding() -> Iterator[Parts]:
    """Yield four items of each event that has three things of own kinds and colors, round by round.

    Each describes the colors dealt otherwise: left as they are, knowing which colors are
    usual would be enough.
    """
    for turn in count():
        for event in events("test", TEST_SIZE):
            trios = [
                trio
                for trio in combinations(_unique(event), 3)
                if len({thing.color for thing in trio}) == 3
            ]
            if not trios:
                continue
            dice = event_rng(event, purpose=f"binding-{turn}")
            trio = _permuted(_pick(trios, dice), dice)
            nouns = [_noun(thing, event, dice) for thing in trio]
            colors = {thing.hue: _wording(thing.color, dice) for thing in trio}
            dealt = _permuted(permutations(colors), dice)[:4]
            endings = [
                "".join(
                    f" The {noun} is {colors[hue]}." for noun, hue in zip(nouns, hues, strict=True)
                )
                for hues in dealt
            ]
            for place, hues in enumerate(dealt):
                things = [replace(thing, hue=hue) for thing, hue in zip(trio, hues, strict=True)]
                phrases = [
                    _phrase((thing,), _noun(thing, event, dice), dice)
                    for thing in _permuted(things, dice)
                ]
                opening = _fill(_pick(_OPENINGS, dice), event, dice)
                context = _sentence(f"{opening} {_listed(phrases)}.")
                yield event, context, endings, place


class _Pair(NamedTuple):
    """Two things of an event, of own kinds; the second is one that its scene is known for."""

    event: Event
    one: Thing
    other: Thing


def _is_apart(pair: _Pair, other: _Pair) -> bool:
    return not any(
        there.other.kind in {*KINDS_OF_SCENE[here.scene], *(thing.kind for thing in here.things)}
        for there, here in ((pair, other.event), (other, pair.event))
    )


def _companions() -> Iterator[Parts]:
    waiting: list[list[_Pair]] = []
    for event in events("test", TEST_SIZE):
        unique = _unique(event)
        typical = [thing for thing in unique if thing.kind in KINDS_OF_SCENE[event.scene]]
        pairs = [
            _Pair(event, one, other) for one in unique for other in typical if one is not other
        ]
        if not pairs:
            continue
        pair = _pick(pairs, event_rng(event, purpose="companions-pair"))
        fitting = (four for four in waiting if all(_is_apart(pair, other) for other in four))
        four = next(fitting, None)
        if four is None:
            waiting.append([pair])
        elif len(four) < 3:
            four.append(pair)
        else:
            waiting.remove(four)
            yield from _relate([*four, pair])


def _relate(four: Sequence[_Pair]) -> Iterator[Parts]:
    dices = [event_rng(pair.event, purpose="companions") for pair in four]
    nouns = [
        _pick(own_wordings(pair.other.kind, KINDS), dice)
        for pair, dice in zip(four, dices, strict=True)
    ]
    endings = [f" {with_article(noun)}." for noun in nouns]
    for place, (pair, dice) in enumerate(zip(four, dices, strict=True)):
        scene = _pick(own_wordings(pair.event.scene, SCENES), dice)
        opening = _fill(
            _pick([frame for frame in _OPENINGS if "{scene}" in frame], dice),
            pair.event,
            dice,
            scene=scene,
        )
        relation = _wording("left of" if pair.one.x < pair.other.x else "right of", dice)
        context = f"{opening} {with_article(_noun(pair.one, pair.event, dice))} {relation}"
        yield pair.event, _sentence(context), endings, place


def _counting() -> Iterator[Parts]:
    by_count: dict[int, list[Event]] = {total: [] for total in range(1, MAX_OBJECTS + 1)}
    for event in events("test", TEST_SIZE):
        by_count[len(event.things)].append(event)
    for row in zip(*by_count.values(), strict=False):
        for total, event in enumerate(row, start=1):
            dice = event_rng(event, purpose="counting")
            groups: dict[str, list[Thing]] = {}
            for thing in event.things:
                groups.setdefault(thing.kind, []).append(thing)
            phrases = [_phrase(group, _wording(kind, dice), dice) for kind, group in groups.items()]
            wait = _wording("wait", dice) + "s" * (total == 1)
            frame = _pick(_TOTALS, dice)
            listing = _listed(_permuted(phrases, dice))
            context = _sentence(_fill(frame, event, dice, things=listing, wait=wait))
            way, noun = int(dice.integers(4)), _wording("thing", dice)
            endings = [
                f" {WORDINGS[number][way]} {noun if number == 'one' else plural(noun)}."
                for number in COUNTS
            ]
            yield event, context, endings, total - 1


_ITEMS: Mapping[str, Callable[[], Iterator[Parts]]] = {
    "binding": _binding,
    "companions": _companions,
    "counting": _counting,
}


def _unique(event: Event) -> list[Thing]:
    kinds = [thing.kind for thing in event.things]
    return [thing for thing in event.things if kinds.count(thing.kind) == 1]


def _noun(thing: Thing, event: Event, dice: np.random.Generator) -> str:
    others = {
        noun for other in event.things if other.kind != thing.kind for noun in WORDINGS[other.kind]
    }
    return _pick([noun for noun in WORDINGS[thing.kind] if noun not in others], dice)


def own_wordings(concept: str, concepts: Sequence[str]) -> list[str]:
    """Return the wordings of a concept that mean no other of its sort."""
    others = {wording for other in concepts if other != concept for wording in WORDINGS[other]}
    return [wording for wording in WORDINGS[concept] if wording not in others]


def _phrase(things: Sequence[Thing], noun: str, dice: np.random.Generator) -> str:
    number = _wording(COUNTS[len(things) - 1], dice) if len(things) > 1 else ""
    noun = plural(noun) if number else noun
    if len({thing.color for thing in things}) == 1:
        color = _wording(things[0].color, dice)
        noun = (
            f"{color} {noun}"
            if dice.random() < 0.5
            else f"{noun} {_wording('painted', dice)} {color}"
        )
    return f"{number} {noun}" if number else with_article(noun)


def _fill(frame: str, event: Event, dice: np.random.Generator, **slots: str) -> str:
    concepts = {"scene": event.scene, "time": event.time, "weather": event.weather, "see": "see"}
    worded = {slot: _wording(concept, dice) for slot, concept in concepts.items()}
    return frame.format(**worded | slots)


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
    items = list(options)
    return [items[place] for place in dice.permutation(len(items))]
