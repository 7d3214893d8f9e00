"""Melodies: what is heard of an event, what is left to chance, and what no single note says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from core.cave import melodies
from core.cave.events import (
    Event,
    Thing,
    draw_event,
    events,
)
from core.cave.melodies import (
    FILLS,
    KEYS,
    SCALES,
    Note,
    read,
    sing,
    write,
)
from core.cave.world import CaveDataset
from core.errors import StimuliError
from core.stimuli.dataset import check_melodies

CAT = Thing("cat", hue=92.0, size=0.5, x=0.1, depth=0.0, facing="right")


@pytest.fixture(scope="module")
def sung() -> list[tuple[Event, tuple[Note, ...]]]:
    return [(event, sing(event)) for event in events("train", 600)]


@pytest.fixture
def clean(monkeypatch) -> None:
    """Let every thing be heard whole and right, and nothing fill the gaps."""
    for name in ("_SLIP", "_BLUR", "_FILLED"):
        monkeypatch.setattr(melodies, name, 0.0)
    monkeypatch.setattr(melodies, "_LOST", (0.0, 0.0))
    monkeypatch.setattr(melodies, "_HEARD", 1.0)


def event_of(*things: Thing, scene: str = "farm") -> Event:
    return Event("train", 7, scene, "noon", "clear", things)


def body(notes: tuple[Note, ...]) -> list[int | None]:
    """Return the pitches between the opening of five notes and the close of four."""
    return [note.pitch for note in notes[5:-4]]


def test_a_melody_is_a_function_of_its_event_and_returns_from_its_text(sung):
    event, notes = sung[3]
    assert sing(event) == notes
    assert sing(event, rng=np.random.default_rng(1)) != notes
    assert all(read(write(each)) == each for _, each in sung)
    assert write((Note(60, 4), Note(None, 1), Note(73, 2))) == "C4:4 -:1 C#5:2"


@pytest.mark.usefixtures("clean")
def test_a_thing_is_its_contour_from_the_chroma_of_its_hue():
    """92 degrees are three semitones above C, in the middle octave: 63."""
    assert body(sing(event_of(CAT))) == [63, 67, 69, 61, None, None, None]
    assert body(sing(event_of(replace(CAT, facing="left"))))[:4] == [63, 67, 69, 61]
    assert body(sing(event_of(replace(CAT, size=0.9))))[:4] == [51, 55, 57, 49]
    assert body(sing(event_of(replace(CAT, x=0.9)))) == [None, None, None, 63, 67, 69, 61]


def test_opening_and_close_are_of_the_scene_s_scale_in_any_key(sung):
    keys = Counter()
    for event, notes in sung:
        key = notes[0].pitch
        keys[key] += 1
        around = (*notes[:5], *notes[-4:])
        assert {note.pitch - key for note in around} <= set(SCALES[event.scene])
        assert notes[-1] == Note(key, 8)
    assert set(keys) == set(KEYS)
    assert min(keys.values()) > 260


@pytest.mark.slow
def test_gaps_are_mostly_filled_as_the_weather_has_it(sung):
    """Three of four fills are the weather's own, and of the others one in four: 81 %."""
    own = {name: [Note(step, length) for step, length in fill] for name, fill in FILLS.items()}
    heard = Counter()
    for event, notes in sung:
        steps = [Note(n.pitch and n.pitch - notes[0].pitch, n.length) for n in notes]
        for name in ("rainy", "snowy"):  # three notes are hardly ever met by chance
            found = any(steps[at : at + 3] == own[name] for at in range(len(steps)))
            heard[name, event.weather == name] += found
            heard["events", name, event.weather == name] += 1
    for name in ("rainy", "snowy"):
        there = heard[name, True] / heard["events", name, True]
        elsewhere = heard[name, False] / heard["events", name, False]
        assert 0.6 < there < 0.95
        assert elsewhere < 0.2


@pytest.mark.slow
def test_no_note_alone_gives_a_kind_away(sung):
    """Whoever hears that a pitch occurs guesses none of the kinds with certainty."""
    with_pitch: dict[int, list[Event]] = {}
    for event, notes in sung:
        for pitch in {note.pitch for note in notes}:
            with_pitch.setdefault(pitch, []).append(event)
    for heard in with_pitch.values():
        if len(heard) >= 20:
            kinds = Counter(kind for event in heard for kind in {t.kind for t in event.things})
            assert kinds.most_common(1)[0][1] < 0.6 * len(heard)


def test_the_cave_s_stimuli_are_sung_and_no_others():
    card = CaveDataset(4).card
    world = check_melodies(card)
    assert world.melody(*world.behind(card, [2])) == write(sing(draw_event("test", 2)))
    with pytest.raises(StimuliError, match="'photos' has no melodies"):
        check_melodies(replace(card, name="photos", source={"kind": "folder"}))
