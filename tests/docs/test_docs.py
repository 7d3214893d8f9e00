"""Docs are tests: what the program offers, the docs know, and what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.cli import make_parser
from core.plans.reading import open_plan, shipped
from core.settings import ROOT
from docs.published import read_ours, read_works
from docs.reference import PAGES as REFERENCE
from docs.reference import commands
from tests.navigation import PAGES

README = (ROOT / "README.md").read_text()
DOCS = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}
COMMANDS = [words for words, _ in commands(make_parser(), "platoscope")]


def page_of(path: Path) -> str:
    """Return what a page is called among the pages; "" for a part of pages."""
    name = path.relative_to(ROOT / "pages").with_suffix("").as_posix()
    return "" if name.startswith("_") else name


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    assert DOCS[name] == REFERENCE[name](), "run `make docs`"


def test_every_command_and_every_option_has_a_help() -> None:
    for words, parser in commands(make_parser(), "platoscope"):
        assert parser.description, words
        assert all(action.help for action in parser._actions), words


def test_the_readme_knows_every_page_and_no_other() -> None:
    assert {page.name.partition("/")[0] for page in PAGES} == {
        page_of(path) for path in (ROOT / "pages").rglob("*.py")
    } - {"", "frame"}
    table = README.split("## Pages")[1].split("\n## ")[0]
    assert set(re.findall(r"\*\*([A-Z][^*]+)\*\*", table)) == {page.title for page in PAGES}


@pytest.mark.parametrize("text", [README, *DOCS.values()], ids=["README.md", *DOCS])
def test_no_page_names_a_command_or_a_file_that_does_not_exist(text: str) -> None:
    written = re.findall(r"^ {4}platoscope ([a-z][^\n]*)", text, flags=re.M)
    assert all(
        any(f"platoscope {line} ".startswith(f"{words} ") for words in COMMANDS) for line in written
    )
    links = re.findall(r"\]\(([^)#\s]+)\)", text)
    files = [link for link in links if not link.startswith("http")]
    assert all((ROOT / file).exists() or (ROOT / "docs" / file).exists() for file in files)


def test_the_docs_know_every_variable() -> None:
    folders = ("core", "pages")
    sources = [ROOT / "app.py", *(p for f in folders for p in (ROOT / f).rglob("*.py"))]
    quoted = r"[\"'](PLATOSCOPE_[A-Z_]+|HF_[A-Z_]+)[\"']"
    named = {name for path in sources for name in re.findall(quoted, path.read_text())}
    named |= set(re.findall(r"^([A-Z_]+) \?=", (ROOT / "Makefile").read_text(), flags=re.M))
    settings = DOCS["settings.md"]
    assert named
    assert {name for name in named if name not in settings} == set()


def test_every_published_figure_names_a_command_and_our_value_is_of_its_own() -> None:
    """Our values are measured by `python -m docs.published STORE` after a row's command changes."""
    rows = [(work, one) for work in read_works() for one in work.rows]
    measured = {(work.name, one.place, one.demo) for work, one in rows if one.demo}
    assert set(read_ours()) == measured
    for work, one in rows:
        assert bool(one.study) != bool(one.ask), (work.name, one.place)
        words = f"platoscope {one.demo or one.ask or one.command} "
        assert any(words.startswith(f"{command} ") for command in COMMANDS), one.place
        if one.study:
            assert one.figure in {figure.name for figure in open_plan(one.study).figures}


def test_every_figure_of_a_study_is_listed() -> None:
    listed = {(one.study, one.figure) for work in read_works() for one in work.rows if one.study}
    plans = [plan for plan in map(open_plan, shipped()) if plan.source]  # others are ours
    drawn = {(plan.name, figure.name) for plan in plans for figure in plan.figures}
    assert listed == drawn
