"""Sources of words that need no model: perception, captions, and vectors made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.errors import FeatureError
from core.questions.color.geometry.captions import count_together
from core.questions.color.geometry.dissimilarities import (
    Dissimilarities,
    from_counts,
    from_vectors,
)
from core.questions.color.geometry.perception import differences
from core.questions.color.geometry.words import LAB, color_words
from core.questions.color.question import Counting
from core.questions.color.sources.pixels import check_finite
from core.settings import check_readable
from core.stimuli.dataset import check_captions
from core.study.study import Study

LEAST = 20  # captions that a color was seen in


@dataclass(frozen=True)
class Perception:
    """CIELAB: color differences ΔE*ab of the words' centroids."""

    title: str = "perception"

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        table = color_words(survey)
        lab = table[LAB].to_numpy(np.float64)
        return Dissimilarities(
            tuple(table["word"]), lab, np.full(len(lab), np.nan), differences(lab)
        )


@dataclass(frozen=True)
class Captions:
    """Captions: max PMI − PMI of the color words of one caption, without any model."""

    counting: Counting
    title: str = "captions"

    def __post_init__(self) -> None:
        check_finite(smoothing=self.counting.smoothing)

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        words = color_words(survey)
        return from_counts(
            count_together(_captions(study), list(words["word"])),
            list(words["word"]),
            words[LAB].to_numpy(np.float64),
            least=LEAST if self.counting.least is None else self.counting.least,
            most=len(words),
            smoothing=self.counting.smoothing,
        )


@dataclass(frozen=True)
class Vectors:
    """Vectors made elsewhere: Euclidean distances of a file's rows in its last layer, a row for
    each of `words`, by name or in order; for each of all color words where none are named.
    """

    file: str
    words: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return Path(self.file).stem

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        from core.encoders.imported import read_features  # torch, for some of the formats
        from core.encoders.rows import rows_of
        from core.files.ids import plain_name

        check_readable(self.file)
        study.store.note_files(Path(self.file))
        words = color_words(survey, self.words or None)
        held, expected = read_features(Path(self.file)), len(self.words) or len(words)
        vectors = held.layers[-1]
        if held.ids is not None:
            by = plain_name(held.named_by)
            vectors = vectors[rows_of(held.ids, words, file=self.title, by=by).rows[:, 0]]
        if len(vectors) != expected or len(words) != expected:
            raise FeatureError(
                f"{self.file} has {len(vectors)} rows for {len(words)} words; expected a row for"
                " each, in their order"
            )
        return from_vectors(vectors, words)


def _captions(study: Study) -> Sequence[str]:
    check_captions(study.dataset)
    table = study.store.captions(study.dataset.name)
    return list(
        table["text"] if study.rows is None else table.loc[table["index"].isin(study.rows), "text"]
    )
