"""A preview finds in the first rows what opening the folder finds in all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from core.stimuli.preview import Limits, preview_folder

Rows = list[dict[str, object]]


def make(folder: Path, rows: Rows, images: str = "abcdef") -> Path:
    for number, name in enumerate(images):
        Image.new("RGB", (640, 320), (40 * number, 0, 0)).save(folder / f"{name}.jpg")
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def rows_of(images: str, captions: int = 2) -> Rows:
    return [
        {"image": f"{name}.jpg", "caption": f"{name}{number}", "scene": "sea"}
        for name in images
        for number in range(captions)
    ]


def test_samples_are_the_first_stimuli_with_their_captions(tmp_path: Path) -> None:
    preview = preview_folder(make(tmp_path, rows_of("abcdef")), limits=Limits(samples=2))
    first, second = preview.samples
    assert (first.stimulus, first.captions) == ("a.jpg", (("0", "a0"), ("1", "a1")))
    assert second.stimulus == "b.jpg"
    assert second.image.size == (224, 112)
    assert second.image.getpixel((5, 5))[0] == pytest.approx(40, abs=2)
    assert (preview.levels, preview.factors) == (("0", "1"), ("scene",))
    assert (preview.rows, preview.images, preview.unread) == (12, 6, 0)
    assert preview.problems == ()


def test_a_look_at_texts_alone_opens_no_image(tmp_path: Path) -> None:
    folder = make(tmp_path, rows_of("abcdef"), images="")
    preview = preview_folder(folder, texts_only=True, limits=Limits(samples=2))
    assert [(sample.stimulus, sample.image) for sample in preview.samples] == [
        ("a.jpg", None),
        ("b.jpg", None),
    ]
    assert preview.samples[0].captions == (("0", "a0"), ("1", "a1"))
    assert (preview.rows, preview.images, preview.unread) == (12, 0, 0)
    assert preview.problems == ()


def test_a_look_ends_with_its_time(tmp_path: Path) -> None:
    folder = make(tmp_path, rows_of("abcd"))
    for name in "cd":
        (folder / f"{name}.jpg").write_bytes(b"no image")
    preview = preview_folder(folder, limits=Limits(images=2, seconds=-1.0))
    assert preview.problems == ()
    assert (preview.rows, preview.images, preview.unread) == (8, 4, 2)
    assert [sample.stimulus for sample in preview.samples] == ["a.jpg", "b.jpg"]
