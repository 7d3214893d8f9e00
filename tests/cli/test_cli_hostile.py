"""No text of a store reaches a terminal as a command to it."""

from __future__ import annotations

import io
import json
import sys

import pytest
from tqdm import tqdm

from core.cli import main
from core.visible import visible, visible_output
from tests.pages.hostile import build_hostile, hostile


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return build_hostile(tmp_path_factory.mktemp("hostile"), 12)


@pytest.mark.parametrize(
    "words",
    [
        ["dataset", "list"],
        ["model", "list", "--dataset", "mine", "--json"],
        ["align", "--dataset", "\x1b[31m\u202e"],
    ],
)
def test_what_a_command_prints_moves_no_cursor(store, capsys, words):
    main([*words, "--store", str(store)])
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert text
    assert text == visible(text)


def test_json_has_every_character(store, capsys):
    assert main(["dataset", "list", "--json", "--store", str(store)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["title"] == hostile("dataset")


def test_progress_bars_still_redraw_their_line(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with visible_output():
        bar = tqdm(total=2, desc="a\x1b[2J", file=sys.stderr, mininterval=0, miniters=1)
        bar.update(1)
        bar.close()
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().count("\ra") > 1


def test_a_closed_stream_stays_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with visible_output():
        assert sys.stdout is None
