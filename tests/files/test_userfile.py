"""One file of a person: what is no regular file is not opened, and all faults are sentences."""

from __future__ import annotations

import os

import pytest

from core.errors import FeatureError, InputError, StimuliError
from core.files import userfile
from core.files.userfile import MB, UserFile, decode, said, shown


def open_file(path, **choices):
    return UserFile(path, "a plan in TOML", InputError, **choices)


@pytest.mark.parametrize("kind", ["a pipe or a device", "a folder"])
def test_what_is_no_regular_file_is_not_opened(tmp_path, kind):
    os.mkfifo(tmp_path / "x") if kind != "a folder" else (tmp_path / "x").mkdir()
    with pytest.raises(
        InputError, match=rf"x is {kind}; expected a plan in TOML, as a regular file$"
    ):
        open_file(tmp_path / "x")


@pytest.mark.parametrize("name", ["gone", "a\0b", "x/below"])
def test_a_missing_file(tmp_path, name):
    (tmp_path / "x").touch()
    with pytest.raises(InputError, match=r"there is no file .*; check its path, and that this"):
        open_file(tmp_path / name)


def test_a_file_of_too_many_bytes(tmp_path):
    (tmp_path / "x").write_bytes(bytes(11))
    assert open_file(tmp_path / "x", most=11).read() == bytes(11)
    with pytest.raises(
        InputError, match="x has 11 bytes; expected a plan in TOML, of 10 bytes at most"
    ):
        open_file(tmp_path / "x", most=10)


def test_memory_is_asked_for_before_it_is_taken(tmp_path, monkeypatch):
    (tmp_path / "x").touch()
    file = open_file(tmp_path / "x")
    monkeypatch.setattr(userfile, "room", lambda: 100 * MB)
    file.check_room(90 * MB)
    with pytest.raises(
        InputError, match="x takes 180 MB of memory, and 100 MB may be used, half of what is free"
    ):
        file.check_room(180 * MB)


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
            r"x, of 0 bytes, takes more memory than may be used; .*TOML: free some",
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
