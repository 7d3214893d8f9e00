"""What is asked while the demo is being built is, in the end, what is answered afresh."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import pandas as pd
import pytest

from core.cave.demo import answer_demo, build_demo, first_questions, measure_demo
from core.errors import PlatoscopeError, StoreChangedError
from core.questions.asking import ask
from core.questions.question import StudyQuestion
from core.settings import CAVE_WEIGHTS
from core.store import Store
from core.study.study import Study
from tests.freshness.test_fresh import Answers, differences, without_results

SOME = (  # of each architecture and objective, with seeds, copies along a training and levels
    "bloom-xs",
    "gpt2-s",
    "gpt2-xs",
    "gpt2-xs-seed1",
    "gpt2-untrained-s",
    "llama-s-step00050",
    "llama-xs",
    "vit-mae-s",
    "vit-mae-xs",
    "vit-multitask-s",
    "vit-multitask-xs",
    "vit-multitask-xs-seed1",
    "vit-simclr-s-step00037",
    "vit-simclr-xs",
    "vit-untrained-s",
)


def build_all(store: Path, folder: Path) -> None:
    """Build the demo of the models of a folder as `platoscope demo` does."""
    build_demo(store, folder)
    measure_demo(store)
    answer_demo(store)


def ask_each(store: Path) -> Answers:
    """Return the answer to each page's first question, or why there is none."""
    found: Answers = {}
    for question in first_questions("cave"):
        found[f"{question.command} {question}"] = _answer(question, store)
    return found


def _answer(question: StudyQuestion, store: Path) -> pd.DataFrame | str:
    while True:
        try:
            return ask(question, Study(Store(store), "cave"))
        except StoreChangedError:
            continue
        except PlatoscopeError as error:
            return str(error)


def ask_while_building(store: Path, folder: Path) -> tuple[int, list[str], int]:
    """Build the demo in another process and ask meanwhile; return how many rounds were asked, the
    questions whose answers in the end differ from fresh ones, and how many have a table.
    """
    building = multiprocessing.get_context("spawn").Process(target=build_all, args=(store, folder))
    building.start()
    rounds = 0
    while building.is_alive():
        ask_each(store)
        rounds += 1
    building.join()
    assert building.exitcode == 0
    kept = ask_each(store)
    fresh = ask_each(without_results(store, store.with_name(f"{store.name}-fresh")))
    return (
        rounds,
        differences(kept, fresh),
        sum(isinstance(one, pd.DataFrame) for one in fresh.values()),
    )


@pytest.mark.slow
def test_answers_asked_while_the_demo_is_built_are_never_stale(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    for name in SOME:
        shutil.copytree(CAVE_WEIGHTS / name, folder / name)
    rounds, stale, tables = ask_while_building(tmp_path / "store", folder)
    assert stale == []
    assert rounds >= 2
    assert tables >= 25  # else hardly anything was asked
