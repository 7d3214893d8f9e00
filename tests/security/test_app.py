"""`platoscope app` hands on what it was told: a store that is read-only, and a proxy's name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from core.cli import main
from core.cli.app import serve_command
from core.settings import READ_ONLY
from pages._parts.library.uploads import MOST_MEGABYTES


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """Return the words of every server that was started in the place of this process."""
    words: list[list[str]] = []
    monkeypatch.setenv(READ_ONLY, "0")
    monkeypatch.setenv("PLATOSCOPE_STORE", "")
    monkeypatch.setattr("os.chdir", lambda _: None)
    monkeypatch.setattr("os.execv", lambda _, command: words.append(command))
    return words


def run(store: Path, *words: str) -> int:
    return main(["app", "--store", str(store), *words])


def test_read_only_reaches_the_server(started, tmp_path):
    assert run(tmp_path, "--read-only") == 0
    assert os.environ[READ_ONLY] == "1"
    assert started[0][:5] == [sys.executable, "-m", "streamlit", "run", "app.py"]


def test_without_it_the_store_may_change(started, tmp_path):
    assert run(tmp_path) == 0
    assert os.environ[READ_ONLY] == "0"
    assert started[0].count("--server.allowedHosts") == 3  # names of this machine


@pytest.mark.parametrize(
    ("name", "host", "path"),
    [
        ("example.org", "example.org", ""),
        ("example.org/", "example.org", ""),
        ("a.example.org/one/two", "a.example.org", "one/two"),
    ],
)
def test_a_proxys_name_becomes_host_and_path(started, tmp_path, name, host, path):
    assert run(tmp_path, "--behind", name) == 0
    assert started[0][-4:] == ["--server.allowedHosts", host, "--server.baseUrlPath", path]


@pytest.mark.parametrize("name", ["*", "https://example.org", "example.org:443", "a b", "--x"])
def test_what_is_no_host_and_path_is_refused(started, tmp_path, capsys, name):
    assert run(tmp_path, f"--behind={name}") == 2
    assert (
        "--behind is a host, and a path if any, such as example.org/platoscope; got"
        in capsys.readouterr().err
    )
    assert started == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--read-only", "--demo"], "is not written: this store is read-only"),
        (["--read-only", "--store", "/nowhere"], "there is no store in /nowhere to show"),
    ],
)
def test_what_cannot_be_shown_is_refused(started, tmp_path, capsys, words, sentence):
    assert run(tmp_path, *words) == 2
    assert sentence in capsys.readouterr().err
    assert started == []


@pytest.mark.parametrize(("value", "most"), [("0", MOST_MEGABYTES), ("1", 0)])
def test_a_store_takes_as_large_an_upload_as_its_forms_say_and_none_that_is_shown(
    monkeypatch, value, most
):
    monkeypatch.setenv(READ_ONLY, value)
    words = serve_command(8501)
    assert words[words.index("--server.maxUploadSize") + 1] == str(most)
