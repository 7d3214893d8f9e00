"""Where texts come from that models are to code: a file, a dataset's captions, OpenWebText from the
hub or its cache, the Cave's held-out captions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.encoders.checkpoint import digest_files
from core.errors import InputError, StimuliError, UnknownNameError
from core.files.parquet import as_text, read_parquet
from core.files.texts import json_lines
from core.files.userfile import TEXT, UserFile
from core.hub.repository import Repository
from core.settings import expand
from core.stimuli.dataset import check_captions
from core.stimuli.table import TEXT_COLUMNS, read_table, role_of
from core.stimuli.worlds import the_cave
from core.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


WEB, CAVE = "owt", "cave"
_HUB_ID = "Skylion007/openwebtext"
_FILES = 80  # Parquet files of 100,000 documents each
FIRST = f"plain_text/train-00000-of-{_FILES:05d}.parquet"


@dataclass(frozen=True)
class Texts:
    """Texts in order, read one at a time. name: for people. source: all that they depend on."""

    name: str
    source: Mapping[str, Any]
    read: Callable[[], Iterator[str]]


def open_texts(name: str, store: Path | None = None) -> Texts:
    """Open `owt`, `cave`, a dataset of the store by its name (its captions of the first level) or a
    file: .txt (one text), or a table with a column `text` or `caption`.

    Raises OfflineError if OpenWebText is not in the cache and the hub cannot be reached, InputError
    for a file that is none of these, UnknownNameError for what is neither. Source of OpenWebText:
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
    if path.suffix.lower() not in _READERS:
        raise InputError(
            f"{path} is not a text; expected a file ending in {', '.join(_READERS)}, {WEB}, {CAVE}"
            " or the name of a dataset"
        )
    _file(path)  # what is no file, or too large, is not read for its digest
    return Texts(
        path.name,
        {"file": digest_files([path])},
        lambda: _READERS[path.suffix.lower()](_file(path)),
    )


def _read_web(commit: str) -> Iterator[str]:
    """Read documents file by file, each fetched when the one before is read: the first has more
    than ten times the usual sample.
    """
    for number in range(_FILES):
        yield from _read_parquet(_file(_fetch_web(number, commit)))


def _fetch_web(number: int, commit: str | None) -> Path:
    from core.hub.fetch import fetch_file  # half a second, only for those who use the hub

    name = f"plain_text/train-{number:05d}-of-{_FILES:05d}.parquet"
    return fetch_file(web_repository(commit), name)


def web_repository(commit: str | None) -> Repository:
    instead = f"--text FILE with texts of your own, or --text {CAVE}"
    return Repository(_HUB_ID, f"OpenWebText ({_HUB_ID})", instead, "dataset", commit)


def _file(path: Path) -> UserFile:
    return UserFile(path, "texts, in a column text where it is a table", InputError, most=TEXT)


def _read_captions(file: UserFile) -> Iterator[str]:
    try:
        table = read_table(file.path, wanted=TEXT_COLUMNS)
    except StimuliError as error:
        raise InputError(f"{error}") from error
    for number, row in enumerate(table.rows, start=1):
        cell = row["caption"]
        for text in cell if isinstance(cell, list) else [cell]:
            yield _checked(text, f"row {number} of {file.path}")


def _read_jsonl(file: UserFile) -> Iterator[str]:
    for number, record in json_lines(file):
        name = "text" if "text" in record else role_of([*record], "caption") or ""
        yield _checked(record.get(name), f"line {number} of {file.path}")


def _read_parquet(file: UserFile) -> Iterator[str]:
    """Read a file a thousand rows at a time, so that the rest of a large one is not read."""
    rows = count(1)
    for batch in read_parquet(file, check=_check_kind, columns=["text"]):
        with file.decoding():  # a text may be no UTF-8
            texts = batch.column("text").to_pylist()
        for text in texts:
            yield _checked(text, f"row {next(rows)} of {file.path}")


def _check_kind(name: str, kind: pa.DataType) -> None:
    import pyarrow as pa

    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(
            f"the column {name!r} holds {as_text(kind)}; expected text: write it as text"
        )


def _checked(text: Any, where: str) -> str:
    """Return a text; raises InputError for what is none, or has half a character in it that no
    UTF-8 can spell.
    """
    if not isinstance(text, str) or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f'{where} holds no text; expected {{"text": "…"}} in UTF-8')
    return text


_READERS: Mapping[str, Callable[[UserFile], Iterator[str]]] = {
    ".txt": lambda file: iter([file.text()]),
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".csv": _read_captions,
    ".json": _read_captions,
}
