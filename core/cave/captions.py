"""Captions of an event in plain English, at four lengths, true of the event in every word.

The event decides what can be said; how it is said (frame, wordings, order, which details) is drawn
independently of it. The words are in words.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TypeVar

import numpy as np

from core.cave.events import Event, Thing, event_rng
from core.errors import UnknownNameError

T = TypeVar("T")
LEVELS = ("20", "5", "10", "40")  # about that many words; the default first


@dataclass(frozen=True)
class Density:
    """How much a caption says.

    words: least and most. aim: length up to which relations and details are added. things: most
    things named. related: probability of a relation between two neighbors in a list. again: whether
    a thing is named twice. details: what is said of a thing, in this order. frames: sentences,
    equally likely.
    """

    words: tuple[int, int]
    aim: tuple[float, float]
    things: int
    related: float
    again: bool
    details: Sequence[Sequence[str]]
    frames: Sequence[str]


_DATA = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
DENSITIES = {level: Density(**choices) for level, choices in _DATA["densities"].items()}
WORDINGS: Mapping[str, tuple[str, ...]] = {
    concept: (*wordings, *_DATA["vague"].get(sort, ()))
    for sort, concepts in _DATA["words"].items()
    for concept, wordings in concepts.items()
}
PADS: tuple[str, ...] = tuple(_DATA["other"]["pads"])
COUNTS = ("one", "two", "three", "four")
DETAILS = {  # of a thing, besides its color and size; they follow its noun
    "facing": ("facing left", "facing right"),
    "place": ("at left", "in the middle", "at right"),
    "depth": ("near", "far"),
}
# where a plain "and" could extend a relation
JOINTS = (", and ", ", and also ", " and then ", ", and finally ")
_IRREGULAR = {"cactus": "cacti", "fungus": "fungi"}
_PAINTED = "a color after the noun"
# probability of that: then kinds predict colors, as colors predict kinds before the noun
_AFTER = 0.5
_TOGETHER = 0.8  # probability that a thing joins others of its kind and color under one noun
_APART = 0.2  # depths closer than this are called neither behind nor in front


def plural(noun: str) -> str:
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith(("ch", "sh", "s", "x")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def with_article(phrase: str) -> str:
    """Put "a" or "an" before a noun phrase; no wording starts with a silent h or a spoken y."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def describe(event: Event, level: str, *, rng: np.random.Generator | None = None) -> str:
    """Say in plain English what is the case in an event, in about `level` words.

    `rng` draws frame, wordings, order and which details to mention; without one the caption is the
    event's own for that level. Raises UnknownNameError for a level that is not in LEVELS.
    """
    return _say(event, level, rng)[1]


def frame_of(event: Event, level: str) -> str:
    """Return the frame of an event's own caption, which depends on the event by the caption's
    length alone; raises as `describe`.
    """
    return _say(event, level, None)[0]


def _say(event: Event, level: str, rng: np.random.Generator | None) -> tuple[str, str]:
    if level not in DENSITIES:
        raise UnknownNameError("caption level", level, LEVELS)
    density = DENSITIES[level]
    seed = (rng or event_rng(event, purpose=f"caption-{level}")).integers(1 << 62)
    dice = Random(int(seed))
    while True:
        frame = _pick(density.frames, dice)
        text = _compose(frame, event, density, dice)
        if density.words[0] <= _words(text) <= density.words[1]:
            return frame, text


class _NounPhrase:
    def __init__(self, things: Sequence[Thing], dice: Random) -> None:
        self.things = things
        noun = _wording(things[0].kind, dice)
        self.count = _wording(COUNTS[len(things) - 1], dice) if len(things) > 1 else ""
        self.noun = plural(noun) if self.count else noun
        self.relation = ""  # to the next phrase
        self.said: dict[str, str] = {}

    def tell(self, detail: str, dice: Random) -> int:
        """Say a detail if it holds for all the things; return the words this takes."""
        concept = _shared(self.things, detail)
        if concept is None or (self.relation and detail in DETAILS):
            return 0
        text = _wording(concept, dice)
        if detail == "color" and dice.random() < _AFTER:
            detail, text = _PAINTED, f"{_wording('painted', dice)} {text}"
        self.said[detail] = text
        return _words(text)

    def relate(self, other: _NounPhrase, dice: Random) -> int:
        """Bind this phrase to the next one by a relation that holds between all their things;
        return the words this takes.
        """
        pairs = [(one, two) for one in self.things for two in other.things]
        holds = {
            "left of": all(one.x < two.x for one, two in pairs),
            "right of": all(one.x > two.x for one, two in pairs),
            "behind": all(one.depth > two.depth + _APART for one, two in pairs),
            "in front of": all(one.depth < two.depth - _APART for one, two in pairs),
        }
        concept = _pick([name for name, true in holds.items() if true] or [""], dice)
        self.relation = _wording(concept, dice) if concept else ""
        return _words(self.relation)

    def __str__(self) -> str:
        before = [self.said[detail] for detail in ("size", "color") if detail in self.said]
        after = [text for detail, text in self.said.items() if detail in (*DETAILS, _PAINTED)]
        phrase = " ".join([*before, self.noun, *after])
        return f"{self.count} {phrase}" if self.count else with_article(phrase)


