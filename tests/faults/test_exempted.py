"""What has no row of its own writes nothing, or nothing but what a row proves: commands that only
read, questions, and the pages.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.jobs import queue
from tests.faults.table import DEEDS, LIKE_ALIGN, READING, ROWS
from tests.footprint import footprint
from tests.pages.world import SMALL, PaintedDataset, build
from tests.sources import SOURCES, mentions_of, that_reach

WORDS = {  # that a command needs
    "jobs show": "1",
    "result list": "--dataset cave",
    "score": "x.npy y.npy",
    "study show": "dispersion",
}
NOT_RUN = {"app", *(name for name in READING if name.startswith("theory "))}  # these have no store
ASKING = ("core.questions.", "core.study.", "core.catalog.")
KEEPING = {  # what of the questions writes, and by what: results alone
    "core.questions.stitching.bench.open_bench": {"core.networks.opened.task_of"},  # by a Study
    "core.questions.stitching.keeping._add": {"core.store.writer.write_result"},
    "core.study.keeping.keep": {"core.store.writer.write_result"},
    "core.study.study.Study": {"core.store.writer.write_result"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store, in which there is a job, and two spaces."""
    folder = tmp_path_factory.mktemp("read")
    store = build(folder / "store", PaintedDataset(60), **SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "ensure_worker", lambda _: None)
        queue.submit(store, ["align"], owner="somebody")
    for name in ("x", "y"):
        np.save(folder / f"{name}.npy", np.random.default_rng(0).normal(size=(40, 5)))
    return folder


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PLATOSCOPE_STORE", str(folder / "store"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize("name", sorted(READING.keys() - NOT_RUN))
def test_a_command_that_reads_leaves_everything_as_it_was(folder: Path, name: str) -> None:
    before = footprint(folder)
    assert main(shlex.split(f"{name} {WORDS.get(name, '')}")) == 0
    assert footprint(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", LIKE_ALIGN)
def test_a_question_keeps_results_alone(folder: Path, name: str) -> None:
    """Or says what this store lacks for it."""
    before = footprint(folder)
    assert main(shlex.split(name)) in (0, 2)
    after = footprint(folder)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert {path for path in changed if not path.startswith("store/results/")} <= {
        "store",
        "store/results",
    }


def test_pages_and_questions_write_by_what_has_a_row() -> None:
    writing = that_reach("core.settings.check_writable")
    pages = [source for source in SOURCES if source.startswith("pages/")]
    deeds = writing.keys() & {name for source in pages for name in mentions_of(source)}
    assert {name for name in deeds if not name.startswith(ASKING)} == set(DEEDS)
    outside = {name for name in writing if not name.startswith((*ASKING, "core.cli."))}
    keeping = {name: writing[name] & outside for name in writing if name.startswith(ASKING)}
    assert {name: by for name, by in keeping.items() if by} == KEEPING


def test_the_rows_of_deeds_are_there() -> None:
    assert {row for rows in DEEDS.values() for row in rows} <= ROWS.keys()
