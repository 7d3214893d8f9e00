"""Reads captions back: what a text in the Cave's grammar says, in every way it can be understood,
and whether any event could be so.

A text is a caption if the grammar (core/cave/captions.py) can word it, whatever its length;
otherwise it has no reading. A caption is impossible if none of its readings is true of any event
that the world can draw:

    number      more than four things, or other than the number that it states
    place       no four slots from left to right hold the things where it puts them
    named again a thing that it has not named, or in another number or color

How much of an event a text tells: the share of its facts that the text's words give away.

Hallucination: what a model says, left to itself, that no event of the world can be.

Of each text only the first caption counts: the longest run of whole sentences from its beginning
that the Cave's grammar can word. A text without one is no sentence of the world, which is counted
apart. Source: section 5 of Huh et al. 2024 (hallucination should fall as models get better).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, permutations
from math import log
from string import Formatter
from types import MappingProxyType
from typing import Any

from core.cave.captions import DENSITIES, JOINTS, PADS, WORDINGS, concept, plural
from core.cave.events import COLORS, KINDS, MAX_OBJECTS, SCENES, SIZES, TIMES, WEATHERS, Event
from core.stimuli.worlds import Judged

# a first word → the wordings in lower case that begin with it, and what each means
Words = Mapping[str, Sequence[tuple[str, Any]]]
Match = tuple[Any, int]  # what was read, and where it ends
_WORD = re.compile("[^ ,.:]*")
_COUNTS = ("one", "two", "three", "four")
_AFTER: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "facing": ("facing left", "facing right"),
        "place": ("at left", "in the middle", "at right"),
        "depth": ("near", "far"),
    }
)
_SLOTS_OF = {"at left": (0,), "in the middle": (1, 2), "at right": (3,)}  # from left to right


@dataclass(frozen=True)
class Phrase:
    """Things under one noun. kinds: that the noun may mean. told: concepts by detail. relation: to
    the next phrase, if any.
    """

    number: int
    kinds: frozenset[str]
    told: Mapping[str, str]
    relation: str = ""


@dataclass(frozen=True)
class Again:
    """A thing, or several, named a second time."""

    several: bool
    kinds: frozenset[str]
    color: str


@dataclass(frozen=True)
class Reading:
    """One way to understand a caption. count: of all things, where stated."""

    phrases: tuple[Phrase, ...]
    count: int | None = None
    again: Again | None = None


def readings(text: str) -> Iterator[Reading]:
    """Yield every way to understand a text as one caption; none where it is no caption."""
    if not text or any(not part[:1].isupper() for part in text.split(". ")):
        return
    lowered = text.lower()
    for frame, again in _frames():
        for slots, end in _fill(frame, lowered, 0, {}):
            if _agrees(slots):
                for named, stop in _endings(lowered, end, again=again):
                    if stop == len(lowered):
                        yield Reading(slots.get("things", ()), slots.get("count"), named)


def contradiction(reading: Reading) -> str:
    """Return why no event can be so: number, place or named again; "" where one can."""
    total = sum(phrase.number for phrase in reading.phrases)
    stated = reading.count if reading.phrases else None
    if total > MAX_OBJECTS or (stated is not None and stated != total):
        return "number"
    if not _has_places(reading.phrases):
        return "place"
    if reading.again and not _is_named(reading.again, reading.phrases):
        return "named again"
    return ""


@cache
def _frames() -> tuple[tuple[tuple[tuple[str, str | None], ...], bool], ...]:
    """Return each frame as its literals and slots, and whether a thing may be named again."""
    return tuple(
        (
            tuple((literal, slot) for literal, slot, _, _ in Formatter().parse(frame.lower())),
            one.again,
        )
        for one in DENSITIES.values()
        for frame in one.frames
    )


def _fill(
    parts: Sequence[tuple[str, str | None]], text: str, at: int, slots: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield what fills the slots of a frame from a place on, and where the frame ends."""
    if not parts:
        yield slots, at
        return
    (literal, slot), rest = parts[0], parts[1:]
    if not text.startswith(literal, at):
        return
    at += len(literal)
    if slot is None:
        yield from _fill(rest, text, at, slots)
        return
    readings = _things(text, at) if slot == "things" else _one_of(_vocabulary()[slot], text, at)
    for meaning, end in readings:
        yield from _fill(rest, text, end, {**slots, slot: meaning})