def _compose(frame: str, event: Event, density: Density, dice: Random) -> str:
    named = _shuffled(event.things, dice)
    most = density.things if density.things > 2 else 1 + int(2 * dice.random())
    groups: dict[object, list[Thing]] = {}
    for place, thing in enumerate(named[:most]):  # those of one kind and color, mostly, together
        joins = dice.random() < _TOGETHER
        groups.setdefault((thing.kind, thing.color) if joins else place, []).append(thing)
    phrases = [_NounPhrase(group, dice) for group in groups.values()]
    total = len(event.things)
    wait, noun = _wording("wait", dice), _wording("thing", dice)
    count = _wording(COUNTS[total - 1], dice)
    concepts = {"scene": event.scene, "time": event.time, "weather": event.weather}
    texts = {
        **{slot: _wording(concept, dice) for slot, concept in concepts.items()},
        "see": _wording("see", dice),
        "show": _wording("show", dice),
        "count": f"{count} {plural(noun) if total > 1 else noun}",
        "wait_all": wait if total > 1 else wait + "s",
        "wait": wait,
    }
    if "{things}" not in frame:
        return _sentences(frame.format(**texts))
    room = dice.uniform(*density.aim) - _words(
        frame.format(things=_listed(phrases, dice), **texts | _agreement(phrases, texts))
    )
    for first, second in zip(phrases[::2], phrases[1::2], strict=False):
        if room > 0 and dice.random() < density.related:
            room -= first.relate(second, dice) - 1  # it takes the place of "and"
    texts |= _agreement(phrases, texts)
    for details in density.details:
        chances = [(phrase, detail) for phrase in phrases for detail in details]
        for phrase, detail in _shuffled(chances, dice):
            if room > 0:
                room -= phrase.tell(detail, dice)
    again = _named_again(event, phrases, dice) if density.again else ""
    pads = _shuffled(PADS, dice)[: max(0, int(room // _words(PADS[0])))]
    told = frame.format(things=_listed(phrases, dice), **texts)
    return _sentences(" ".join(part for part in (told, again, *pads) if part))


def _named_again(event: Event, phrases: Sequence[_NounPhrase], dice: Random) -> str:
    for phrase in _shuffled(phrases, dice):
        kind, color = phrase.things[0].kind, _shared(phrase.things, "color")
        alike = sum(thing.kind == kind for thing in event.things)
        if color and alike == len(phrase.things):
            noun = _wording(kind, dice)
            subject = f"The {plural(noun)} are" if phrase.count else f"The {noun} is"
            return f"{subject} {_wording(color, dice)}."
    return ""


def _agreement(phrases: Sequence[_NounPhrase], texts: Mapping[str, str]) -> dict[str, str]:
    partners = [phrase for before, phrase in pairwise(phrases) if before.relation]
    if sum(len(phrase.things) for phrase in phrases if phrase not in partners) > 1:
        return {"be": "are", "they": "they are"}
    return {"be": "is", "they": "it is", "wait": texts["wait"] + "s"}


def _listed(phrases: Sequence[_NounPhrase], dice: Random) -> str:
    """List noun phrases, those bound by a relation last, so that the relation reaches no further
    than its partner.
    """
    single: list[str] = []
    bound: list[str] = []
    partner = False
    for phrase in phrases:
        if partner:
            bound[-1] += f" {phrase}"
        elif phrase.relation:
            bound.append(f"{phrase} {phrase.relation}")
        else:
            single.append(str(phrase))
        partner = bool(phrase.relation)
    *firsts, last = single + bound
    joint = _pick(JOINTS, dice) if bound else " and "
    return joint.join([", ".join(firsts), last]) if firsts else last


def _shared(things: Sequence[Thing], detail: str) -> str | None:
    concepts = {concept(thing, detail) for thing in things}
    return concepts.pop() if len(concepts) == 1 else None


def concept(thing: Thing, detail: str) -> str | None:
    """Return what holds of a thing; None between left and middle, near and far, where a word could
    mislead.
    """
    if detail == "place":
        middle = "in the middle" if 0.4 < thing.x < 0.6 else None
        return "at left" if thing.x < 0.3 else "at right" if thing.x > 0.7 else middle
    if detail == "depth":
        return "near" if thing.depth < 0.3 else "far" if thing.depth > 0.7 else None
    if detail == "facing":
        return f"facing {thing.facing}"
    return thing.color if detail == "color" else thing.size_class


def _sentences(text: str) -> str:
    return ". ".join(part[:1].upper() + part[1:] for part in text.split(". "))


def _words(text: str) -> int:
    return text.count(" ") + 1 if text else 0


def _wording(concept: str, dice: Random) -> str:
    return _pick(WORDINGS[concept], dice)


# only Random.random is promised to give the same numbers in every Python version; choice and
# shuffle are not
def _pick(options: Sequence[T], dice: Random) -> T:
    return options[int(dice.random() * len(options))]


def _shuffled(items: Sequence[T], dice: Random) -> list[T]:
    return sorted(items, key=lambda _: dice.random())
