"""What the Cave shows and asks stays what it was, or its version is raised.

Nothing reads a source file to learn that the code changed: a `VERSION` is raised by hand. These
tests tell when one was forgotten.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from PIL import Image

from core.cave import exams, melodies, tasks
from core.cave.captions import LEVELS, describe
from core.cave.events import draw_event
from core.cave.melodies import sing, write
from core.cave.training.pool import VERSION, build_note_tokenizer, build_tokenizer
from tests.cave import sheets

SAVE = ", then python -m tests.cave.sheets"
CLOSE = 0.05  # gray levels on average: another machine may round a few pixels otherwise


def digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def differ(file: Path, drawn: np.ndarray) -> float:
    """Return by how many gray levels pictures differ from the sheet of their version."""
    kept = np.asarray(Image.open(file), dtype=float)
    return float(np.abs(kept - drawn).mean())


def test_pictures_are_those_of_the_drawing_s_version() -> None:
    advice = "pictures changed: raise VERSION in core/cave/drawing.py" + SAVE
    assert differ(sheets.plain_file(), sheets.plain()) < CLOSE, advice


def test_styles_are_those_of_the_tasks_version() -> None:
    advice = "styles changed: raise VERSION in core/cave/tasks.py" + SAVE
    assert differ(sheets.styled_file(), sheets.styled()) < CLOSE, advice


def test_labels_are_those_of_the_tasks_version() -> None:
    events = [draw_event(tasks.SPLIT, index) for index in range(200)]
    seen = [(event, tasks.look_of(event)) for event in events]
    labels = [f"{task.name} {task.classes} {tasks.labels(task, seen)}" for task in tasks.TASKS]
    advice = "labels changed: raise VERSION in core/cave/tasks.py"
    assert (tasks.VERSION, digest(labels)) == (1, "6d8405a92c140fb5"), advice


def test_items_are_those_of_the_exams_version() -> None:
    asked = [
        repr(item).replace("Choice", "Item") for exam in exams.SIZES for item in exams.items(exam)
    ]
    advice = "items changed: raise VERSION in core/cave/exams.py"
    assert (exams.VERSION, digest(asked)) == (1, "48b87b2690754052"), advice


def test_captions_of_events_are_what_they_were() -> None:
    told = [describe(draw_event("test", index), level) for index in range(64) for level in LEVELS]
    advice = "captions changed: the Cave's revision follows them; renew the digest, and VERSION of"
    advice += " core/cave/exams.py if their words are those of its items"
    assert digest(told) == "3bb143ac73bc9248", advice


def test_melodies_and_notes_are_those_of_their_version() -> None:
    sung = [write(sing(draw_event("test", index))) for index in range(64)]
    tokenizer = build_note_tokenizer()
    tokens = [str(tokenizer(text)["input_ids"]) for text in sung]
    advice = "melodies changed: raise VERSION in core/cave/melodies.py"
    assert (melodies.VERSION, digest(sung)) == (1, "b9b5fcfe1db9c66c"), advice
    vocabulary = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert digest([*vocabulary, *tokens]) == "0913ce35392cf9e9", "shipped models know other tokens"


def test_tokens_are_those_of_the_tokenizer_s_version() -> None:
    told = [describe(draw_event("train", index), LEVELS[0]) for index in range(64)]
    tokenizer = build_tokenizer(told, vocab_size=400)
    tokens = [str(tokenizer(text)["input_ids"]) for text in told]
    advice = "tokens changed: raise VERSION in core/cave/training/pool.py"
    learned = [*tokenizer.convert_ids_to_tokens(range(400)), *tokens]
    assert (VERSION, digest(learned)) == (1, "f668eee8142aab9e"), advice
