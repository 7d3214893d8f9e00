"""Pixels as a source of dissimilarities: which colors lie close together in pictures."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from core.errors import InputError, UnknownNameError
from core.questions.color.geometry.cooccurrence import cell_centers, count_colors, merge
from core.questions.color.geometry.defaults import GRID, PAIRS, RADIUS, SHIPPED
from core.questions.color.geometry.dissimilarities import Dissimilarities, from_counts
from core.questions.color.geometry.perception import to_hex, to_lab
from core.questions.color.geometry.pictures import Picture, decode, read_pictures
from core.questions.color.geometry.shipped import FILE as SHIPPED_FILE
from core.questions.color.geometry.shipped import PAIRS as SHIPPED_PAIRS
from core.questions.color.geometry.shipped import read_counts
from core.questions.color.geometry.words import LAB, color_words, nearest_word
from core.questions.color.question import Counting
from core.settings import check_readable, expand
from core.study.study import Study

LEAST = 100  # times that a color was seen
MOST_CELLS = 200  # colors of a grid that are laid out: those that were seen most often


@dataclass(frozen=True)
class Pixels:
    """Pixels: max PMI − PMI of colors that lie close together in pictures.

    images: "cifar10" for the counts that come with the project, a dataset of the store (its
    thumbnails), a folder or an .npz file. counting.by: "words", where each cell of the grid counts
    for the word whose centroid is nearest in CIELAB, or "cells", the grid itself (the MOST_CELLS
    seen most often). The others: see `core.questions.color.geometry.cooccurrence`.
    """

    images: str
    counting: Counting

    def __post_init__(self) -> None:
        check_finite(radius=self.counting.radius, smoothing=self.counting.smoothing)
        side = self.counting.side
        if side is not None and side < 2:
            raise InputError(
                "pictures are shrunk to 2 pixels or more, so that two can lie side by side; got"
                f" {side}"
            )

    @property
    def title(self) -> str:
        return f"pixels of {Path(self.images).stem}"

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        table = self.count(study)
        met = np.flatnonzero(table.any(axis=1))
        table = table[np.ix_(met, met)]
        lab = to_lab(cell_centers(met, grid=self.counting.grid))
        if self.counting.by == "cells":
            return self._unlike(table, to_hex(lab), lab, most=MOST_CELLS)
        words = color_words(survey)
        centroids = words[LAB].to_numpy(np.float64)
        table = merge(table, nearest_word(lab, centroids), kinds=len(words))
        return self._unlike(table, list(words["word"]), centroids, most=len(words))

    def _unlike(
        self, counts: np.ndarray, colors: list[str], lab: np.ndarray, *, most: int
    ) -> Dissimilarities:
        least = LEAST if self.counting.least is None else self.counting.least
        smoothing = self.counting.smoothing
        return from_counts(counts, colors, lab, least=least, most=most, smoothing=smoothing)

    def count(self, study: Study) -> Int64[np.ndarray, "cells cells"]:
        """Return how often the colors of the grid meet."""
        if self.images == SHIPPED:
            check_shipped(self.counting)
            study.store.note_files(SHIPPED_FILE)
            return read_counts()
        radius, pairs, grid = self.counting.radius, self.counting.pairs, self.counting.grid
        return count_colors(self.pictures(study), radius=radius, pairs=pairs, grid=grid, seed=0)

    def pictures(self, study: Study) -> list[Picture]:
        """Return the pictures; the counts that come with the project have none."""
        side = self.counting.side
        if self.images not in {card.name for card in study.store.datasets()}:
            path = self._path(study)
            study.store.note_files(path)
            return read_pictures(path, side=side)
        rows = _rows(study, self.images)
        names = [f"stimulus {row} of {self.images}" for row in rows]
        return decode(study.store.thumbnails(self.images, rows), names=names, side=side)

    def _path(self, study: Study) -> Path:
        check_readable(self.images)
        path = expand(self.images)
        if not os.path.exists(path):  # a very long path is no error
            datasets = [card.name for card in study.store.datasets()]
            raise UnknownNameError("dataset, folder or file", self.images, [SHIPPED, *datasets])
        return path


def check_shipped(counting: Counting) -> None:
    """Refuse to count otherwise than the counts that come with the project; raises InputError."""
    chosen = (counting.radius, counting.pairs, counting.grid, counting.side)
    if chosen != (RADIUS, PAIRS, GRID, None):
        raise InputError(
            f"the counts that come with the project are of {SHIPPED_PAIRS:,} pairs at most"
            f" {RADIUS:g} pixels apart on a grid of {GRID} steps; to count otherwise, give the"
            " pictures as a folder or an .npz file"
        )


def check_finite(**values: float) -> None:
    """Refuse numbers that are none; raises InputError."""
    if wrong := [name for name, value in values.items() if not math.isfinite(value)]:
        raise InputError(f"{wrong[0]} is a finite number; got {values[wrong[0]]}")


def _rows(study: Study, dataset: str) -> list[int]:
    """Return the stimuli whose pictures count: of the study's own dataset, those studied."""
    if dataset == study.dataset.name and study.rows is not None:
        return [int(row) for row in study.rows]
    return list(range(study.store.dataset(dataset).size))
