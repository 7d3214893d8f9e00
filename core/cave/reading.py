"""Reads captions: what a text says, whether an event could be so, and how much of an event it
tells.

A text that the grammar (core/cave/captions.py) cannot word has no reading. A caption is impossible
if none of its readings is true of any event: because of number (more than four things, or other
than stated), place (no four slots hold the things as told) or what is named again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, permutations
from math import log
from string import Formatter
from typing import Any

from core.cave.captions import (
    COUNTS,
    DENSITIES,
    DETAILS,
    JOINTS,
    PADS,
    WORDINGS,
    concept,
    plural,
)
from core.cave.events import COLORS, KINDS, MAX_OBJECTS, SCENES, SIZES, TIMES, WEATHERS, Event
from core.stimuli.worlds import Judged

Match = tuple[Any, int]  # what was read, and where it ends
CONCEPTS: Mapping[str, Sequence[str]] = {
    "scene": SCENES,
    "time": TIMES,
    "weather": WEATHERS,
    "count": COUNTS,
    "kind": KINDS,
    "color": COLORS,
    "size": SIZES,
    **DETAILS,
}
_SENTENCES = 8  # at most, of a caption: three of a frame, a thing named again and four pads
_WORD = re.compile("[^ ,.:]*")
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
    several: bool
    kinds: frozenset[str]
    color: str


@dataclass(frozen=True)
class Reading:
    """One way to understand a caption. count: of all things, if stated."""

    phrases: tuple[Phrase, ...]
    count: int | None = None
    again: Again | None = None


def judge(text: str) -> Judged:
    """Judge the first caption of a text: the longest run of whole sentences from its beginning that
    the grammar can word.

    Source: section 5 of Huh et al. 2024 (hallucination should fall as models get better).
    """
    sentences = text.split(". ")
    whole = len(sentences) - (not text.endswith("."))
    for count in range(min(whole, _SENTENCES), 0, -1):
        caption = ". ".join(sentences[:count]).removesuffix(".") + "."
        if why := [contradiction(one) for one in readings(caption)]:
            if "" in why:
                return Judged(caption, "possible")
            return Judged(caption, "impossible", why[0])
    return Judged(text, "no caption")


def contradiction(reading: Reading) -> str:
    """Return why no event can be so: number, place or named again; "" if one can."""
    total = sum(phrase.number for phrase in reading.phrases)
    stated = reading.count if reading.phrases else None
    if total > MAX_OBJECTS or stated not in (None, total):
        return "number"
    if not _has_places(reading.phrases):
        return "place"
    phrases, again = reading.phrases, reading.again
    is_named = not again or any(  # one phrase, and no other, can be of what is named again
        again.several == (phrase.number > 1)
        and phrase.told.get("color", again.color) == again.color
        and any(
            all(other is phrase or other.kinds != {kind} for other in phrases)
            for kind in again.kinds & phrase.kinds
        )
        for phrase in phrases
    )
    return "" if is_named else "named again"


def _has_places(phrases: Sequence[Phrase]) -> bool:
    owners = [place for place, phrase in enumerate(phrases) for _ in range(phrase.number)]
    anywhere = range(MAX_OBJECTS)
    for slots in permutations(anywhere, len(owners)):
        held: list[set[int]] = [set() for _ in phrases]
        for owner, slot in zip(owners, slots, strict=True):
            held[owner].add(slot)
        pairs = zip(phrases, held, strict=True)
        relations = zip(phrases, pairwise(held), strict=False)
        if all(
            spots <= set(_SLOTS_OF.get(phrase.told.get("place", ""), anywhere))
            for phrase, spots in pairs
        ) and all(
            (phrase.relation != "left of" or max(here) < min(there))
            and (phrase.relation != "right of" or min(here) > max(there))
            for phrase, (here, there) in relations
        ):
            return True
    return False


def readings(text: str) -> Iterator[Reading]:
    """Yield every way to understand a text as one caption; none if it is no caption."""
    if not text or any(not part[:1].isupper() for part in text.split(". ")):
        return
    lowered = text.lower()
    for density in DENSITIES.values():
        for frame in density.frames:
            parts = [(literal, slot) for literal, slot, *_ in Formatter().parse(frame.lower())]
            for slots, end in _fill(parts, lowered, 0, {}):
                if _agrees(slots):
                    for named, stop in _endings(lowered, end, again=density.again):
                        if stop == len(lowered):
                            yield Reading(slots.get("things", ()), slots.get("count"), named)


def _fill(
    parts: Sequence[tuple[str, str | None]], text: str, at: int, slots: Mapping[str, Any]
) -> Iterator[tuple[Mapping[str, Any], int]]:
    if not parts:
        yield slots, at
        return
    (literal, slot), *rest = parts
    if not text.startswith(literal, at):
        return
    at += len(literal)
    if slot is None:
        yield from _fill(rest, text, at, slots)
        return
    for meaning, end in _things(text, at) if slot == "things" else _one_of(slot, text, at):
        yield from _fill(rest, text, end, {**slots, slot: meaning})


def _agrees(slots: Mapping[str, Any]) -> bool:
    if "wait_all" in slots and slots["wait_all"] != (slots["count"] > 1):
        return False
    phrases = slots.get("things", ())
    partners = [second for first, second in pairwise(phrases) if first.relation]
    several = sum(one.number for one in phrases if not any(one is two for two in partners)) > 1
    return all(slots.get(slot, several) == several for slot in ("be", "they", "wait"))


def _endings(text: str, at: int, *, again: bool) -> Iterator[tuple[Again | None, int]]:
    yield None, _skip_pads(text, at)
    if again and text.startswith(" the ", at):
        for (several, kinds), end in _one_of("again", text, at + 5):
            for color, stop in _one_of("color", text, end + 1):
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
    for phrases, end in _bound(text, at):
        so_far = (*before, *phrases)
        if any(one.relation for one in before) and len(phrases) < 2:
            continue
        last = JOINTS if any(one.relation for one in so_far) else (" and ",)
        if not before or joint in last:
            yield so_far, end
        for one in (", ", " and ", *JOINTS) if joint in ("", ", ") else ():
            if text.startswith(one, end) and len(so_far) < MAX_OBJECTS:
                yield from _things(text, end + len(one), so_far, one)


def _bound(text: str, at: int) -> Iterator[Match]:
    for first, end in _phrase(text, at):
        yield (first,), end
        if not first.told.keys() & DETAILS.keys():
            for relation, stop in _one_of("relation", text, end + 1):
                for second, last in _phrase(text, stop + 1):
                    yield (replace(first, relation=relation), second), last


def _phrase(text: str, at: int) -> Iterator[Match]:
    for number, end in _one_of("number", text, at):
        start = end + 1
        if number == 1 and (text[at:end] == "an") != (text[start : start + 1] in tuple("aeiou")):
            continue
        for size, begin in _maybe("size", text, start):
            for color, noun in _maybe("color", text, begin):
                told = {name: one for name, one in (("size", size), ("color", color)) if one}
                for kinds, stop in _one_of("noun" if number == 1 else "nouns", text, noun):
                    yield from _after(text, stop, Phrase(number, kinds, told))


def _maybe(detail: str, text: str, at: int) -> Iterator[tuple[str, int]]:
    yield "", at
    yield from ((word, end + 1) for word, end in _one_of(detail, text, at))


def _after(text: str, at: int, phrase: Phrase) -> Iterator[Match]:
    yield phrase, at
    for detail in ("color", *DETAILS):
        if detail not in phrase.told:
            for value, end in _one_of("painted" if detail == "color" else detail, text, at + 1):
                yield from _after(text, end, replace(phrase, told={**phrase.told, detail: value}))


def _one_of(slot: str, text: str, at: int) -> Iterator[Match]:
    first = next(_WORD.finditer(text, at)).group()
    for wording, meaning in _vocabulary().get((slot, first), ()):
        end = at + len(wording)
        if text.startswith(wording, at) and text[end : end + 1] in ("", " ", ",", ".", ":"):
            yield meaning, end


@cache
def _vocabulary() -> Mapping[tuple[str, str], Sequence[tuple[str, Any]]]:
    """Return by slot or detail and first word the wordings in lower case, and what each means."""
    numbers = [(number, word) for number, one in enumerate(COUNTS, 1) for word in WORDINGS[one]]
    nouns = dict.fromkeys(noun for kind in KINDS for noun in WORDINGS[kind])
    kinds = {noun: frozenset(kind for kind in KINDS if noun in WORDINGS[kind]) for noun in nouns}
    waits = {f"{word}s": False for word in WORDINGS["wait"]} | dict.fromkeys(WORDINGS["wait"], True)
    plain = {name: CONCEPTS[name] for name in ("scene", "time", "weather", "color", "size")}
    plain |= {"see": ["see"], "show": ["show"], **DETAILS}
    plain["relation"] = ("left of", "right of", "behind", "in front of")
    slots: dict[str, Mapping[str, Any]] = {
        **{
            slot: {word.lower(): one for one in concepts for word in WORDINGS[one]}
            for slot, concepts in plain.items()
        },
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
        "nouns": {plural(noun): kinds[noun] for noun in kinds},
        "again": {f"{noun} is": (False, kinds[noun]) for noun in kinds}
        | {f"{plural(noun)} are": (True, kinds[noun]) for noun in kinds},
        "painted": {
            f"{how} {word}": one
            for how in WORDINGS["painted"]
            for one in COLORS
            for word in WORDINGS[one]
        },
    }
    vocabulary: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for slot, wordings in slots.items():
        for wording, meaning in wordings.items():
            first = next(_WORD.finditer(wording)).group()
            vocabulary.setdefault((slot, first), []).append((wording, meaning))
    return vocabulary


def share_told(event: Event, text: str) -> float:
    """Return the mean over an event's facts of how much of each a text tells, from 0 to 1.

    The facts are scene, time, weather, count, and each different kind, color, size, direction and
    place of its things. A wording that c of the C concepts of a factor share tells 1 − log c / log
    C of the fact; of several, the most telling counts. A fact counts as told wherever its words
    are, so that one red thing tells of all red things.
    """
    facts = {
        ("scene", event.scene),
        ("time", event.time),
        ("weather", event.weather),
        ("count", COUNTS[len(event.things) - 1]),
        *(("kind", thing.kind) for thing in event.things),
    }
    for detail in ("color", "size", *DETAILS):
        names = (concept(thing, detail) for thing in event.things)
        facts |= {(detail, name) for name in names if name is not None}
    pattern, meanings = _dictionary()
    shares = dict.fromkeys(facts, 0.0)
    for wording in pattern.findall(text.lower()):
        for factor, concepts in meanings[wording].items():
            share = 1 - log(len(concepts)) / log(len(CONCEPTS[factor]))
            for fact in facts & {(factor, one) for one in concepts}:
                shares[fact] = max(share, shares[fact])
    return sum(shares.values()) / len(facts)


@cache
def _dictionary() -> tuple[re.Pattern[str], dict[str, dict[str, set[str]]]]:
    """Return a pattern of all wordings, the longest first, and the concepts that each may mean by
    factor: nouns in the plural, too, and a count with the word for things.
    """
    meanings: dict[str, dict[str, set[str]]] = {
        wording: {} for wordings in WORDINGS.values() for wording in wordings
    }
    for factor, concepts in CONCEPTS.items():
        for one in concepts:
            forms = [*WORDINGS[one]]
            if factor == "kind":
                forms += [plural(noun) for noun in forms]
            if factor == "count":
                nouns = [noun if one == "one" else plural(noun) for noun in WORDINGS["thing"]]
                forms = [f"{wording} {noun}" for wording in forms for noun in nouns]
            for wording in forms:
                meanings.setdefault(wording, {}).setdefault(factor, set()).add(one)
    longest_first = sorted(meanings, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b"), meanings
