"""Parts of a dataset, each encoded by another process: together they are what one process makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from store_fakes import CountedDataset, CountingEncoder, contents

from core.cli import main
from core.crew.units import Here
from core.embedding import runner
from core.embedding.runner import Task, embed, embed_part, parts_of, shared_parts, within
from core.embedding.shards import parts_folder
from core.encoders.encoder import Encoding
from core.errors import StoreBusyError
from core.store import Store, add_dataset
from core.store.publishing import locked
from core.store.schema import embedding_file


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PART", 8)


class Watched(CountingEncoder):
    """Tells how many items came at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def encode(self, items: Sequence[Any]) -> Encoding:
        self.sizes.append(len(items))
        return super().encode(items)


def task(store: Path, encoder: CountingEncoder | None = None) -> Task:
    return Task(store, CountedDataset(20), encoder or CountingEncoder(), batch_size=3)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_whoever_finishes_the_last_part_publishes_what_one_process_would(tmp_path: Path, order):
    alone = embed(tmp_path / "alone", CountedDataset(20), CountingEncoder(), batch_size=3)
    made = [embed_part(task(tmp_path / "shared"), part) for part in order]
    assert len(set(made)) == 1
    assert contents(made[0]) == contents(alone)
    assert not parts_folder(made[0]).exists()
    assert sorted(path.name for path in made[0].parent.iterdir()) == ["counting.duckdb"]


def test_nothing_is_published_before_the_last_part_nor_encoded_twice(tmp_path: Path):
    first, again = Watched(), Watched()
    path = embed_part(task(tmp_path, first), 2)
    embed_part(task(tmp_path, first), 0)
    embed_part(task(tmp_path, again), 0)
    assert (first.sizes, again.sizes) == ([3, 1, 3, 3, 2], [])
    assert not path.exists()
    embed_part(task(tmp_path, again), 1)
    assert again.sizes == [3, 3, 2]
    assert path.exists()
    embed_part(task(tmp_path, again), 2)  # a worker that was lost after it had finished
    assert again.sizes == [3, 3, 2]


def test_one_process_takes_up_what_parts_have_left(tmp_path: Path):
    embed_part(task(tmp_path), 2)
    rest = Watched()
    path = embed(tmp_path, CountedDataset(20), rest, batch_size=3)
    assert rest.sizes == [3, 3, 2, 3, 3, 2]
    alone = embed(tmp_path / "alone", CountedDataset(20), CountingEncoder(), batch_size=3)
    assert contents(path) == contents(alone)


def test_a_part_has_one_writer(tmp_path: Path):
    target = embedding_file(tmp_path, "counted", "counting")
    with locked(target.with_name("counting.part-8.duckdb")):
        embed_part(task(tmp_path), 0)
        with pytest.raises(StoreBusyError, match=r"is writing 'counting\.part-8'"):
            embed_part(task(tmp_path), 1)


def test_parts_cover_all_stimuli_once_and_small_datasets_are_not_cut():
    for n in (1, 8, 9, 31, 32):
        cut = parts_of(n)
        assert (cut[0].start, cut[-1].stop) == (0, n)
        assert all(one.stop == other.start for one, other in pairwise(cut))
    assert shared_parts(8, alone=False) == shared_parts(20, alone=True) == [None]
    assert list(shared_parts(20, alone=False)) == [0, 1, 2]


def test_a_part_reports_its_own_progress(tmp_path: Path):
    seen: list[tuple[int, int]] = []
    embed_part(task(tmp_path), 1, report=lambda done, total, _: seen.append((done, total)))
    assert seen[-4:] == [(0, 8), (3, 8), (6, 8), (8, 8)]
    assert within(range(3), None) is None


def test_the_command_hands_parts_to_a_crew_and_names_the_model_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    add_dataset(tmp_path, CountedDataset(20))
    done: list[str] = []

    class Shared(Here):
        alone = False

        def run(self, units, **how):
            done.extend(unit.name for unit in units)
            return super().run(units, **how)

    @contextmanager
    def open_crew(*_: object, **__: object) -> Iterator[Shared]:
        yield Shared()

    monkeypatch.setattr("core.crew.open_crew", open_crew)
    monkeypatch.setattr("core.stimuli.catalog.open_dataset", lambda _: CountedDataset(20))
    monkeypatch.setattr("core.encoders.catalog.open_encoder", lambda *_, **__: CountingEncoder())
    words = ["embed", "--dataset", "counted", "--model", "hf:one", "--store", str(tmp_path)]
    assert main([*words, "--batch-size", "3"]) == 0
    assert done == ["hf:one"] * 3
    assert capsys.readouterr().out == "counting\n"
    assert Store(tmp_path).model("counted", "counting").dims == (8, 9, 10)
