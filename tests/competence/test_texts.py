"""Texts for models to code: files in three forms, OpenWebText from a cache of the hub, the Cave's
captions.
"""

from __future__ import annotations

import json
import os

import pandas as pd
import pytest
from huggingface_hub import constants
from store_fakes import CountedDataset

from core.cave.captions import LEVELS
from core.cave.events import TEST_SIZE
from core.cave.world import CaveDataset
from core.competence.texts import open_texts
from core.errors import InputError, OfflineError, UnknownNameError
from core.store import add_dataset
from tests.competence.labeled_files import put_in_cache

ODD = ["one\u2028line", "", "🦙 two\nlines", "x" * 9]


def test_files_in_four_forms(tmp_path):
    (tmp_path / "a.txt").write_text(ODD[2])
    (tmp_path / "a.jsonl").write_text(
        "\n".join(json.dumps({"text": text, "n": 1}, ensure_ascii=False) for text in ODD) + "\n\n"
    )
    pd.DataFrame({"n": range(4), "text": ODD}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"n": range(4), "caption": ODD}).to_csv(tmp_path / "a.csv", index=False, sep=";")
    named = (("a.txt", ODD[2:3]), ("a.jsonl", ODD), ("a.parquet", ODD), ("a.csv", ODD))
    for name, wanted in named:
        texts = open_texts(str(tmp_path / name))
        assert texts.name == name
        assert list(texts.read()) == list(texts.read()) == wanted
    assert (
        open_texts(str(tmp_path / "a.txt")).source != open_texts(str(tmp_path / "a.jsonl")).source
    )


def test_the_captions_of_a_dataset_are_texts(tmp_path):
    dataset = CountedDataset(3)
    add_dataset(tmp_path, dataset)
    texts = open_texts(dataset.card.name, tmp_path)
    first = dataset.captions["level"] == dataset.card.levels[0]
    assert list(texts.read()) == dataset.captions.loc[first, "text"].tolist()
    assert texts.source["dataset"] == dataset.card.revision


def test_the_cave_s_captions_are_its_held_out_ones():
    captions, texts = CaveDataset(12).captions, list(open_texts("cave").read())
    assert texts[:12] == captions.loc[captions["level"] == LEVELS[0], "text"].tolist()
    assert len(texts) == TEST_SIZE


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path


def test_the_web_s_texts_are_read_file_by_file(cache):
    folder = put_in_cache(cache, "Skylion007/openwebtext") / "plain_text"
    folder.mkdir(parents=True)
    for number, texts in enumerate((["first", "second"], ["third"])):
        pd.DataFrame({"text": texts}).to_parquet(folder / f"train-{number:05d}-of-00080.parquet")
    texts = open_texts("owt")
    assert (texts.name, texts.source) == (
        "OpenWebText",
        {"hub": "Skylion007/openwebtext", "revision": "0" * 40},
    )
    reading = texts.read()
    assert [next(reading) for _ in range(3)] == ["first", "second", "third"]
    with pytest.raises(
        OfflineError, match=r"OpenWebText \(Skylion007/openwebtext\) is not in the cache folder"
    ):
        next(reading)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pdf", b"x", "pdf is not a text; expected a file ending in .txt, .csv, .*, owt"),
        ("a.txt", b"ab\xff", "a.txt is not UTF-8: byte 2, in line 1, is 0xff"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 1}', "row 2 of .*a.jsonl holds no text"),
        ("a.jsonl", b"nothing", "line 1 of a.jsonl is not JSON"),
        ("a.jsonl", b'{"text": "\\ud800"}', "row 1 of .*a.jsonl holds no text"),
        ("a.jsonl", b'{"words": "a"}', "a.jsonl has no"),
        ("a.parquet", b"PAR1", "a.parquet cannot be read"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(open_texts(str(tmp_path / name)).read())
    with pytest.raises(UnknownNameError, match="no text file or dataset named 'cav'; did you mean"):
        open_texts("cav")


def test_what_is_no_file_or_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    # calling it would fail
    monkeypatch.setattr("core.competence.texts.digest_files", None)
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "a.parquet").mkdir()
    os.mkfifo(tmp_path / "a.jsonl")
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(10**12)
    for name, message in (
        ("zero.txt", r"zero.txt is a pipe or a device; expected texts"),
        ("a.parquet", r"a.parquet is a folder; expected texts"),
        ("a.jsonl", r"a.jsonl is a pipe or a device; expected texts"),
        ("large.txt", r"large.txt has 1,000 GB; expected texts, .*, of 2 GB at most"),
    ):
        with pytest.raises(InputError, match=message):
            open_texts(str(tmp_path / name))
    with pytest.raises(InputError, match="/dev/zero is not a text; expected a file ending in"):
        open_texts("/dev/zero")