def _agrees(slots: Mapping[str, Any]) -> bool:
    """Return whether verbs agree in number with the things named; the partner in a relation is not
    counted.
    """
    if "wait_all" in slots and slots["wait_all"] != (slots["count"] > 1):
        return False
    phrases = slots.get("things", ())
    partners = [second for first, second in pairwise(phrases) if first.relation]
    several = sum(one.number for one in phrases if not any(one is two for two in partners)) > 1
    return all(slots.get(slot, several) == several for slot in ("be", "they", "wait"))


def _endings(text: str, at: int, *, again: bool) -> Iterator[tuple[Again | None, int]]:
    """Yield what stands behind a frame: a thing named again, where that may be, and pads."""
    yield None, _skip_pads(text, at)
    if again and text.startswith(" the ", at):
        for (several, kinds), end in _one_of(_vocabulary()["again"], text, at + 5):
            for color, stop in _one_of(_vocabulary()["color"], text, end + 1):
                if text.startswith(".", stop):
                    yield Again(several, kinds, color), _skip_pads(text, stop + 1)


def _skip_pads(text: str, at: int) -> int:
    left = [f" {pad.lower()}" for pad in PADS]
    while pad := next((one for one in left if text.startswith(one, at)), ""):
        left.remove(pad)
        at += len(pad)
    return at


def _things(
    text: str, at: int, before: tuple[Phrase, ...] = (), joint: str = ""
) -> Iterator[Match]:
    """Yield lists of noun phrases, those bound by a relation last."""
    for phrases, end in _bound(text, at):
        so_far, binds = (*before, *phrases), len(phrases) == 2
        if any(one.relation for one in before) and not binds:
            continue
        last = JOINTS if any(one.relation for one in so_far) else (" and ",)
        if not before or joint in last:
            yield so_far, end
        for one in (", ", " and ", *JOINTS) if joint in ("", ", ") else ():
            if text.startswith(one, end) and len(so_far) < MAX_OBJECTS:
                yield from _things(text, end + len(one), so_far, one)


def _bound(text: str, at: int) -> Iterator[Match]:
    """Yield a noun phrase, or two in a relation."""
    for first, end in _phrase(text, at):
        yield (first,), end
        if first.told.keys() & _AFTER.keys():
            continue
        for relation, stop in _one_of(_vocabulary()["relation"], text, end + 1):
            for second, last in _phrase(text, stop + 1):
                yield (replace(first, relation=relation), second), last


def _phrase(text: str, at: int) -> Iterator[Match]:
    for number, end in _one_of(_vocabulary()["number"], text, at):
        start = end + 1
        if number == 1 and (text[at:end] == "an") != (text[start : start + 1] in tuple("aeiou")):
            continue
        for size, begin in _maybe("size", text, start):
            for color, noun in _maybe("color", text, begin):
                details = {name: one for name, one in (("size", size), ("color", color)) if one}
                nouns = _vocabulary()["noun" if number == 1 else "nouns"]
                for kinds, stop in _one_of(nouns, text, noun):
                    yield from _after(text, stop, Phrase(number, kinds, details))


