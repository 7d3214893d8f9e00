"""A read-only store: everything that writes refuses, whoever calls it, and what computes
answers goes on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.cli import main
from core.competence.scores import import_scores
from core.errors import InputError, ReadOnlyError
from core.jobs import queue
from core.jobs.queue import ensure_worker
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.color.question import ColorLayout
from core.settings import READ_ONLY, ROOT, check_readable, check_writable, is_read_only
from core.store import (
    Store,
    add_dataset,
    carry_out,
    delete_results,
    locked,
    plan_dataset_deletion,
    plan_model_deletion,
    rename_dataset,
    rename_model,
)
from core.store.publishing import publish_json
from core.store.uploads import find_upload, keep_dataset, keep_file, uploads_folder
from core.study.parts import Scope
from core.study.study import Study
from tests.footprint import footprint
from tests.pages.world import PaintedDataset

SCORES = b"model,task,value,unit\ngpt-2-s,reading,0.5,accuracy\n"


@pytest.fixture
def shown(store, tmp_path, monkeypatch) -> Path:
    """Return a store with a job, a result and an upload, which is read-only from now
    on.
    """
    copy = shutil.copytree(store, tmp_path / "shown", symlinks=True)
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    queue.submit(copy, ["embed", "--model", "timm:one"], owner="ada")
    queue.cancel(copy, 1)
    queue.submit(copy, ["embed", "--model", "timm:two"], owner="ada")
    keep_file(copy, "kept.npy", b"12345")
    import_scores(copy, "cave", SCORES, name="scores.csv")
    monkeypatch.setenv(READ_ONLY, "1")
    return copy


WRITES = {  # by what is done, over a store
    "add a dataset": lambda at: add_dataset(at, PaintedDataset(5, name="more")),
    "delete a dataset": lambda at: carry_out(at, plan_dataset_deletion(at, "cave")),
    "delete a model": lambda at: carry_out(at, plan_model_deletion(at, "cave", "gpt-2-s")),
    "delete a result": lambda at: delete_results(at, "cave", _kept(at)),
    "import scores": lambda at: import_scores(at, "cave", SCORES, name="scores.csv"),
    "rename a dataset": lambda at: rename_dataset(at, "cave", "Other"),
    "rename a model": lambda at: rename_model(at, "cave", "gpt-2-s", "Other"),
    "keep a file": lambda at: keep_file(at, "new.npy", b"1"),
    "keep a dataset": lambda at: keep_dataset(at, [("a.csv", b"image,caption\n")]),
    "queue a job": lambda at: queue.submit(at, ["demo"]),
    "cancel a job": lambda at: queue.cancel(at, 2),
    "retry a job": lambda at: queue.retry(at, 1),
    "start a worker": ensure_worker,
    "lock a file": lambda at: locked(at / "any").__enter__(),
    "publish a file": lambda at: publish_json(at / "any.json", {}),
}


def _kept(store: Path) -> list[str]:
    return [path.stem for path in (store / "results" / "cave").glob("*.parquet")]


@pytest.mark.parametrize("what", WRITES)
def test_whatever_writes_refuses_and_leaves_nothing(shown, what):
    before = footprint(shown)
    with pytest.raises(ReadOnlyError, match=r"is not written: this store is read-only; start the"):
        WRITES[what](shown)
    assert footprint(shown) == before


def test_what_was_uploaded_is_still_there_and_does_not_become_younger(shown):
    place = next(uploads_folder(shown).glob("*/kept.npy")).relative_to(uploads_folder(shown))
    before = footprint(shown)
    assert find_upload(shown, place.as_posix()) is not None
    assert footprint(shown) == before


def test_an_answer_is_made_in_memory_and_is_that_of_a_store_that_keeps_it(shown, monkeypatch):
    before = footprint(shown)
    table = ask(Alignment(Scope("cave")), Study(Store(shown), "cave"))
    assert footprint(shown) == before
    monkeypatch.setenv(READ_ONLY, "0")
    assert ask(Alignment(Scope("cave")), Study(Store(shown), "cave")).equals(table)
    assert footprint(shown) != before


def test_the_queue_is_read(shown):
    before = footprint(shown)
    assert [job.state for job in queue.jobs(shown)] == ["queued", "canceled"]
    assert footprint(shown) == before


@pytest.mark.parametrize(
    "words", [["demo"], ["jobs", "add", "demo"], ["jobs", "work", "--idle", "0"]]
)
def test_commands_say_it_in_a_sentence(shown, capsys, monkeypatch, words):
    monkeypatch.setattr("core.cli.jobs.NICENESS", 0)
    before = footprint(shown)
    assert main([*words, "--store", str(shown)] if words == ["demo"] else _over(shown, words)) == 2
    assert "this store is read-only" in capsys.readouterr().err
    assert footprint(shown) == before


def _over(store: Path, words: list[str]) -> list[str]:
    return [*words[:2], "--store", str(store), *words[2:]]


@pytest.mark.parametrize(
    "question",
    [
        ColorLayout(Scope("cave"), ("hf:/root/model",)),
        ColorLayout(Scope("cave"), ("simcse",)),
    ],
)
def test_no_question_reads_another_file_or_fetches_a_model(shown, question):
    with pytest.raises(InputError, match=r"is not read: this dashboard only shows a store"):
        ask(question, Study(Store(shown), "cave"))


@pytest.mark.parametrize(("text", "value"), [("", False), ("0", False), ("1", True)])
def test_the_variable_is_read(monkeypatch, text, value):
    monkeypatch.setenv(READ_ONLY, text)
    assert is_read_only() is value


@pytest.mark.parametrize("text", ["yes", "true", "2", " "])
def test_a_slip_of_the_pen_does_not_open_the_store(monkeypatch, text):
    monkeypatch.setenv(READ_ONLY, text)
    for check in (check_readable, check_writable, lambda name: keep_file(Path(name), name, b"1")):
        with pytest.raises(InputError, match=r"PLATOSCOPE_READ_ONLY must be 1, or 0"):
            check("x")


CLOSED = """
import os, sys
from pathlib import Path
from core.jobs import queue
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.store import Store
from core.study.parts import Scope
from core.study.study import Study

store = Path(sys.argv[1])
assert not os.access(store, os.W_OK)
print(len(queue.jobs(store)), len(ask(Alignment(Scope("cave")), Study(Store(store), "cave"))))
"""


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_shown(shown):
    as_others = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    if as_others and not shutil.which(as_others[0]):
        pytest.skip("nothing is closed to root")
    for path in [shown, *shown.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    run = subprocess.run(
        [*as_others, sys.executable, "-c", CLOSED, shown], cwd=ROOT, capture_output=True, text=True
    )
    for path in [shown, *shown.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    assert run.returncode == 0, run.stderr
    jobs, rows = map(int, run.stdout.split())
    assert (jobs, rows > 0) == (2, True)
