"""Data sets as people have them: made by code, opened, and compared with what they must give."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from core.errors import StimuliError
from core.stimuli import hub
from core.stimuli.addition import Addition, choices_of, open_addition, settled
from core.stimuli.catalog import open_dataset
from core.stimuli.preview import preview_folder, preview_hub

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


def tar(files: Files) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            held = data if isinstance(data, bytes) else str(data).encode()
            entry.size = len(held)
            archive.addfile(entry, io.BytesIO(held))
    return file.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def struct(shade: int) -> dict[str, object]:
    return {"bytes": picture(shade), "path": None}


TOKENS = "\n".join(
    f"{image}#{at}\t{text}" for image, texts in ROWS for at, text in enumerate(texts)
)
COCO = {
    "info": {},
    "images": [{"id": 7, "file_name": "a.png"}, {"id": 3, "file_name": "b.png"}],
    "annotations": [
        {"id": 1, "image_id": 3, "caption": B[0]},
        *({"id": 2 + at, "image_id": 7, "caption": text} for at, text in enumerate(A)),
        {"id": 9, "image_id": 3, "caption": B[1]},
    ],
}
KARPATHY = {
    "dataset": "flickr8k",
    "images": [
        {"filename": image, "split": part, "sentids": [0], "sentences": [{"raw": t} for t in texts]}
        for (image, texts), part in zip(ROWS, ("train", "test"), strict=True)
    ],
}
HUB = table({"image": [struct(40), struct(80)], "caption": [A, B]})
LISTS = [{"file_name": image, "captions": texts} for image, texts in ROWS]
JSONL = "\n".join(map(json.dumps, LISTS))
FIRST = [A[:1], B[:1]]
PLAIN = "image,caption\n" + "\n".join(f"{image},{texts[0]}" for image, texts in ROWS)
NAMES, ROWS_OF, X = ["a.png", "b.png"], ["0", "1"], ["x1", "x2"]
WEB = {"a.png": picture(40), "a.txt": "\n".join(A), "b.png": picture(80), "b.txt": "\n".join(B)}
JSONS = {
    **{"00/a.png": picture(40), "00/a.json": json.dumps({"caption": A})},
    **{"00/b.png": picture(80), "00/b.json": json.dumps({"captions": B})},
}

# name, files, options, ids, captions of each stimulus or a word of the refusal
ZOO: list[tuple[str, Files, dict[str, object], list[str], list[list[str]] | str]] = [
    ("Flickr8k", {**at("Images/"), "Flickr8k.token.txt": TOKENS}, {}, NAMES, [A, B]),
    (
        "Flickr30k",
        {
            **at("flickr30k-images/"),
            "results.csv": lines("| ", "image_name| comment_number| comment")
            + '\nb.png| 2 lost " |',
        },
        {"skip_broken": True},
        NAMES,
        [A, B],
    ),
    (
        "a comma first",
        {**at(), "f.txt": "a.png#0\tA child, in pink\nb.png#0\tC\n"},
        {},
        NAMES,
        [["A child, in pink"], ["C"]],
    ),
    ("tabs", {**at(), "c.tsv": lines("\t", "image\tlevel\tcaption")}, {}, NAMES, [A, B]),
    ("semicolons", {**at(), "c.csv": lines(";", "image;level;text", '"')}, {}, NAMES, [A, B]),
    ("bars", {**at(), "c.txt": lines("|", "filename|level|sentence")}, {}, NAMES, [A, B]),
    (
        "quotes in tabs",
        {**at(), "c.tsv": 'image\tcaption\na.png\t"Hi" she said\nb.png\t5" of snow'},
        {},
        NAMES,
        [['"Hi" she said'], ['5" of snow']],
    ),
    ("no header", {**at(), "c.csv": PLAIN.partition("\n")[2]}, {}, NAMES, FIRST),
    (
        "COCO",
        {**at("val2017/"), "annotations/captions_val2017.json": json.dumps(COCO)},
        {},
        NAMES,
        [A, B],
    ),
    ("Karpathy", {**at("x/"), "d.json": json.dumps(KARPATHY)}, {"split": "test"}, ["b.png"], [B]),
    ("records", {**at(), "d.json": json.dumps(LISTS)}, {}, NAMES, [A, B]),
    ("lines as JSON", {**at(), "dataset_infos.json": "{}", "d.json": JSONL}, {}, NAMES, [A, B]),
    (
        "numbers",
        {**at("", "007.png", "b.png"), "c.csv": "image_id,text\n7,x\nb,y"},
        {},
        ["7", "b"],
        [["x"], ["y"]],
    ),
    ("saved", {}, {}, ROWS_OF, [A, B]),
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
    ("captions by name", {**at(), "d.json": json.dumps(dict(ROWS))}, {}, NAMES, [A, B]),
    ("imagefolder", {**at("train/"), "train/metadata.jsonl": JSONL}, {}, NAMES, [A, B]),
    (
        "several columns",
        {**at(), "metadata.csv": "file_name,caption_1,caption_2\na.png,x,y\nb.png,z,"},
        {},
        NAMES,
        [["x", "y"], ["z"]],
    ),
    (
        "Parquet",
        {"data/test-0.parquet": HUB, "data/test-1.parquet": HUB},
        {},
        [*"0123"],
        [A, B] * 2,
    ),
    (
        "Parquet of bytes",
        {"x.parquet": table({"jpg": [picture(40)], "sentence": ["x"], "other": ["y"]})},
        {"text_column": "other"},
        ["0"],
        [["y"]],
    ),
    (
        "Parquet of lists",
        {**at(), "c.parquet": table({"path": NAMES, "texts": [A, B]})},
        {},
        NAMES,
        [A, B],
    ),
    (
        "WebDataset",
        {"0.tar": tar({"./._a.png": b"x", **{f"./{name}": data for name, data in WEB.items()}})},
        {},
        NAMES,
        [A, B],
    ),
    (
        "shards",
        {"w/0.tar": tar(JSONS), "w/1.tar": tar(JSONS)},
        {},
        [f"{part}/00/{name}" for part in "01" for name in NAMES],
        [A, B] * 2,
    ),
    ("tar cut off", {"0.tar": tar(WEB).rstrip(b"\0")}, {}, [], "expected a whole tar file"),
    (
        "texts by name",
        {f"deep/{name}": data for name, data in WEB.items()},
        {},
        ["deep/a.png", "deep/b.png"],
        [A, B],
    ),
    (
        "Windows",
        {**at("p/"), "c.csv": PLAIN.replace("a.png", "D:\\my\\p\\a.png")},
        {},
        ["D:/my/p/a.png", "b.png"],
        FIRST,
    ),
    (
        "letters and endings",
        {**at("p/", "A.PNG"), "c.csv": PLAIN.replace("b.png", "b")},
        {},
        ["a.png", "b"],
        FIRST,
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
        "--link reads it where it is",
    ),
    (
        "link unasked",
        {**at("../o/"), "c.csv": PLAIN, "p": "../o"},
        {},
        [],
        "p is a link, which --link follows",
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
        "annotations.*and no captions",
    ),
    ("no table", {**at(), "x.pdf": "x"}, {}, [], r"2 \.png, 1 \.pdf"),
    (
        "texts in lines",
        {"t.txt": "one\n\ntwo, three\n"},
        {"texts_only": True},
        ROWS_OF,
        [["one"], ["two, three"]],
    ),
    ("ids", {"t.csv": "stimulus;kind\nx1;sea\nx2;air"}, {"ids": "t.csv"}, X, []),
    ("ids in lines", {"t.txt": "x1\nx2\n"}, {"ids": "t.txt"}, X, []),
    ("ids of features", {"f.npz": npz(id=np.array(X), x=np.eye(2))}, {"ids": "f.npz"}, X, []),
    ("rows of features", {"f.npz": npz(x=np.eye(2))}, {"ids": "f.npz"}, ROWS_OF, []),
    ("ids twice", {"t.csv": "id\nx\nx"}, {"ids": "t.csv"}, [], "x is there twice"),
]
SAMPLE = ("Flickr8k", "COCO", "WebDataset", "two of a name", "ids")


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
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(hub, "confine", lambda work, *given, **_: work(*given))
    folder = tmp_path / "in" / "here"
    put(folder, files)
    if not files:
        images = {"image": [struct(40), struct(80)], "caption": [A, B]}
        datasets.Dataset.from_dict(images).cast_column("image", datasets.Image()).save_to_disk(
            str(folder)
        )
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
    seen = settled(addition)
    place, choices = choices_of(seen)
    preview = preview_hub(seen) if seen.hub else preview_folder(place, **choices)
    assert [one.stimulus for one in preview.samples] == ids
    assert (preview.levels, preview.is_whole) == (dataset.card.levels, True)


def test_factors_of_ids_are_read(tmp_path: Path) -> None:
    put(tmp_path, {"t.csv": "id,kind,count,x\na,sea,1,0.5\nb,air,2,1"})
    dataset = open_addition(Addition("d", ids=str(tmp_path / "t.csv")))
    assert dataset.stimuli.to_dict("list") == {
        "stimulus": ["a", "b"],
        "kind": ["sea", "air"],
        "count": [1, 2],
    }
    assert (dataset.card.holds, isinstance(dataset.stimuli, pd.DataFrame)) == ("ids", True)
