"""Another process reads hub data sets, and ends alone where a file would take all memory."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import StimuliError
from core.files.userfile import MB
from core.stimuli import hub
from core.stimuli.hub import open_hub


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


def test_it_finds_what_is_there_and_says_what_is_not(folder: Path) -> None:
    pq.write_table(pa.table({"text": ["one", "two"]}), folder / "train.parquet")
    dataset = open_hub(str(folder), name="h", image_column="")
    assert dataset.captions["text"].tolist() == ["one", "two"]
    with pytest.raises(StimuliError, match=r"as a hub data set: .*; check the id"):
        open_hub(str(folder), name="h", split="test")


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited on Linux")
@pytest.mark.parametrize(
    ("name", "begin", "end"),
    [
        ("train.jsonl.gz", '{"text": "', '"}\n'),
        pytest.param("train.txt.gz", "one\n" * 1_000, "\n", marks=pytest.mark.slow),
    ],
)
def test_a_line_that_unpacks_to_more_than_there_is_room_for_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, begin: str, end: str
) -> None:
    monkeypatch.setattr(hub, "room", lambda: 200 * MB)
    with gzip.open(folder / name, "wt", compresslevel=1) as file:
        file.write(begin)
        for _ in range(300):
            file.write("x" * MB)
        file.write(end)
    assert (folder / name).stat().st_size < 3 * MB
    too_much = r"repo takes more than the 200 MB of memory that may be used, half of what is free"
    with pytest.raises(StimuliError, match=too_much):
        open_hub(str(folder), name="h", image_column="")
