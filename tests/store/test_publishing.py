"""Files outside the store are put in place in one step."""

from __future__ import annotations

import os
import stat
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


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a.csv")
    write_file(tmp_path / "link", b"data")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a.csv").read_bytes() == b"data"


def test_links_that_lead_to_one_another_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        write_file(tmp_path / "a", b"data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_file_keeps_its_rights_and_a_new_one_has_the_usual_ones(tmp_path: Path) -> None:
    kept, new, usual = (tmp_path / name for name in ("kept", "new", "usual"))
    kept.touch()
    kept.chmod(0o600)
    usual.touch()
    write_file(kept, b"data")
    write_file(new, b"data")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert new.stat().st_mode == usual.stat().st_mode


def test_the_longest_name_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / ("a" * 255)
    write_file(file, b"data")
    assert file.read_bytes() == b"data"


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
