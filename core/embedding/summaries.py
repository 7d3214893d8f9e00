"""Captions put into fewer words by a model that follows instructions, stored as further levels of
their dataset. A run that was killed continues after its last batch.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from core.embedding.reading import read_texts
from core.errors import EncoderError, InputError, StoreBusyError, StoreWriteError
from core.files.userfile import NOTE, UserFile
from core.progress import Progress
from core.recipe import Recipe
from core.stimuli.dataset import check_captions
from core.store import Store, locked, write_result
from core.store.publishing import writing
from core.store.schema import SUMMARY, VERSIONS, result_file

if TYPE_CHECKING:  # with torch
    from core.encoders.language.chat import Chat

INSTRUCTION = (
    "The user gives you a description of an image. Put it into about {words} words that fit the"
    " same image. Keep as much of what can be seen as {words} words allow, what is told first above"
    " all. Answer with nothing but the new description, on one line."
)
NUMBER = "{words}"  # in an instruction, the number of words
BATCH = 16
TOKENS_PER_WORD, MORE_TOKENS = 3, 16  # an answer is cut behind them


def summarize(
    store: Path,
    dataset: str,
    writer: Chat,
    *,
    words: int,
    level: str | None = None,
    instruction: str = INSTRUCTION,
    report: Progress | None = None,
) -> str:
    """Put every caption into about `words` words, and store them as a level; return its name.

    level: the captions that are summarized, the dataset's default if None. instruction: to the
    writer, {words} in place of the number. Raise UnknownNameError for the dataset or level,
    InputError below one word, EncoderError if an answer is empty, StoreBusyError if another process
    writes the same.
    """
    if words < 1:
        raise InputError(f"expected captions of one word or more; got {words}")
    reader = Store(store)
    card = reader.dataset(dataset)
    check_captions(card)
    source = level or card.levels[0]
    name = level_name(words, writer.name, source=None if source == card.levels[0] else source)
    written = reader.summaries(dataset)
    # captions of a source that are not the dataset's own depend on how they were written
    texts = {"texts": written[source].digest} if source in written else {}
    recipe = Recipe.of(
        "captions",
        version=VERSIONS["captions"],
        dataset=card.name,
        revision=card.revision,
        weights=writer.weights,
        level=source,
        words=words,
        instruction=instruction,
        decoding="greedy",
        **texts,
    )
    target = result_file(store, dataset, f"{SUMMARY}{name}")
    part = target.with_name(f"{target.stem}.part.jsonl")
    if written.get(name) != recipe:
        captions = [" ".join(several) for several in read_texts(reader, dataset, source)]
        with locked(part):
            said = _resume(part, recipe, most=len(captions))
            told = recipe.choices["instruction"].replace(NUMBER, f"{words}")
            limit = TOKENS_PER_WORD * words + MORE_TOKENS
            with writing(part), part.open("a", encoding="utf-8") as file:
                for start in range(len(said), len(captions), BATCH):
                    answers = writer.answer(told, captions[start : start + BATCH], limit=limit)
                    if "" in answers:
                        raise EncoderError(
                            f"{writer.name} gave no answer to caption {start + answers.index('')};"
                            " choose another model"
                        )
                    lines = (json.dumps(one) + "\n" for one in enumerate(answers, start=start))
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
                    said += answers
                    if report:
                        report(len(said), len(captions), f"captions in {words} words")
            table = pd.DataFrame({"index": range(card.size), "level": name, "text": said})
            write_result(store, dataset=card, name=target.stem, table=table, recipe=recipe)
    if part.exists():  # also of a run that was killed before it could remove it
        with suppress(StoreBusyError, StoreWriteError), locked(part), writing(part):
            part.unlink(missing_ok=True)
    return name


def read_instruction(place: Path) -> str:
    """Read an instruction to a writer; raise InputError for a file without {words}."""
    text = UserFile(place, "an instruction in UTF-8", InputError, most=NOTE).text().strip()
    if NUMBER not in text:
        raise InputError(
            f"{place} does not say how many words are wanted; write {NUMBER} in place of the number"
        )
    return text


def level_name(words: int, writer: str, *, source: str | None) -> str:
    """Return `WORDS-by-WRITER`, or `WORDS-of-SOURCE-by-WRITER` of captions that are not the
    default; the digest of a source is added if it cannot be a file's name.
    """
    if source is None:
        return f"{words}-by-{writer}"
    safe = re.sub(r"[^A-Za-z0-9._-]", "-", source)
    mark = "" if safe == source else f"-{hashlib.sha256(source.encode()).hexdigest()[:6]}"
    return f"{words}-of-{safe}{mark}-by-{writer}"


def _resume(part: Path, recipe: Recipe, *, most: int) -> list[str]:
    """Return the answers that a run of this recipe left, up to the first damaged line, and cut the
    file there; a file of any other recipe begins again.
    """
    head, lines = f"{recipe.digest}\n".encode(), list[bytes]()
    if part.exists():
        lines = part.read_bytes().split(b"\n")[:-1]  # behind the last \n is what was cut
    said: list[str] = []
    for line in lines[1 : most + 1] if lines[:1] == [head.strip()] else []:
        try:
            place, answer = json.loads(line)
        except (ValueError, TypeError):
            break
        if place != len(said) or not isinstance(answer, str):
            break
        said.append(answer)
    kept = head + b"".join(line + b"\n" for line in lines[1 : len(said) + 1])
    with writing(part), part.open("ab") as file:  # what is whole stays: a kill here loses nothing
        file.truncate(len(kept) if said else 0)
        if not said:
            file.write(head)
    return said
