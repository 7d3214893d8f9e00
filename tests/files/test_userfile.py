"""One file of a person: what is no regular file is not opened, and nothing is read without end."""

from __future__ import annotations

import os
import socket
from itertools import count

import pytest

from core.errors import FeatureError, InputError, StimuliError
from core.files import userfile
from core.files.limits import MB
from core.files.userfile import UserFile, decode, said, shown


def open_file(path, **choices):
    return UserFile(path, "a plan in TOML", InputError, **choices)


def put(tmp_path, kind):
    path = tmp_path / "x"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as listener:
            os.chdir(tmp_path)  # names of sockets are short
            listener.bind("x")
    else:
        path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a socket", "a device"])
def test_what_is_no_regular_file_is_not_opened(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = put(tmp_path, kind)
    monkeypatch.setattr(userfile.os, "open", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(
        InputError, match=rf"x is {kind}; expected a plan in TOML, as a regular file$"
    ):
        open_file(path)


def test_a_file_that_becomes_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    (tmp_path / "x").write_text("a = 1")
    file = open_file(tmp_path / "x")
    (tmp_path / "x").unlink()
    os.mkfifo(tmp_path / "x")
    with pytest.raises(InputError, match="x is a pipe"):
        file.read()


@pytest.mark.parametrize("name", ["gone", "a\0b", "x/below"])
def test_a_missing_file(tmp_path, name):
    (tmp_path / "x").touch()
    with pytest.raises(InputError, match=r"there is no file .*; check its path, and that this"):
        open_file(tmp_path / name)


def test_a_name_that_no_file_can_have(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*: File name too long; change its rights"):
        open_file(tmp_path / ("x" * 5000))


def test_a_file_of_too_many_bytes(tmp_path):
    (tmp_path / "x").write_bytes(bytes(11))
    assert open_file(tmp_path / "x", most=11).read() == bytes(11)
    with pytest.raises(
        InputError, match="x has 11 bytes; expected a plan in TOML, of 10 bytes at most"
    ):
        open_file(tmp_path / "x", most=10)


def test_what_is_written_behind_the_end_meanwhile_is_not_read(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"ab")
    file = open_file(path)
    with file.open() as opened:
        path.write_bytes(b"abcd")
        assert (file.size, opened.read(file.size)) == (2, b"ab")


def test_memory_is_asked_for_before_it_is_taken(tmp_path, monkeypatch):
    (tmp_path / "x").touch()
    file = open_file(tmp_path / "x")
    monkeypatch.setattr(userfile, "room", lambda: 100 * MB)
    file.take(90 * MB)
    with pytest.raises(
        InputError, match="x takes 180 MB of memory, and 100 MB may be used, half of what is free"
    ):
        file.take(90 * MB)
    file.let_go()
    file.take(90 * MB)


def test_reading_ends(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(bytes(100))
    clock = count(step=200.0)
    monkeypatch.setattr(userfile, "monotonic", lambda: next(clock))
    monkeypatch.setattr(userfile, "PART", 10)
    file = open_file(tmp_path / "x")
    file._start = 0.0
    with pytest.raises(InputError, match="x was not read within 300 s; copy it to a disk of this"):
        file.read()


def test_what_unpacks_to_far_more(tmp_path):
    (tmp_path / "x").write_bytes(bytes(1000))
    file = open_file(tmp_path / "x")
    file.check_ratio(64 * MB)
    with pytest.raises(InputError, match="x has 1,000 bytes and claims to unfold to 64,000,001"):
        file.check_ratio(64 * MB + 1)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            KeyError("a\nb"),
            r"x cannot be read \('a\\nb'\); expected a plan in TOML: copy or fetch it",
        ),
        (RuntimeError("first\nsecond"), r"x cannot be read \(first\); expected"),
        (RecursionError(), r"x cannot be read \(RecursionError\)"),
        (
            MemoryError(),
            r"x, of 0 bytes, asks for more memory than the .* free; .*TOML: free some",
        ),
    ],
)
def test_whatever_a_decoder_raises_is_a_sentence(tmp_path, error, message):
    (tmp_path / "x").touch()
    file = open_file(tmp_path / "x")
    with pytest.raises(InputError, match=message), file.decoding():
        raise error
    with pytest.raises(StimuliError, match=r"^as it is$"), file.decoding():
        raise StimuliError("as it is")


def test_text_is_utf_8_without_nul():
    assert decode("\ufeffé".encode(), "x", FeatureError) == "é"
    for data, message in (
        (b"a\n\xff", "x is not UTF-8: byte 2, in line 2, is 0xff; UTF-8 was expected"),
        (b"a\n\nb\0", "x has a NUL character at byte 4, in line 3"),
    ):
        with pytest.raises(FeatureError, match=message):
            decode(data, "x", FeatureError)


def test_what_a_file_says_stays_on_one_line():
    assert shown("a\nb") == r"'a\nb'"
    assert shown("x" * 200) == f"'{'x' * 80}' …"
    assert said(ValueError("a\x1b[31m" + "x" * 999 + "\nmore")) == "a [31m" + "x" * 194
