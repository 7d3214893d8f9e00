"""Texts that models code: a file, a dataset's captions, OpenWebText, the Cave's captions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.encoders.checkpoint import digest_files
from core.errors import InputError, StimuliError, UnknownNameError
from core.files.parquet import read_parquet
from core.files.userfile import TEXT, UserFile
from core.hub.repository import Repository
from core.recipe import Plain
from core.settings import expand
from core.stimuli.dataset import check_captions
from core.stimuli.table import TEXT_COLUMNS, read_table
from core.stimuli.worlds import the_cave
from core.store import Store

WEB, CAVE = "owt", "cave"
TABLES = (".csv", ".json", ".jsonl", ".parquet")
_HUB_ID = "Skylion007/openwebtext"
_FILES = 80  # Parquet files of 100,000 documents each
FIRST = f"plain_text/train-00000-of-{_FILES:05d}.parquet"


@dataclass(frozen=True)
class Texts:
    """Texts in order, read one at a time. name: for people. source: all that they depend on."""

    name: str
    source: Plain
    read: Callable[[], Iterator[str]]


def open_texts(name: str, store: Path | None = None) -> Texts:
    """Open `owt`, `cave`, a dataset of the store by its name (its captions of the first level) or a
    file: .txt (one text), or a table with a column `text` or `caption`.

    Raise OfflineError if OpenWebText is not in the cache and the hub cannot be reached, InputError
    for a file that is none of these, UnknownNameError for another name. Source of OpenWebText:
    Gokaslan and Cohen (2019).
    """
    if name == WEB:
        commit = _fetch_web(0, None).parent.parent.name
        source = {"hub": _HUB_ID, "revision": commit}
        return Texts("OpenWebText", source, lambda: _read_web(commit))
    if name == CAVE:
        world = the_cave()
        events = world.sample("test", world.test_size)
        captions = [world.caption(event, world.levels[0]) for event in events]
        written = hashlib.sha256("\n".join(captions).encode()).hexdigest()
        return Texts("the Cave's captions", {"cave": written}, lambda: iter(captions))
    path = expand(name)
    cards = {card.name: card for card in Store(store).datasets()} if store else {}
    if store and name in cards and not path.is_file():
        check_captions(card := cards[name])
        table = Store(store).captions(name)
        texts = table.loc[table["level"] == card.levels[0], "text"].tolist()
        source = {"dataset": card.revision, "level": card.levels[0]}
        return Texts(f"captions of {card.title}", source, lambda: iter(texts))
    if not path.exists():
        raise UnknownNameError("text file or dataset", name, [WEB, CAVE, *cards])
    if path.suffix.lower() not in (".txt", *TABLES):
        raise InputError(
            f"{path} is not a text; expected a file ending in .txt, {', '.join(TABLES)}, {WEB},"
            f" {CAVE} or the name of a dataset"
        )
    file = _file(path)  # what is no file, or too large, is not read for its digest
    read = _read_table if path.suffix.lower() in TABLES else lambda file: iter([file.text()])
    return Texts(path.name, {"file": digest_files([path])}, lambda: read(file))


def _read_web(commit: str) -> Iterator[str]:
    """Read documents file by file, each fetched when the one before is read: the first has more
    than ten times the usual sample.
    """
    for number in range(_FILES):
        file = _file(_fetch_web(number, commit))
        for batch in read_parquet(file, check=lambda _, __: None, columns=["text"]):
            yield from batch.column("text").to_pylist()


def _fetch_web(number: int, commit: str | None) -> Path:
    from core.hub.fetch import fetch_file  # half a second, only for those who use the hub

    name = f"plain_text/train-{number:05d}-of-{_FILES:05d}.parquet"
    return fetch_file(web_repository(commit), name)


def web_repository(commit: str | None) -> Repository:
    instead = f"--text FILE with texts of your own, or --text {CAVE}"
    return Repository(_HUB_ID, f"OpenWebText ({_HUB_ID})", instead, "dataset", commit)


def _file(path: Path) -> UserFile:
    return UserFile(path, "texts, in a column text if it is a table", InputError, most=TEXT)


def _read_table(file: UserFile) -> Iterator[str]:
    try:
        table = read_table(file.path, wanted=TEXT_COLUMNS)
    except StimuliError as error:
        raise InputError(str(error)) from error
    for number, row in enumerate(table.rows, start=1):
        cell = row["caption"]
        for text in cell if isinstance(cell, list) else [cell]:
            # half a character has no UTF-8
            if not isinstance(text, str) or any("\ud800" <= one <= "\udfff" for one in text):
                raise InputError(f"row {number} of {file.path} holds no text in UTF-8")
            yield text
