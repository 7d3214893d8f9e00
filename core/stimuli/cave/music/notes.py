"""Notes, and how a melody is written down: `G4:2 A4:1 -:3`, each pitch or rest with its length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

REST = "-"
LOWEST, HIGHEST = 43, 92  # semitones, counted as MIDI does: middle C is 60
LENGTHS = (1, 2, 3, 4, 6, 8)  # sixteenths
_NAMES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")


@dataclass(frozen=True)
class Note:
    """One note. pitch: in semitones as MIDI counts them, None for a rest. length: in sixteenths."""

    pitch: int | None
    length: int


def name_pitch(pitch: int | None) -> str:
    """Return a pitch in scientific notation: 60 is C4; `-` for a rest."""
    return REST if pitch is None else f"{_NAMES[pitch % 12]}{pitch // 12 - 1}"


def write(melody: Iterable[Note]) -> str:
    """Return a melody as text."""
    return " ".join(f"{name_pitch(note.pitch)}:{note.length}" for note in melody)


PITCHES = {name_pitch(pitch): pitch for pitch in (None, *range(LOWEST, HIGHEST + 1))}


def read(text: str) -> tuple[Note, ...]:
    """Return the melody that a text of `write` holds."""
    parts = [word.split(":") for word in text.split()]
    return tuple(Note(PITCHES[pitch], int(length)) for pitch, length in parts)