def _maybe(detail: str, text: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield a detail before a noun, and that there is none."""
    yield "", at
    yield from ((word, end + 1) for word, end in _one_of(_vocabulary()[detail], text, at))


def _after(text: str, at: int, phrase: Phrase) -> Iterator[Match]:
    """Yield a phrase with each number of the details that follow its noun."""
    yield phrase, at
    for detail in ("color", *_AFTER):
        if detail not in phrase.told:
            words = _vocabulary()["painted" if detail == "color" else detail]
            for value, end in _one_of(words, text, at + 1):
                more = replace(phrase, told={**phrase.told, detail: value})
                yield from _after(text, end, more)


def _one_of(words: Words, text: str, at: int) -> Iterator[Match]:
    """Yield each wording that stands at a place as whole words."""
    first = next(_WORD.finditer(text, at)).group()
    for wording, meaning in words.get(first, ()):
        end = at + len(wording)
        if text.startswith(wording, at) and text[end : end + 1] in ("", " ", ",", ".", ":"):
            yield meaning, end


@cache
def _vocabulary() -> Mapping[str, Words]:
    """Return what each slot and detail can be worded as."""
    vocabulary: dict[str, dict[str, list[tuple[str, Any]]]] = {}
    for slot, wordings in _wordings().items():
        words = vocabulary.setdefault(slot, {})
        for wording, meaning in wordings.items():
            first = next(_WORD.finditer(wording)).group()
            words.setdefault(first, []).append((wording, meaning))
    return vocabulary


def _wordings() -> dict[str, Mapping[str, Any]]:
    """Return the wordings of each slot and detail in lower case, with what each means."""
    numbers = [(number, word) for number, one in enumerate(_COUNTS, 1) for word in WORDINGS[one]]
    kinds, colors, wait = _kinds(), _meanings(COLORS), WORDINGS["wait"]
    waits = {f"{word}s": False for word in wait} | dict.fromkeys(wait, True)
    plurals = {plural(noun): kinds[noun] for noun in kinds}
    return {
        "scene": _meanings(SCENES),
        "time": _meanings(TIMES),
        "weather": _meanings(WEATHERS),
        "see": _meanings(["see"]),
        "show": _meanings(["show"]),
        "wait": waits,
        "wait_all": waits,
        "be": {"is": False, "are": True},
        "they": {"it is": False, "they are": True},
        "count": {
            f"{word} {noun if number == 1 else plural(noun)}": number
            for number, word in numbers
            for noun in WORDINGS["thing"]
        },
        "number": {"a": 1, "an": 1} | {word: number for number, word in numbers if number > 1},
        "noun": kinds,
        "nouns": plurals,
        "again": {f"{noun} is": (False, kinds[noun]) for noun in kinds}
        | {f"{noun} are": (True, plurals[noun]) for noun in plurals},
        "color": colors,
        "painted": {
            f"{how} {word}": colors[word] for how in WORDINGS["painted"] for word in colors
        },
        "size": _meanings(SIZES),
        **{detail: _meanings(concepts) for detail, concepts in _AFTER.items()},
        "relation": _meanings(("left of", "right of", "behind", "in front of")),
    }


def _meanings(concepts: Sequence[str]) -> dict[str, str]:
    return {word.lower(): concept for concept in concepts for word in WORDINGS[concept]}


def _kinds() -> dict[str, frozenset[str]]:
    """Return which kinds each noun may mean."""
    nouns = dict.fromkeys(noun for kind in KINDS for noun in WORDINGS[kind])
    return {noun: frozenset(kind for kind in KINDS if noun in WORDINGS[kind]) for noun in nouns}


def _has_places(phrases: Sequence[Phrase]) -> bool:
    """Return whether all things can stand in slots of their own where they are said to be."""
    owners = [place for place, phrase in enumerate(phrases) for _ in range(phrase.number)]
    return any(_fits(phrases, owners, slots) for slots in permutations(range(4), len(owners)))


def _fits(phrases: Sequence[Phrase], owners: Sequence[int], slots: Sequence[int]) -> bool:
    held = [
        [slot for owner, slot in zip(owners, slots, strict=True) if owner == place]
        for place in range(len(phrases))
    ]
    inside = (
        set(held[place]) <= set(_SLOTS_OF.get(phrase.told.get("place", ""), range(4)))
        for place, phrase in enumerate(phrases)
    )
    beside = (
        phrase.relation not in ("left of", "right of")
        or (max(held[place]) < min(held[place + 1]) and phrase.relation == "left of")
        or (min(held[place]) > max(held[place + 1]) and phrase.relation == "right of")
        for place, phrase in enumerate(phrases)
    )
    return all(inside) and all(beside)


def _is_named(again: Again, phrases: Sequence[Phrase]) -> bool:
    """Return whether one phrase, and no other, can be of what is named again."""
    return any(
        any(
            all(other is phrase or other.kinds != {kind} for other in phrases)
            for kind in again.kinds & phrase.kinds
        )
        and again.several == (phrase.number > 1)
        and phrase.told.get("color", again.color) == again.color
        for phrase in phrases
    )


COUNTS = ("one", "two", "three", "four")
CONCEPTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "scene": SCENES,
        "time": TIMES,
        "weather": WEATHERS,
        "count": COUNTS,
        "kind": KINDS,
        "color": COLORS,
        "size": SIZES,
        "facing": ("facing left", "facing right"),
        "place": ("at left", "in the middle", "at right"),
        "depth": ("near", "far"),
    }
)
_DETAILS = ("color", "size", "facing", "place", "depth")  # of a thing, beside its kind


def share_told(event: Event, text: str) -> float:
    """Return the mean over an event's facts of how much of each a text tells, from 0 to 1.

    The facts are scene, time, weather, count, and each different kind, color, size, direction and
    place of its things. A wording that c of the C concepts of a factor share tells 1 − log c / log
    C of the fact; of several, the most telling counts. A fact counts as told wherever its words
    stand, so that one red thing tells of all red things.
    """
    shares = _shares(text)
    facts = set(_facts(event))
    return sum(shares.get(fact, 0.0) for fact in facts) / len(facts)


def _facts(event: Event) -> Iterator[tuple[str, str]]:
    yield from (
        ("scene", event.scene),
        ("time", event.time),
        ("weather", event.weather),
        ("count", COUNTS[len(event.things) - 1]),
    )
    for thing in event.things:
        yield "kind", thing.kind
        for detail in _DETAILS:
            if (name := concept(thing, detail)) is not None:
                yield detail, name


def _shares(text: str) -> dict[tuple[str, str], float]:
    """Return how much a text tells of every fact that it may speak of."""
    pattern, meanings = _dictionary()
    shares: dict[tuple[str, str], float] = {}
    for wording in pattern.findall(text.lower()):
        for factor, concepts in meanings[wording].items():
            share = 1 - log(len(concepts)) / log(len(CONCEPTS[factor]))
            shares |= {
                (factor, one): max(share, shares.get((factor, one), 0.0)) for one in concepts
            }
    return shares


@cache
def _dictionary() -> tuple[re.Pattern[str], dict[str, dict[str, set[str]]]]:
    """Return a pattern of all wordings, the longest first, and what each may mean: the concepts by
    factor.
    """
    meanings: dict[str, dict[str, set[str]]] = {
        wording: {} for wordings in WORDINGS.values() for wording in wordings
    }
    for factor, concepts in CONCEPTS.items():
        for one in concepts:
            for wording in _forms(factor, one):
                meanings.setdefault(wording, {}).setdefault(factor, set()).add(one)
    longest_first = sorted(meanings, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"), meanings


def _forms(factor: str, one: str) -> Iterator[str]:
    """Yield what means a concept: nouns also in the plural, a count with the word for things that
    it counts, which are all.
    """
    for wording in WORDINGS[one]:
        if factor == "count":
            yield from (
                f"{wording} {noun if one == 'one' else plural(noun)}" for noun in WORDINGS["thing"]
            )
        else:
            yield wording
            if factor == "kind":
                yield plural(wording)


MOST_SENTENCES = 8  # three of a frame, a thing named again and four pads


def judge(text: str) -> Judged:
    """Return what the first caption of a text is, or the text where it begins with none."""
    sentences = text.split(". ")
    whole = len(sentences) - (not text.endswith("."))
    for count in range(min(whole, MOST_SENTENCES), 0, -1):
        first = ". ".join(sentences[:count])
        caption = first if first.endswith(".") else f"{first}."
        if why := [contradiction(one) for one in readings(caption)]:
            return (
                Judged(caption, "possible") if "" in why else Judged(caption, "impossible", why[0])
            )
    return Judged(text, "no caption")
