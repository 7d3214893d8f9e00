"""Captions put into fewer words by a model that follows instructions, stored as further levels of their dataset.

Each finished batch is on the disk before the next begins: a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import pandas as pd

from core.embedding.progress import Progress
from core.embedding.texts import read_texts
from core.errors import EncoderError
from core.recipe import Recipe
from core.store import Store, locked, write_result
from core.store.publishing import writing
from core.store.schema import SUMMARY, result_file

INSTRUCTION = (
    "The user gives you a description of an image. Put it into about {words} words that fit the same image. Keep as much of what "
    "can be seen as {words} words allow, what is told first above all. Answer with nothing but the new description, on one line."
)
BATCH = 16
TOKENS_PER_WORD, MORE_TOKENS = 3, 16  # an answer is cut behind them


@runtime_checkable  # tests check arguments against it
class Writer(Protocol):
    """What answers texts under an instruction; see `core.encoders.chat.Chat`."""

    @property
    def name(self) -> str: ...

    @property
    def weights(self) -> str: ...

    def answer(self, instruction: str, texts: Sequence[str], *, limit: int) -> list[str]: ...


def summarize(
    store: Path, dataset: str, writer: Writer, *, words: int, level: str | None = None, report: Progress | None = None
) -> str:
    """Put every caption into about `words` words and store them as a level; return its name, `WORDS-by-WRITER`.

    level: the captions that are summarized, the dataset's default where None. What is there by the same recipe stays.
    Raises UnknownNameError for the dataset or level, EncoderError where an answer is empty, StoreBusyError where another process
    writes the same.
    """
    reader = Store(store)
    card = reader.dataset(dataset)
    source = level or card.levels[0]
    name = f"{words}-by-{writer.name}"
    recipe = Recipe.of("captions", dataset=dataset, revision=card.revision, weights=writer.weights, level=source, words=words,
                       instruction=INSTRUCTION, decoding="greedy")  # fmt: skip
    if reader.summaries(dataset).get(name) == recipe:
        return name
    texts = [" ".join(several) for several in read_texts(reader, dataset, source)]
    target = result_file(store, dataset, f"{SUMMARY}{name}")
    part = target.with_name(f"{target.stem}.part.jsonl")
    with locked(part):
        said = _answers(part, recipe, writer, texts, words=words, report=report)
        table = pd.DataFrame({"index": range(card.size), "level": name, "text": said})
        write_result(store, dataset=card, name=target.stem, table=table, recipe=recipe)
        part.unlink(missing_ok=True)
    return name


def _answers(part: Path, recipe: Recipe, writer: Writer, texts: Sequence[str], *, words: int, report: Progress | None) -> list[str]:
    """Ask for what is not on the disk yet, batch by batch, and return all answers."""
    said = _resume(part, recipe)
    instruction, limit = INSTRUCTION.format(words=words), TOKENS_PER_WORD * words + MORE_TOKENS
    with writing(part), part.open("a", encoding="utf-8") as file:
        for start in range(len(said), len(texts), BATCH):
            answers = writer.answer(instruction, texts[start : start + BATCH], limit=limit)
            if "" in answers:
                raise EncoderError(f"{writer.name} gave no answer to caption {start + answers.index('')}; choose another model")
            file.writelines(json.dumps(answer) + "\n" for answer in answers)
            file.flush()
            os.fsync(file.fileno())
            said += answers
            if report:
                report(len(said), len(texts), f"captions in {words} words")
    return said


def _resume(part: Path, recipe: Recipe) -> list[str]:
    """Return the answers that a run of this recipe left behind, without a last line that was cut; else begin a new file."""
    lines = part.read_text(encoding="utf-8").split("\n")[:-1] if part.exists() else []
    kept = lines[1:] if lines and lines[0] == recipe.digest else []
    with writing(part):
        part.write_text("\n".join([recipe.digest, *kept, ""]), encoding="utf-8")
    return [json.loads(line) for line in kept]
