"""Folders of images and captions: the order is the table's, and all that is wrong is said at
once.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from core.errors import StimuliError, UnknownNameError
from core.stimuli import folder as folders
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import OpenedDataset


def make(
    folder: Path, rows: list[dict[str, object]], *, images: str = "abcde", under: str = ""
) -> Path:
    """Write small images a.png … and captions.jsonl; return the folder."""
    (folder / under).mkdir(exist_ok=True)
    for number, name in enumerate(images):
        Image.new("RGB", (4, 4), (40 * number, 0, 0)).save(folder / under / f"{name}.png")
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def row(image: str, caption: object = "text", **more: object) -> dict[str, object]:
    return {"image": image, "caption": caption, **more}


def open_folder(folder: Path, **options: object) -> OpenedDataset:
    return folders.open_folder(folder, name="small", **options)


def test_flickr_is_its_table(flickr: Path) -> None:
    dataset = folders.open_folder(flickr, name="flickr")
    table = pd.read_csv(flickr / "captions.csv", dtype=str)
    assert dataset.card.size == 1000
    assert dataset.card.levels == ("0", "1", "2", "3", "4")
    assert dataset.stimuli["stimulus"].tolist() == table["image"].drop_duplicates().tolist()
    assert dataset.captions["text"].tolist() == table["caption"].tolist()
    assert dataset.captions["index"].tolist() == np.repeat(np.arange(1000), 5).tolist()
    assert dataset.notes == ("captions that two or more stimuli share: 2",)
    assert dataset.skipped == ()
    with Image.open(flickr / "images" / table["image"].iloc[-1]) as image:
        assert np.array_equal(dataset.image(999), image)
    assert open_dataset(dataset.card).card == dataset.card


def test_order_and_default_level_are_those_of_first_appearance(tmp_path: Path) -> None:
    rows = [
        row("c.png", "C20", level=20),
        row("a.png", "A5", level=5),
        row("c.png", "C5", level=5),
        row("a.png", "A20", level=20),
    ]
    dataset = open_folder(make(tmp_path, rows))
    assert dataset.card.levels == ("20", "5")
    assert dataset.stimuli["stimulus"].tolist() == ["c.png", "a.png"]
    assert dataset.captions.values.tolist() == [
        [0, "20", "C20"],
        [0, "5", "C5"],
        [1, "20", "A20"],
        [1, "5", "A5"],
    ]
    assert dataset.image(0).getpixel((0, 0)) == (80, 0, 0)
    assert dataset.reality is None


def test_images_alone_are_all_of_a_folder_without_captions(tmp_path: Path) -> None:
    make(tmp_path, [row("a.png")], images="ab")
    make(tmp_path, [], images="c", under="deep")
    make(tmp_path, [], images="d", under=".hidden")
    dataset = open_folder(tmp_path, images_only=True)
    assert dataset.stimuli["stimulus"].tolist() == ["a.png", "b.png", "deep/c.png"]
    assert (dataset.card.levels, len(dataset.captions)) == ((), 0)
    assert open_dataset(dataset.card).card == dataset.card
    (tmp_path / "b.png").write_bytes(b"no image")
    with pytest.raises(StimuliError, match=r"row 2: b.png is not an image"):
        open_folder(tmp_path, images_only=True)
    assert open_folder(tmp_path, images_only=True, skip_broken=True).card.size == 2


def test_texts_alone_are_those_of_the_table(tmp_path: Path) -> None:
    rows = [row("a.png", "one", scene="sea"), row("b.png", "two"), row("a.png", "three")]
    rows[2]["scene"] = "sea"
    dataset = open_folder(make(tmp_path, rows, images=""), texts_only=True)
    assert dataset.captions.values.tolist() == [[0, "0", "one"], [0, "1", "three"], [1, "0", "two"]]
    assert dataset.stimuli.columns.tolist() == ["stimulus", "scene"]
    assert (dataset.card.size, dataset.card.has_images) == (2, False)
    assert open_dataset(dataset.card).card == dataset.card
    with pytest.raises(StimuliError, match="'small' has texts and no images, which this needs"):
        dataset.image(0)


def test_texts_alone_belong_together_by_their_id_or_stand_for_themselves(tmp_path: Path) -> None:
    several = [{"id": 7, "caption": "a", "level": 5}, {"id": 7, "caption": "b", "level": 9}]
    dataset = open_folder(make(tmp_path, several, images=""), texts_only=True)
    assert (dataset.stimuli.values.tolist(), dataset.card.levels) == ([["7"]], ("5", "9"))
    dataset = open_folder(
        make(tmp_path, [{"caption": "a"}, {"caption": ""}, {"caption": "c"}], images=""),
        texts_only=True,
        skip_broken=True,
    )
    assert dataset.stimuli["stimulus"].tolist() == ["0", "2"]
    assert dataset.skipped == ("row 2: the caption of 1 is empty",)
    for broken, why in (
        ([{"caption": "a", "level": 5}], "none that says which captions belong together"),
        ([{"id": "", "caption": "a"}], "row 1: names no id"),
        ([{"id": "\ud800", "caption": "a"}], "the id of .* has half a character"),
    ):
        with pytest.raises(StimuliError, match=why):
            open_folder(make(tmp_path, broken, images=""), texts_only=True)


def test_images_may_stand_under_images_and_be_spelled_in_many_ways(tmp_path: Path) -> None:
    rows = [
        row("./a.png", "x"),
        row("images//b.png", "y"),
        row("a.png", "z"),
        row("images/../images/c.png"),
    ]
    dataset = open_folder(make(tmp_path, rows, under="images"))
    assert dataset.stimuli["stimulus"].tolist() == ["a.png", "images/b.png", "images/c.png"]


def test_factors_keep_their_kind(tmp_path: Path) -> None:
    rows = [
        row("a.png", count=1, mood="glad", day=True, size=None, zip="0123"),
        row("a.png", count=1, mood="glad", day=True, size=None, zip="0123"),
        row("b.png", count=2, mood="", day=False, size=0.5, zip="99"),
    ]
    stimuli = open_folder(make(tmp_path, rows)).stimuli
    assert stimuli.columns.tolist() == ["stimulus", "count", "mood", "day", "size", "zip"]
    assert stimuli["count"].tolist() == [1, 2]
    assert stimuli["mood"].tolist()[0] == "glad"
    assert stimuli["mood"].isna().tolist() == [False, True]
    assert stimuli["day"].tolist() == ["true", "false"]
    assert np.isnan(stimuli["size"][0])
    assert stimuli["size"][1] == 0.5
    assert stimuli["zip"].tolist() == ["0123", "99"]


BROKEN = [  # rows, the problem, the stimuli that remain
    (
        [row("a.png"), row("gone.png")],
        "row 2: image gone.png is not in the folder or its subfolders",
        ["a.png"],
    ),
    ([row("a.png"), row("b.png", "  ")], "row 2: the caption of b.png is empty", ["a.png"]),
    ([row("a.png"), row("b.png", None)], "row 2: the caption of b.png is missing", ["a.png"]),
    (
        [row("a.png"), row("b.png", 7)],
        "row 2: the caption of b.png is of type int, expected text",
        ["a.png"],
    ),
    (
        [row("a.png"), row("b.png", "x\0y")],
        "row 2: the caption of b.png has a NUL character",
        ["a.png"],
    ),
    (
        [row("a.png"), row("b.png", "\ud800")],
        "row 2: the caption of b.png has half a character (a lone surrogate)",
        ["a.png"],
    ),
    ([row("a.png"), row("")], "row 2: names no image", ["a.png"]),
    ([row("a.png"), row(None)], "row 2: names no image", ["a.png"]),
    (
        [row("a.png"), row("notes.txt")],
        "row 2: notes.txt is not an image; expected one of",
        ["a.png"],
    ),
    ([row("a.png"), row("cut.jpg")], "row 2: image cut.jpg is damaged or cut off", ["a.png"]),
    (
        [row("a.png"), row("../a.png")],
        (
            "row 2: image ../a.png is outside the folder; use --link to read it there, or copy it"
            " into here"
        ),
        ["a.png"],
    ),
    (
        [row("a.png"), row("/etc/hostname")],
        "row 2: image /etc/hostname is outside the folder",
        ["a.png"],
    ),
    ([row("a.png"), row("link.png")], "row 2: image link.png is outside the folder", ["a.png"]),
    ([row("a.png"), row("y" * 5000)], f"row 2: image {'y' * 294}…", ["a.png"]),
    ([row("a.png"), row("images")], "row 2: image images is not in the folder", ["a.png"]),
    (
        [row("b.png"), row("images/../b.png"), row("same.png")],
        "row 3: same.png and b.png are the same file; use one name",
        ["b.png"],
    ),
    (
        [row("a.png", level=1), row("b.png", level=1), row("b.png", "z", level=1)],
        "row 3: b.png has level 1 twice (also row 2)",
        ["a.png", "b.png"],
    ),
    (
        [row("a.png", level=1), row("a.png", level=None)],
        "row 2: a.png has no caption level",
        ["a.png"],
    ),
    (
        [row("a.png", level=1), row("b.png", level=2)],
        "row 2: b.png has no caption of level 1, the first in the table",
        ["a.png"],
    ),
    (
        [row("a.png", level=1), row("a.png", "", level=2)],
        "row 2: the caption of a.png is empty",
        ["a.png"],
    ),
    (
        [row("b.png", mood=1), row("a.png", mood=1), row("a.png", mood=2)],
        "row 3: mood of a.png is 2 but 1 in row 2",
        ["b.png"],
    ),
]


@pytest.mark.parametrize(("rows", "problem", "left"), BROKEN)
def test_one_broken_row_is_named_and_can_be_left_out(
    tmp_path: Path, rows: list[dict[str, object]], problem: str, left: list[str]
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    make(folder, rows)
    (folder / "images").mkdir()
    (folder / "notes.txt").write_text("no image")
    Image.new("RGB", (99, 99)).save(tmp_path / "outside.png")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "same.png").symlink_to(folder / "b.png")
    Image.effect_noise((99, 99), 50).save(tmp_path / "whole.jpg")
    (folder / "cut.jpg").write_bytes((tmp_path / "whole.jpg").read_bytes()[:-999])
    with pytest.raises(
        StimuliError,
        match=r"captions\.jsonl has 1 problem \(rows count from 1.*:\n  " + re.escape(problem),
    ) as caught:
        open_folder(folder)
    assert (
        "Correct them, or leave these out and keep the rest with skip_broken=True (--skip-broken)"
        in str(caught.value)
    )
    dataset = open_folder(folder, skip_broken=True)
    assert dataset.stimuli["stimulus"].tolist() == left
    assert len(dataset.skipped) == 1
    assert dataset.skipped[0].startswith(problem)
    assert open_dataset(dataset.card).card == dataset.card


def test_nothing_left_is_an_error_even_when_skipping(tmp_path: Path) -> None:
    with pytest.raises(
        StimuliError,
        match=(
            r"nothing is left of .*captions\.jsonl: all its stimuli are broken, first row 1:"
            r" image x"
        ),
    ):
        open_folder(make(tmp_path, [row("x.png"), row("y.png")]), skip_broken=True)
    with pytest.raises(
        StimuliError, match=r"nothing is left of .*first row 1: a\.png has no caption level"
    ):
        open_folder(make(tmp_path, [row("a.png", level="")]), skip_broken=True)


def test_the_table_can_be_chosen(tmp_path: Path) -> None:
    make(tmp_path, [row("a.png")])
    (tmp_path / "other.csv").write_text("image,caption\nb.png,x\n")
    dataset = open_folder(tmp_path, table=Path("other.csv"))
    assert dataset.stimuli["stimulus"].tolist() == ["b.png"]
    assert open_dataset(dataset.card).card == dataset.card
    with pytest.raises(StimuliError, match=r"has 2 tables: captions\.jsonl, other\.csv"):
        open_folder(tmp_path)


def test_the_revision_is_that_of_ids_captions_factors_and_images(tmp_path: Path) -> None:
    def revision(rows: list[dict[str, object]], images: str = "abcde") -> str:
        return open_folder(make(tmp_path, rows, images=images)).card.revision

    base = [row("a.png", "x", mood=1), row("b.png", "y", mood=2)]
    first = revision(base)
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert revision(base) == first
    changes = [
        revision(base[::-1]),
        revision([base[0], row("b.png", "z", mood=2)]),
        revision([base[0], row("b.png", "y", mood=3)]),
        revision([base[0], row("c.png", "y", mood=2)]),
        revision([row("a.png", "x", tone=1), row("b.png", "y", tone=2)]),
        revision(base, images="cab"),
    ]
    assert len({first, *changes}) == 7


def test_a_changed_dataset_is_not_the_same(tmp_path: Path) -> None:
    dataset = open_folder(make(tmp_path, [row("a.png"), row("b.png")]))
    Image.new("RGB", (5, 5)).save(tmp_path / "b.png")
    with pytest.raises(
        StimuliError,
        match=(
            r"b\.png has changed since the dataset was opened; add the folder again under a new"
            r" name"
        ),
    ):
        dataset.image(1)
    with pytest.raises(
        StimuliError,
        match=(
            r"dataset 'small' has changed: its revision was [0-9a-f]{12} and is now .* under a new"
            r" name"
        ),
    ):
        open_dataset(dataset.card)
    (tmp_path / "b.png").unlink()
    with pytest.raises(
        StimuliError,
        match=r"there is no file .*b\.png; check its path, and that this machine sees it",
    ):
        dataset.image(1)


@pytest.mark.parametrize("index", [-1, 2])
def test_a_stimulus_that_is_not_there(tmp_path: Path, index: int) -> None:
    dataset = open_folder(make(tmp_path, [row("a.png"), row("b.png")]))
    with pytest.raises(StimuliError, match=rf"no stimulus {index} in small; there are 0 … 1"):
        dataset.image(index)


def test_a_source_of_an_unknown_kind(tmp_path: Path) -> None:
    card = open_folder(make(tmp_path, [row("a.png")])).card
    with pytest.raises(
        UnknownNameError, match="no kind of dataset named 'foldr'; did you mean folder"
    ):
        open_dataset(replace(card, source={"kind": "foldr"}))


@pytest.mark.parametrize("name", ["", ".hidden", "..", "a/b", "a b", "-x", "é", "a\n", "x" * 101])
def test_names_that_cannot_be_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(StimuliError, match="cannot name a dataset; use up to 100 letters, digits"):
        folders.open_folder(make(tmp_path, [row("a.png")]), name=name)
