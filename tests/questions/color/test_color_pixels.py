"""Pixels of CIFAR-10 in CIELAB beside the layout of their co-occurrences; binary batches."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from core.errors import InputError, StimuliError
from core.options import build as build_question
from core.questions.asking import answer
from core.questions.color.counts import count_colors
from core.questions.color.figures import clouds
from core.questions.color.perception import color_words
from core.questions.color.photos import find_batches, read_batches, read_pictures
from core.questions.color.question import ColorLayout
from core.questions.color.sources import of_pixels
from core.store import Store
from core.study.study import Study
from tests.pages.world import SMALL, PaintedDataset, build

QUICK = {"starts": 2, "permutations": 19}
PAIRS, GRID, RADIUS = 3000, 3, 2.0


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(
        Store(build(tmp_path_factory.mktemp("small"), PaintedDataset(12), **SMALL)), "cave"
    )


def write_batch(place: Path, pictures: np.ndarray) -> None:
    """Write pictures as the binary version's description says, byte by byte."""
    with place.open("wb") as file:
        for number, picture in enumerate(pictures):
            file.write(bytes([number % 10]))
            for channel in range(3):
                for row in range(32):
                    file.write(bytes(int(picture[row, column, channel]) for column in range(32)))


@pytest.fixture(scope="module")
def smooth() -> np.ndarray:
    """Return pictures in which near pixels have like colors."""
    rng, ramp = np.random.default_rng(0), np.linspace(0, 1, 32)
    ends = rng.integers(0, 256, (12, 2, 3))
    steps = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * ramp[None, :, None]
    return np.repeat(steps[:, None], 32, axis=1).astype(np.uint8)


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory, smooth: np.ndarray) -> Path:
    folder = tmp_path_factory.mktemp("cifar") / "cifar-10-batches-bin"
    folder.mkdir()
    for number, part in enumerate(np.split(smooth, 3), start=1):
        write_batch(folder / f"data_batch_{number}.bin", part)
    write_batch(folder / "test_batch.bin", 255 - smooth)
    return folder.parent


def test_binary_batches_are_the_training_pictures_in_their_order(batches: Path, smooth: np.ndarray):
    for place in (batches, batches / "cifar-10-batches-bin"):
        assert (np.stack(read_pictures(place)) == smooth).all()
    assert read_pictures(batches, side=8)[0].shape == (8, 8, 3)


def test_test_pictures_are_taken_where_there_are_no_others(tmp_path: Path, smooth: np.ndarray):
    write_batch(tmp_path / "test_batch.bin", smooth[:2])
    assert (np.stack(read_pictures(tmp_path)) == smooth[:2]).all()
    (tmp_path / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(StimuliError, match=r"test_batch.bin has 5 bytes; expected .* 3,073 bytes"):
        read_batches(find_batches(tmp_path))


def test_pickles_are_refused_and_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps({"data": 0}))
    monkeypatch.setattr(pickle, "load", pytest.fail)
    with pytest.raises(InputError, match="is a Python pickle, which is not opened"):
        read_pictures(tmp_path)


def literal_pmi(counts: np.ndarray) -> list[list[float]]:
    """Return max PMI − PMI of a table of counts, each raised by 1, in loops; 0 on the diagonal."""
    n = len(counts)
    raised = [[float(counts[i, j]) + 1 for j in range(n)] for i in range(n)]
    total = sum(map(sum, raised))
    alone = [sum(row) / total for row in raised]
    information = [
        [math.log(raised[i][j] / total / (alone[i] * alone[j])) for j in range(n)] for i in range(n)
    ]
    largest = max(map(max, information))
    return [[0.0 if i == j else largest - information[i][j] for j in range(n)] for i in range(n)]


def test_cells_of_a_grid_are_laid_out_by_how_often_they_meet(
    study: Study, batches: Path, smooth: np.ndarray
):
    choices = {"by": "cells", "grid": GRID, "radius": RADIUS, "pairs": PAIRS, "least": 0}
    source = (f"pixels:{batches}",)
    question = build_question(ColorLayout, {"source": source, **choices, **QUICK})
    found = answer(question, study)
    counts = count_colors(list(smooth), radius=RADIUS, pairs=PAIRS, grid=GRID, seed=0)
    met = counts.any(axis=1)
    assert found.table["seen"].tolist() == counts.sum(axis=1)[met].tolist()
    gathered = of_pixels(study, str(batches), question.counting, color_words())
    expected = literal_pmi(counts[np.ix_(met, met)])
    assert gathered.matrix == pytest.approx(np.array(expected))
    (finding,) = found.findings
    assert (finding.value, finding.n) == (found.table["kendall"].iloc[0], len(found.table))
    figure = clouds(found.table).draw("light")
    assert max(len(trace.x) for trace in figure.data) == len(found.table)
