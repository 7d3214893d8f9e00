"""Files outside the store are put in place in one step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.store.publishing import write_file


def test_a_file_is_replaced_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"before")
    (tmp_path / ".a.csv.new").write_bytes(b"mine")
    write_file(file, b"after")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a.csv": b"after",
        ".a.csv.new": b"mine",
    }


def test_what_is_killed_before_the_end_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    file = tmp_path / "a.csv"
    file.write_bytes(b"before")
    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_file(file, b"after")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.csv", b"before")]


def test_writers_of_one_file_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, flush = tmp_path / "a.csv", os.fsync

    def meet_another(handle: int) -> None:
        monkeypatch.setattr("os.fsync", flush)
        write_file(file, b"of another")
        flush(handle)

    monkeypatch.setattr("os.fsync", meet_another)
    write_file(file, b"of the last")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [
        ("a.csv", b"of the last")
    ]


def test_a_pipe_takes_what_is_written_and_a_folder_refuses(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", b"data")
    assert os.read(end, 10) == b"data"
    os.close(end)
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, b"data")
