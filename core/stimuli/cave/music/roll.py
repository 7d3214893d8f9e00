"""A melody as a picture: time from left to right, pitch from low to high, a bar for each note."""

from __future__ import annotations

from collections.abc import Sequence

from core.stimuli.cave.music.notes import Note, name_pitch

_STEP, _TALL, _GAP = 8, 4, 1  # pixels of a sixteenth, of a semitone, and between two notes
_LINE = 12  # semitones between two lines, which are Cs


def draw_roll(melody: Sequence[Note], *, ink: str, grid: str) -> str:
    """Return the melody as SVG. ink, grid: colors of the notes, and of the lines at every C."""
    pitches = [note.pitch for note in melody if note.pitch is not None]
    low, high = min(pitches) - 2, max(pitches) + 2
    width, height = _STEP * sum(note.length for note in melody), _TALL * (high - low + 1)
    lines = [
        f'<path d="M0 {_TALL * (high - pitch) + _TALL / 2:g}H{width}" stroke="{grid}"/>'
        for pitch in range(low, high + 1)
        if pitch % _LINE == 0
    ]
    bars, at = [], 0
    for note in melody:
        if note.pitch is not None:
            place = f'x="{_STEP * at}" y="{_TALL * (high - note.pitch)}"'
            size = f'width="{_STEP * note.length - _GAP}" height="{_TALL}"'
            bars.append(f'<rect {place} {size} rx="1" fill="{ink}"/>')
        at += note.length
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join([*lines, *bars])}</svg>'


def describe_roll(melody: Sequence[Note]) -> str:
    """Return the picture in words."""
    heard = [note.pitch for note in melody if note.pitch is not None]
    span = f"from {name_pitch(min(heard))} to {name_pitch(max(heard))}"
    beats = sum(note.length for note in melody) / 4
    return f"piano roll: {len(heard)} notes {span}, {beats:g} beats long"
