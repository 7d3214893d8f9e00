"""A run killed with SIGKILL at any moment goes on to the same file; readers never notice a
writer.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_fakes import CountedDataset, CountingEncoder, contents, vectors

from core.embedding.runner import embed
from core.embedding.shards import parts_folder
from core.store import Store, add_dataset
from core.store.schema import embedding_file

DATASET = CountedDataset(120)
ENCODER = CountingEncoder(delay=0.03, largest=5)  # batches of 8 come as pieces of 4


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Return what starts a process in milliseconds: each is a fork of one that has only
    imported.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["core.embedding.runner", "store_fakes"])
    return context


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the dataset and the embedding of a run that nothing stopped."""
    root = tmp_path_factory.mktemp("store")
    add_dataset(root, DATASET)
    embed(root, DATASET, ENCODER, batch_size=8, name="whole")
    return root


def finish(store: Path, name: str) -> None:
    """Complete a killed run and prove that its file is that of a run that nothing stopped."""
    path = embed(store, DATASET, CountingEncoder(largest=5), batch_size=8, name=name)
    assert contents(path) == contents(embedding_file(store, "counted", "whole"))
    assert sorted(left.name for left in path.parent.glob(f"{name}.*")) == [f"{name}.duckdb"]


def run(store: Path, name: str) -> None:
    embed(store, DATASET, ENCODER, batch_size=8, name=name)


def run_until(store: Path, name: str, function: str, call: int, *, after: bool) -> None:
    """Embed, and kill this process before or after the given call of a function of the operating
    system.
    """
    original: Callable[..., Any] = getattr(os, function)
    seen = 0

    def fatal(*args: Any, **kwargs: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == call and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*args, **kwargs)
        if seen == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(os, function, fatal)
    run(store, name)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("function", "call", "published"),
    [("replace", 3, False), ("replace", 16, True), ("fsync", 31, False)],
)
def test_a_run_killed_around_a_step_of_publishing_completes(
    store: Path,
    processes: ForkServerContext,
    function: str,
    call: int,
    published: bool,
    after: bool,
) -> None:
    # 15 batches: replacements 1–15 are those of shards, 16 is that of the file, whose flush is
    # number 31 at the latest.
    name = f"{function}-{call}-{after}"
    child = processes.Process(
        target=run_until, args=(store, name, function, call), kwargs={"after": after}
    )
    child.start()
    child.join()
    assert child.exitcode in (-signal.SIGKILL, 0)
    assert embedding_file(store, "counted", name).exists() == (
        (published and after) or child.exitcode == 0
    )
    finish(store, name)


def test_a_killed_run_loses_only_the_batch_it_was_in(
    store: Path, processes: ForkServerContext
) -> None:
    child = processes.Process(
        target=run_until, args=(store, "lost", "replace", 6), kwargs={"after": False}
    )
    child.start()
    child.join()
    calls = 0

    class Counted(CountingEncoder):
        def encode(self, items: Any) -> Any:
            nonlocal calls
            calls += 1
            return super().encode(items)

    path = embed(store, DATASET, Counted(largest=5), batch_size=8, name="lost")
    assert calls == 2 * 10  # ten of fifteen batches, in two pieces each
    assert not parts_folder(path).exists()


def read_until(store: Path, stop: Any, answers: Any) -> None:
    """Read everything again and again; answer how often, and what was wrong first."""
    checks, wrong = 0, ""
    while not wrong and not (stop.is_set() and checks > 20):
        try:
            wrong, seen = first_wrong(Store(store))
            checks += seen
        except Exception as error:
            wrong = repr(error)
    answers.put((checks, wrong))


def first_wrong(store: Store) -> tuple[str, int]:
    if problems := store.problems():
        return problems[0], 0
    entries = store.models("counted")
    for entry in entries:
        name = entry.card.name
        space = store.space("counted", name, 1)
        if not np.array_equal(space, vectors(range(120), layer=1, dims=9)):
            return f"{name}: {space[:2]}", 0
        if not np.array_equal(store.text_costs("counted", name)["bits"], np.arange(120) * 1.5):
            return f"costs of {name}", 0
    return "", len(entries)


@pytest.fixture
def readers(tmp_path: Path, processes: ForkServerContext) -> Iterator[tuple[Any, Any]]:
    """Start ten processes that read the store in tmp_path; give what stops them and what they
    answer.
    """
    add_dataset(tmp_path, DATASET)
    stop, answers = processes.Event(), processes.Queue()
    started = [
        processes.Process(target=read_until, args=(tmp_path, stop, answers)) for _ in range(10)
    ]
    for process in started:
        process.start()
    yield stop, answers
    for process in started:
        process.join(30)
        with suppress(ValueError):
            process.kill()


def test_ten_processes_read_while_one_embeds(tmp_path: Path, readers: tuple[Any, Any]) -> None:
    stop, answers = readers
    for number in range(3):
        embed(tmp_path, DATASET, ENCODER, batch_size=16, name=f"new-{number}")
        embed(
            tmp_path,
            DATASET,
            CountingEncoder(weights=f"w{number}"),
            name="replaced",
            replace=True,
        )
    stop.set()
    found = [answers.get(timeout=180) for _ in range(10)]
    assert [wrong for _, wrong in found] == [""] * 10
    assert all(checks > 20 for checks, _ in found)
    assert Store(tmp_path).problems() == []
