"""Summaries become a level of their dataset; a run that is stopped goes on where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from store_fakes import CountedDataset, CountingEncoder

from core.embedding.reading import read_texts
from core.embedding.runner import embed
from core.embedding.summaries import (
    BATCH,
    INSTRUCTION,
    summarize,
)
from core.errors import EncoderError
from core.store import Store, add_dataset

N = 2 * BATCH + 5


@dataclass
class Clerk:
    """Repeats the beginning of a text and remembers what it was asked; stops after so many
    batches.
    """

    name: str = "clerk"
    weights: str = "w1"
    batches: int = 1000
    silent: bool = False
    loud: bool = False
    asked: list[tuple[str, str, int]] = field(default_factory=list)

    def answer(self, instruction: str, texts: Sequence[str], *, limit: int) -> list[str]:
        if self.batches == 0:
            raise KeyboardInterrupt
        self.batches -= 1
        self.asked += [(instruction, text, limit) for text in texts]
        said = [
            f"{text.split(',')[0].capitalize() if self.loud else text.split(',')[0]}, in short"
            for text in texts
        ]
        return [said[0], *[""] * (len(said) - 1)] if self.silent else said


@pytest.fixture
def store(tmp_path: Path) -> Path:
    add_dataset(tmp_path, CountedDataset(N))
    return tmp_path


def test_summaries_are_a_further_level(store: Path) -> None:
    clerk = Clerk()
    assert summarize(store, "counted", clerk, words=7) == "7-by-clerk"
    instruction, text, limit = clerk.asked[3]
    assert "about 7 words" in instruction
    assert text == "event 3, 20 words"
    assert 7 < limit < 70
    assert read_texts(Store(store), "counted", "7-by-clerk")[5] == ("event 5, in short",)
    embed(store, CountedDataset(N), CountingEncoder())
    embed(store, CountedDataset(N), CountingEncoder(), level="7-by-clerk")
    assert Store(store).caption_variants("counted") == {"counting~7-by-clerk": "counting"}
    assert list(Store(store).summaries("counted")) == ["7-by-clerk"]


@pytest.mark.parametrize(
    "changed",
    [
        {"words": 8},
        {"level": "5"},
        {"writer": Clerk(weights="w2")},
        {"revision": "r2"},
        {"dataset": "other"},
        {"instruction": "{words}?"},
    ],
)
def test_each_choice_is_in_the_recipe(tmp_path: Path, changed: dict[str, Any]) -> None:
    def write(
        *,
        words: int = 7,
        level: str = "20",
        revision: str = "r1",
        dataset: str = "counted",
        writer: Clerk | None = None,
        instruction: str = INSTRUCTION,
    ):
        root = tmp_path / f"{revision}-{dataset}"
        add_dataset(root, CountedDataset(N, name=dataset, revision=revision))
        choices = {"words": words, "level": level, "instruction": instruction}
        name = summarize(root, dataset, writer or Clerk(), **choices)
        return Store(root).summaries(dataset)[name]

    assert write() != write(**changed)


def test_a_summary_of_a_level_that_was_written_again_is_written_again(store: Path) -> None:
    for weights, said in (("w1", "event 3"), ("w2", "Event 3")):
        clerk = Clerk(weights=weights, loud=weights == "w2")
        assert summarize(store, "counted", clerk, words=7) == "7-by-clerk"
        second = Clerk(name="second")
        assert (
            summarize(store, "counted", second, words=3, level="7-by-clerk")
            == "3-of-7-by-clerk-by-second"
        )
        assert second.asked[3][1] == f"{said}, in short"


def test_a_stopped_run_goes_on_and_a_finished_one_is_not_repeated(store: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        summarize(store, "counted", Clerk(batches=2), words=7)
    assert Store(store).summaries("counted") == {}
    part = store / "results" / "counted" / "captions-7-by-clerk.part.jsonl"
    part.write_text(
        part.read_text() + '"event 99, cut'
    )  # the last line of a run that was killed while it wrote
    clerk = Clerk()
    summarize(store, "counted", clerk, words=7)
    assert [text for _, text, _ in clerk.asked] == [
        f"event {i}, 20 words" for i in range(2 * BATCH, N)
    ]
    assert [texts[0] for texts in read_texts(Store(store), "counted", "7-by-clerk")] == [
        f"event {i}, in short" for i in range(N)
    ]
    assert not part.exists()
    again = Clerk()
    summarize(store, "counted", again, words=7)
    assert again.asked == []


def test_an_empty_answer_is_refused(store: Path) -> None:
    with pytest.raises(
        EncoderError, match="clerk gave no answer to caption 1; choose another model"
    ):
        summarize(store, "counted", Clerk(silent=True), words=7)
    assert Store(store).summaries("counted") == {}
