"""One vision model and one language model: what trainings of the map between them code and
write.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int64
from torch import Tensor

from core.competence.opened import reopen
from core.encoders.language.encoder import LanguageEncoder
from core.encoders.vision import VisionEncoder
from core.errors import EncoderError
from core.networks.prefixed import (
    ImagePrefix,
    Seen,
    Tokens,
    need_causal,
    nothing,
    see,
    tokenize,
    word_vectors,
    write_after,
)
from core.progress import Progress
from core.questions.prefix.lessons import Told, measured, taught
from core.questions.prefix.question import Lessons, PrefixPair, WithoutImage
from core.questions.prefix.training import code_all, train
from core.settings import choose_device
from core.study.study import Study

TOGETHER = 64  # images that are seen, or texts that are written, at a time
ROOM = 1.25  # of what is written, times the longest caption


class Exam(NamedTuple):
    """What is measured: indices in the dataset, tokens of captions with the special ones in front,
    and their bytes.
    """

    indices: Int64[np.ndarray, " n"]
    tokens: Tokens
    front: int
    bytes: list[int]

    def table(self, training: int, **costs: Tensor) -> pd.DataFrame:
        """Return a row per stimulus: training, index, costs in bits, bytes."""
        named = {"training": training, "index": self.indices}
        return pd.DataFrame({**named, **costs, "bytes": self.bytes})


class School(NamedTuple):
    """What all trainings of a prefix have in common."""

    language: LanguageEncoder
    lessons: Lessons
    report: Progress | None


def measure_pair(question: PrefixPair, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per training and stimulus: training, index, own and other (bits of the caption
    behind its own image, and behind another stimulus's), bytes, tokens (length of the prefix), and
    what the first training writes behind the image, "" in the others.
    """
    lessons, vision = question.lessons, _vision(question.y, study)
    school = School(_language(question.x, study), lessons, report)
    indices, material = measured(study, lessons)
    seen = _see_all(vision, material, _telling(report, "stimuli seen"))
    exam = _exam(school.language, indices, material, length=seen.shape[1])
    strangers = _derangement(len(indices), seed=lessons.seed)
    tables = []
    for training in range(lessons.seeds):
        lesson = taught(study, lessons, training=training)
        shown = _see_all(vision, lesson, _telling(report, "training pictures seen"))
        if question.shuffled:
            shown = shown[_derangement(len(shown), seed=training)]
        make = partial(ImagePrefix, shown, word_vectors(school.language))
        prefix = _trained(school, training, lesson, shown, make)
        costs = {
            name: code_all(school.language, prefix, rows, exam.tokens, exam.front)
            for name, rows in (("own", seen), ("other", seen[strangers]))
        }
        written = _write(school.language, prefix, seen, exam) if training == 0 else ""
        tables.append(exam.table(training, **costs).assign(written=written))
    return pd.concat(tables, ignore_index=True).assign(tokens=seen.shape[1])


def measure_without(question: WithoutImage, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per training and stimulus: training, index, without (bits of the caption behind
    a prefix that was learned without images), bytes, and what the first training writes.
    """
    lessons, length = question.lessons, question.tokens
    school = School(_language(question.x, study), lessons, report)
    indices, material = measured(study, lessons)
    exam = _exam(school.language, indices, material, length=length)
    blank = nothing(length).to(school.language.device)
    seen = blank.expand(len(indices), -1, -1)
    make = partial(ImagePrefix, blank, word_vectors(school.language))
    tables = []
    for training in range(lessons.seeds):
        lesson = taught(study, lessons, training=training)
        shown = blank.expand(lesson.rows, -1, -1)
        prefix = _trained(school, training, lesson, shown, make)
        costs = code_all(school.language, prefix, seen, exam.tokens, exam.front)
        written = _write(school.language, prefix, blank, exam)[0] if training == 0 else ""
        tables.append(exam.table(training, without=costs).assign(written=written))
    return pd.concat(tables, ignore_index=True)


def _language(name: str, study: Study) -> LanguageEncoder:
    encoder = reopen(study.entry(name), choose_device(study.device))
    if not isinstance(encoder, LanguageEncoder):
        raise EncoderError(f"{name} reads no text; name a causal language model")
    need_causal(encoder)
    return encoder


def _vision(name: str, study: Study) -> VisionEncoder:
    encoder = reopen(study.entry(name), choose_device(study.device))
    if not isinstance(encoder, VisionEncoder):
        raise EncoderError(f"{name} sees no images; name a vision model")
    return encoder


def _see_all(encoder: VisionEncoder, material: Told, report: Callable[[int, int], None]) -> Seen:
    parts = list[Tensor]()
    for at in range(0, material.rows, TOGETHER):
        rows = range(at, min(at + TOGETHER, material.rows))
        parts.append(see(encoder, [material.picture(row) for row in rows]))
        report(rows.stop, material.rows)
    return torch.cat(parts)


def _exam(
    encoder: LanguageEncoder, indices: Int64[np.ndarray, " n"], material: Told, *, length: int
) -> Exam:
    texts = material.captions(0)
    tokens, front = tokenize(encoder, texts, length=length)
    return Exam(indices, tokens, front, [len(text.encode()) for text in texts])


def _trained(
    school: School,
    training: int,
    lesson: Told,
    shown: Seen,
    make: Callable[[torch.Generator], ImagePrefix],
) -> ImagePrefix:
    """Return a prefix that one training has made. make: the untrained one, from a seed's dice."""
    lessons, language = school.lessons, school.language
    seed = np.random.SeedSequence([lessons.seed, training]).generate_state(1)[0]
    dice = torch.Generator().manual_seed(int(seed))
    return train(
        language,
        make(dice).to(language.device),
        shown,
        lesson.captions,
        passes=lessons.passes,
        dice=dice,
        report=_telling(school.report, f"steps of training {training + 1} of {lessons.seeds}"),
    )


def _write(encoder: LanguageEncoder, prefix: ImagePrefix, seen: Seen, exam: Exam) -> list[str]:
    longest = max(map(len, exam.tokens)) - exam.front
    room = round(ROOM * longest)
    if encoder.limit is not None:
        room = min(room, encoder.limit - seen.shape[1] - exam.front)
    start, texts = exam.tokens[0][: exam.front], list[str]()
    for at in range(0, len(seen), TOGETHER):
        with torch.no_grad():
            vectors = prefix(seen[at : at + TOGETHER])
        texts += write_after(encoder, vectors, start, most=room)
    return texts


def _derangement(n: int, *, seed: int) -> Int64[np.ndarray, " n"]:
    """Return another row for each: all rows in one random circle."""
    circle = np.random.default_rng(seed).permutation(n)
    others = np.empty(n, dtype=np.int64)
    others[circle] = np.roll(circle, 1)
    return others


def _telling(report: Progress | None, what: str) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if report:
            report(done, total, what)

    return tell
