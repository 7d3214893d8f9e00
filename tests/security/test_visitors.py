"""What SECURITY.md says that visitors may do is all that they may do."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from core.cli import make_parser
from core.errors import InputError
from pages._parts.jobs import adding
from pages._parts.library import add_dataset

READS = {  # by command that can be a job: what of it names a file or a folder to read
    "bits-per-byte": {"--text"},
    "color agreement": {"--source"},
    "color layout": {"--source"},
    "competence import": {"file"},
    "dataset add": {"--folder", "--table", "--ids"},
    "embed": {"--model"},
    "import": {"file"},
    "probe": {"--task"},
    "score": {"x", "y"},
    "summarize": {"--model", "--instruction"},
}
WRITES = {  # what names one to write, or a command that does so by itself
    "adapt": {"--save"},
    "study run": {"name", "--data", "--models", "--to"},
    "train": {"--runs", "--weights"},
}
NAMES_FILE = re.compile(r"\b(FILE|DIR|FOLDER|FILE_X|FILE_Y|PATH)\b|\b(folder|file)\b")
NO_FILE = {  # what speaks of files and names none
    ("dataset add", "--title"),
    ("import", "--id-column"),
    ("import", "--name"),
}


def job_commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command that can be a job, with its parser."""
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    for name, command in (item for group in groups for item in group.choices.items()):
        yield from job_commands(command, (*words, name))
    if not groups and parser.get_default("job"):
        yield " ".join(words), parser


def files_of(command: str, parser: argparse.ArgumentParser) -> set[str]:
    """Return what of a command takes a text and says that it is a file or a folder."""
    texts = [one for one in parser._actions if one.nargs != 0 and not one.choices]
    named = {(one.option_strings or [one.dest])[-1]: one for one in texts if one.dest != "store"}
    return {
        name
        for name, one in named.items()
        if NAMES_FILE.search(f"{one.metavar} {one.help}") and (command, name) not in NO_FILE
        if not re.search(r"_read_number", str(one.type))
    }


def test_the_files_that_a_job_may_name_are_a_closed_list():
    named = {name: files_of(name, parser) for name, parser in job_commands(make_parser())}
    assert {name: files for name, files in named.items() if files} == READS | WRITES


@pytest.mark.parametrize(
    "words",
    [
        *(["adapt", flag, "/x"] for flag in ("--save", "--sav", "--s")),
        ["adapt", "--save=/x"],
        ["study", "run", "figure-2", "--to", "/x"],
        ["study", "run", "figure-2"],
        ["train", "vit-mae-xs"],
        ["probe", "--on", "ray://evil.example:10001"],
        ["probe", "--on=ray://evil.example:10001"],
        ["--store", "/x", "demo"],
    ],
)
def test_no_job_of_a_visitor_writes_elsewhere_or_reaches_another_machine(words):
    with pytest.raises(InputError, match=r"terminal|expected a command first"):
        adding._refuse_outside(words)


def hub_words(how, name):
    return ["dataset", "add", "x", *(word.format(name) for word in how)]


@pytest.mark.parametrize("how", [["--hub", "{}"], ["--hub={}"], ["--hu", "{}"], ["--hu={}"]])
def test_no_visitor_names_a_local_folder_as_a_data_set_of_the_hub(how, tmp_path, monkeypatch):
    local = ("owner/name", "flickr30k")
    for name in ("minhuh/prh", "wit_1024", *local):
        adding._refuse_outside(hub_words(how, name))
    for name in local:
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for name in (str(tmp_path), "~", "..", "../x", "a/b/c", "a/..", "text", "", *local):
        with pytest.raises(InputError, match="expected a data set of the hub, as owner/name"):
            adding._refuse_outside(hub_words(how, name))


def test_the_form_of_the_hub_takes_no_local_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(add_dataset, "pick_option", lambda *_, **__: str(tmp_path))
    with pytest.raises(InputError, match=r"got '/.*; for a local folder .* in a terminal"):
        add_dataset._pick_hub()
