"""Data sets as people have them: made by code, opened, and compared with what they must give."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from core.errors import StimuliError
from core.stimuli.addition import Addition, choices_of, open_addition
from core.stimuli.catalog import open_dataset
from core.stimuli.preview import preview_folder

Files = dict[str, object]
A, B = ["one dog", "a dog, running"], ["two cats", "cats; asleep"]
ROWS = [("a.png", A), ("b.png", B)]


def picture(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def at(folder: str = "", a: str = "a.png", b: str = "b.png") -> Files:
    """Return two images, of shades 40 and 80, in a subfolder."""
    return {f"{folder}{a}": picture(40), f"{folder}{b}": picture(80)}


def lines(mark: str, header: str, quote: str = "") -> str:
    rows = [
        [image, str(at), f"{quote}{text}{quote}"]
        for image, texts in ROWS
        for at, text in enumerate(texts)
    ]
    return "\n".join([header, *(mark.join(row) for row in rows)])


def table(frame: dict[str, list[object]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(frame), file)
    return file.getvalue()


COCO = {
    "info": {},
    "images": [{"id": 7, "file_name": "a.png"}, {"id": 3, "file_name": "b.png"}],
    "annotations": [
        {"id": 1, "image_id": 3, "caption": B[0]},
        *({"id": 2 + at, "image_id": 7, "caption": text} for at, text in enumerate(A)),
        {"id": 9, "image_id": 3, "caption": B[1]},
    ],
}
LISTS = [{"file_name": image, "captions": texts} for image, texts in ROWS]
JSONL = "\n".join(map(json.dumps, LISTS))
FIRST = [A[:1], B[:1]]
PLAIN = "image,caption\n" + "\n".join(f"{image},{texts[0]}" for image, texts in ROWS)
NAMES, ROWS_OF, X = ["a.png", "b.png"], ["0", "1"], ["x1", "x2"]

# name, files, options, ids, captions of each stimulus or a word of the refusal
ZOO: list[tuple[str, Files, dict[str, object], list[str], list[list[str]] | str]] = [
    ("tabs", {**at(), "c.csv": lines("\t", "image\tlevel\tcaption")}, {}, NAMES, [A, B]),
    ("semicolons", {**at(), "c.csv": lines(";", "image;level;text", '"')}, {}, NAMES, [A, B]),
    (
        "COCO",
        {**at("val2017/"), "annotations/captions_val2017.json": json.dumps(COCO)},
        {},
        NAMES,
        [A, B],
    ),
    ("records", {**at(), "d.json": json.dumps(LISTS)}, {}, NAMES, [A, B]),
    (
        "two parts",
        {
            **at("train/"),
            **at("test/", "b.png", "a.png"),
            "train/metadata.jsonl": JSONL,
            "test/metadata.jsonl": JSONL,
        },
        {"table": "train/metadata.jsonl"},
        NAMES,
        [A, B],
    ),
    ("imagefolder", {**at("train/"), "train/metadata.jsonl": JSONL}, {}, NAMES, [A, B]),
    (
        "Parquet of lists",
        {**at(), "c.parquet": table({"path": NAMES, "texts": [A, B]})},
        {},
        NAMES,
        [A, B],
    ),
    (
        "two of a name",
        {**at("p/"), **at("q/"), "c.csv": PLAIN},
        {},
        [],
        "may be p/a.png or q/a.png",
    ),
    (
        "other folder",
        {**at("val/"), "c.csv": PLAIN.replace("a.png", "train/a.png")},
        {},
        [],
        "train/a.png is not in",
    ),
    (
        "elsewhere",
        {"../o/a.png": picture(40), "../o/b.png": picture(80), "c.csv": PLAIN, "p": "../o"},
        {"link": True},
        NAMES,
        FIRST,
    ),
    (
        "elsewhere unasked",
        {**at("../o/"), "c.csv": PLAIN.replace("a.png", "../o/a.png"), "p": "../o"},
        {},
        [],
        "use --link to read it there",
    ),
    (
        "named columns",
        {**at(), "c.csv": "x,y,text\na.png,one,no\nb.png,two,no"},
        {"image_column": "x", "text_column": "y"},
        NAMES,
        [["one"], ["two"]],
    ),
    (
        "no such column",
        {**at(), "c.csv": "image,words\na.png,x"},
        {},
        [],
        "--text-column names the one that holds",
    ),
    (
        "instances",
        {**at(), "d.json": json.dumps({**COCO, "annotations": [{"bbox": [1]}]})},
        {},
        [],
        "holds a dict and no captions",
    ),
    (
        "texts in lines",
        {"t.txt": "one\n\ntwo, three\n"},
        {"texts_only": True},
        ROWS_OF,
        [["one"], ["two, three"]],
    ),
    ("ids", {"t.csv": "stimulus;kind\nx1;sea\nx2;air"}, {"ids": "t.csv"}, X, []),
    ("ids in lines", {"t.txt": "x1\nx2\n"}, {"ids": "t.txt"}, X, []),
    ("ids twice", {"t.csv": "id\nx\nx"}, {"ids": "t.csv"}, [], "x is there twice"),
]
SAMPLE = ("COCO", "two of a name", "ids")


def put(folder: Path, files: Files) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if str(data).startswith("../"):
            path.symlink_to(str(data))
        else:
            path.write_bytes(data if isinstance(data, bytes) else str(data).encode())


@pytest.mark.parametrize(
    ("files", "options", "ids", "expected"),
    [
        pytest.param(*case[1:], id=case[0], marks=[] if case[0] in SAMPLE else pytest.mark.slow)
        for case in ZOO
    ],
)
def test_data_as_they_come(
    files: Files,
    options: dict[str, object],
    ids: list[str],
    expected: list[list[str]] | str,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "in" / "here"
    put(folder, files)
    source = (
        {"ids": str(folder / str(options["ids"]))} if "ids" in options else {"folder": str(folder)}
    )
    addition = Addition("zoo", **{**options, **source})  # type: ignore[arg-type]
    if isinstance(expected, str):
        with pytest.raises(StimuliError, match=expected):
            open_addition(addition)
        return
    dataset = open_addition(addition)
    texts = dataset.captions.groupby("index")["text"].apply(list).tolist()
    assert (dataset.stimuli["stimulus"].tolist(), texts) == (ids, expected)
    assert open_dataset(dataset.card).card == dataset.card
    if dataset.card.has_images:
        shades = [dataset.image(place).getpixel((0, 0))[0] for place in range(len(ids))]
        assert shades == [80 if name[-5:] in ("b.png", "b", "1", "3") else 40 for name in ids]
    uneven = any("stimuli with fewer than" in note for note in dataset.notes)
    assert uneven == (len({len(one) for one in texts}) > 1)
    place, choices = choices_of(addition)
    preview = preview_folder(place, **choices)
    assert [one.stimulus for one in preview.samples] == ids
    assert preview.levels == dataset.card.levels


def test_factors_of_ids_are_read(tmp_path: Path) -> None:
    put(tmp_path, {"t.csv": "id,kind,count\na,sea,1\nb,air,2"})
    dataset = open_addition(Addition("d", ids=str(tmp_path / "t.csv")))
    assert dataset.stimuli.to_dict("list") == {
        "stimulus": ["a", "b"],
        "kind": ["sea", "air"],
        "count": [1, 2],
    }
    assert (dataset.card.holds, isinstance(dataset.stimuli, pd.DataFrame)) == ("ids", True)
