"""How an event sounds: a short melody in which no single note gives anything away.

The scene is the scale, the time of day the usual length of notes, the weather what fills the gaps.
Of a thing, heard from left to right, the kind is the contour, the hue the first chroma (a semitone
for 30 degrees), the size the octave; far things lose notes. Key, lengths, fills and wrong notes are
drawn independently. As text a melody is `G4:2 A4:1 -:3`, each pitch or rest with its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.cave.events import MAX_OBJECTS, WEATHERS, Event, Thing, event_rng

VERSION = 1  # raise it when melodies of the same events change
REST = "-"
LOWEST, HIGHEST = 43, 92  # semitones, counted as MIDI does: middle C is 60
LENGTHS = (1, 2, 3, 4, 6, 8)  # sixteenths
SCALES = {  # semitones above the key
    "city": (0, 2, 4, 6, 8, 10),
    "forest": (0, 2, 3, 5, 7, 10),
    "mountains": (0, 2, 4, 6, 7, 11),
    "beach": (0, 2, 4, 5, 7, 9),
    "desert": (0, 1, 4, 5, 7, 8),
    "farm": (0, 3, 5, 6, 7, 10),
}
CONTOURS = {  # semitones above the first of four notes
    "car": (0, 2, 4, 5),
    "lamp": (0, 4, 7, 4),
    "bench": (0, 1, 0, 1),
    "house": (0, 3, 2, 0),
    "tree": (0, 0, 0, 5),
    "mushroom": (0, 0, 4, 0),
    "tent": (0, 5, 0, 5),
    "flower": (0, 7, 5, 4),
    "boat": (0, 2, -1, 0),
    "umbrella": (0, 3, 0, -3),
    "ball": (0, 2, 7, 0),
    "kite": (0, 0, 7, 7),
    "cactus": (0, 5, 5, 0),
    "barrel": (0, 8, 0, 0),
    "cat": (0, 4, 6, -2),
    "bird": (0, 1, 1, -4),
}
KEYS = (60, 65)
CHROMA = 30  # degrees of hue for each semitone
OCTAVES = {"large": 48, "medium": 60, "small": 72}  # large things sound low
PACES: Mapping[str, tuple[float, ...]] = {  # probabilities of 1, 2, 3, 4 and 6 sixteenths
    "morning": (0.1, 0.6, 0.05, 0.2, 0.05),
    "noon": (0.6, 0.3, 0.05, 0.05, 0.0),
    "evening": (0.1, 0.1, 0.6, 0.05, 0.15),
    "night": (0.0, 0.1, 0.1, 0.5, 0.3),
}
FILLS: Mapping[str, tuple[tuple[int, int], ...]] = {  # semitones above the key, and lengths
    "clear": ((0, 1), (12, 3)),
    "cloudy": ((-12, 6),),
    "rainy": ((7, 1), (7, 1), (7, 1)),
    "snowy": ((22, 2), (21, 2), (20, 2)),
}
_NAMES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
_BODY = (1, 2, 3, 4, 6)
_LAST = 8  # sixteenths of the last note, and of no other
_OPENING, _CLOSE = 4, 3  # notes of the scale between the key and the body, and before its return
_FILLED, _USUAL = 0.7, 0.75  # probability of a fill, and that it is the weather's own
_HEARD = 0.9  # probability that a thing is heard, if it is not alone
_BLUR = 15.0  # standard deviation of the hue that is heard, in degrees
_SLIP = 0.04  # probability that a note is a semitone off
_LOST = (0.03, 0.2)  # probability that a note is missing: near, and what far adds


class Note(NamedTuple):
    """One note. pitch: in semitones as MIDI counts them, None for a rest. length: in sixteenths."""

    pitch: int | None
    length: int


def name_pitch(pitch: int | None) -> str:
    """Return a pitch in scientific notation: 60 is C4; `-` for a rest."""
    return REST if pitch is None else f"{_NAMES[pitch % 12]}{pitch // 12 - 1}"


PITCHES = {name_pitch(pitch): pitch for pitch in (None, *range(LOWEST, HIGHEST + 1))}


def write(melody: Iterable[Note]) -> str:
    return " ".join(f"{name_pitch(note.pitch)}:{note.length}" for note in melody)


def read(text: str) -> tuple[Note, ...]:
    parts = [word.split(":") for word in text.split()]
    return tuple(Note(PITCHES[pitch], int(length)) for pitch, length in parts)


def sing(event: Event, *, rng: np.random.Generator | None = None) -> tuple[Note, ...]:
    """Return the melody of an event; another one for each state of `rng`, always the same
    without.
    """
    dice = rng or event_rng(event, purpose="melody")
    key = KEYS[dice.integers(len(KEYS))]
    return tuple(_sing(event, key, dice))


def _sing(event: Event, key: int, dice: np.random.Generator) -> Iterator[Note]:
    scale, paces = SCALES[event.scene], PACES[event.time]

    def length() -> int:
        return int(dice.choice(_BODY, p=paces))

    def wander(count: int) -> Iterator[Note]:
        for step in dice.integers(len(scale), size=count):
            yield Note(key + scale[step], length())

    def motif(thing: Thing) -> Iterator[Note]:
        chroma = round(dice.normal(thing.hue, _BLUR) / CHROMA) % 12
        near, far = _LOST
        for step in CONTOURS[thing.kind]:
            slip = int(dice.integers(2) * 2 - 1) if dice.random() < _SLIP else 0
            if dice.random() >= near + far * thing.depth:
                yield Note(OCTAVES[thing.size_class] + chroma + step + slip, length())

    yield Note(key, length())
    yield from wander(_OPENING)
    things = {int(thing.x * MAX_OBJECTS): thing for thing in event.things}
    for place in range(MAX_OBJECTS):  # from left to right
        if place not in things:
            yield Note(None, length())
            continue
        if dice.random() < _FILLED:
            usual = dice.random() < _USUAL
            weather = event.weather if usual else WEATHERS[dice.integers(len(WEATHERS))]
            yield from (Note(key + step, length) for step, length in FILLS[weather])
        if len(things) == 1 or dice.random() < _HEARD:
            yield from motif(things[place])
    yield from wander(_CLOSE)
    yield Note(key, _LAST)


_STEP, _TALL, _GAP = 8, 4, 1  # pixels of a sixteenth, of a semitone, and between two notes


def draw_roll(melody: Sequence[Note], *, ink: str, grid: str) -> str:
    """Return the melody as a piano roll in SVG: time from left to right, pitch from low to high, a
    bar for each note. ink, grid: colors of the notes, and of the lines at every C.
    """
    pitches = [note.pitch for note in melody if note.pitch is not None]
    low, high = min(pitches) - 2, max(pitches) + 2
    width, height = _STEP * sum(note.length for note in melody), _TALL * (high - low + 1)
    parts = [
        f'<path d="M0 {_TALL * (high - pitch) + _TALL / 2:g}H{width}" stroke="{grid}"/>'
        for pitch in range(low, high + 1)
        if pitch % len(_NAMES) == 0
    ]
    at = 0
    for note in melody:
        if note.pitch is not None:
            place = f'x="{_STEP * at}" y="{_TALL * (high - note.pitch)}"'
            size = f'width="{_STEP * note.length - _GAP}" height="{_TALL}"'
            parts.append(f'<rect {place} {size} rx="1" fill="{ink}"/>')
        at += note.length
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(parts)}</svg>'


def describe_roll(melody: Sequence[Note]) -> str:
    heard = [note.pitch for note in melody if note.pitch is not None]
    span = f"from {name_pitch(min(heard))} to {name_pitch(max(heard))}"
    beats = sum(note.length for note in melody) / 4
    return f"piano roll: {len(heard)} notes {span}, {beats:g} beats long"
