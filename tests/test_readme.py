"""Docs are tests: what the program offers, the README knows, and what the README names exists."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli import make_parser
from core.metrics import METRICS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def _commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...]
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    nested = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    if not nested:
        yield " ".join(words), parser
    for action in nested:
        for name, sub in action.choices.items():
            yield from _commands(sub, (*words, name))


COMMANDS = dict(_commands(make_parser(), ("platoscope",)))


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_knows_every_command(command: str) -> None:
    assert command in README


@pytest.mark.parametrize("command", COMMANDS)
def test_readme_knows_every_option(command: str) -> None:
    options = {
        option
        for action in COMMANDS[command]._actions
        for option in action.option_strings
        if option.startswith("--")
    }
    unknown = {option for option in options - {"--help"} if not re.search(rf"{option}\b", README)}
    assert not unknown


def test_readme_names_no_command_that_does_not_exist() -> None:
    written = re.findall(r"^ {4}(platoscope .*?)(?: {2,}|\[|$)", README, flags=re.M)
    assert written
    assert all(any(line.startswith(command) for command in COMMANDS) for line in written)


def test_readme_knows_every_metric_and_no_other() -> None:
    table = README.split("## Metrics")[1].split("## ")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, flags=re.M)) == set(METRICS)


def test_readme_knows_every_page() -> None:
    pages = dict(
        re.findall(r'st.Page\("pages/(\w+).py", title="([^"]+)"', (ROOT / "app.py").read_text())
    )
    assert set(pages) == {path.stem for path in (ROOT / "pages").glob("*.py")}
    table = README.split("## Pages")[1].split("## ")[0]
    assert set(re.findall(r"^\| ([A-Z][^|]*?) \|", table, flags=re.M)) == set(pages.values())


def test_readme_knows_every_variable() -> None:
    sources = [
        *(ROOT / "core").rglob("*.py"),
        *(ROOT / "pages").rglob("*.py"),
        *(ROOT / "tests").rglob("*.py"),
        ROOT / "app.py",
    ]
    named = {
        name
        for path in sources
        for name in re.findall(r"[\"'](PLATOSCOPE_[A-Z_]+|HF_[A-Z_]+)[\"']", path.read_text())
    }
    named |= set(re.findall(r"^([A-Z_]+) \?=", (ROOT / "Makefile").read_text(), flags=re.M))
    assert named
    assert {name for name in named if name not in README} == set()


def test_readme_pictures_exist() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
