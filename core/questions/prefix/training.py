"""Train prefixes by the likelihood of captions alone, both networks frozen, and code captions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int64
from torch import Tensor, nn

from core.competence.opened import reopen
from core.encoders.language.encoder import LanguageEncoder
from core.encoders.vision import VisionEncoder
from core.errors import EncoderError, TrainingError
from core.networks.prefixed import (
    ImagePrefix,
    Seen,
    Tokens,
    code_after,
    need_causal,
    nothing,
    see,
    tokenize,
    word_vectors,
)
from core.progress import tell, tell_each
from core.questions.prefix.lessons import Lessons, Told, measured, taught
from core.settings import choose_device
from core.study.study import Study

BATCH = 32
RATE = 0.03  # in units of the spread of word embeddings
WARMUP = 0.05  # of all steps
HELD_OUT = 8  # one picture of so many validates
TOGETHER = 64  # images at a time


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


def measure_pair(study: Study, x: str, y: str, lessons: Lessons, shuffled: bool) -> pd.DataFrame:
    """Return a row per training and stimulus: training, index, own and other (bits of the caption
    behind its own image, and behind another stimulus's), bytes, tokens (length of the prefix).
    """
    vision = _vision(y, study)
    school = School(_language(x, study), lessons)
    indices, material = measured(study, lessons)
    seen = _see_all(vision, material, "batches of stimuli seen")
    exam = _exam(school.language, indices, material, length=seen.shape[1])
    strangers = _derangement(len(indices), seed=lessons.seed)
    tables = []
    for training in range(lessons.seeds):
        lesson = taught(study, lessons, training=training)
        shown = _see_all(vision, lesson, "batches of training pictures seen")
        if shuffled:
            shown = shown[_derangement(len(shown), seed=training)]
        make = partial(ImagePrefix, shown, word_vectors(school.language))
        prefix = _trained(school, training, lesson, shown, make)
        costs = {
            name: code_all(school.language, prefix, rows, exam.tokens, exam.front)
            for name, rows in (("own", seen), ("other", seen[strangers]))
        }
        tables.append(exam.table(training, **costs))
    return pd.concat(tables, ignore_index=True).assign(tokens=seen.shape[1])


def measure_without(study: Study, x: str, length: int, lessons: Lessons) -> pd.DataFrame:
    """Return a row per training and stimulus: training, index, without (bits of the caption behind
    a prefix that was learned without images), bytes.
    """
    school = School(_language(x, study), lessons)
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
        tables.append(exam.table(training, without=costs))
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


def _see_all(encoder: VisionEncoder, material: Told, what: str) -> Seen:
    parts = list[Tensor]()
    for at in tell_each(range(0, material.rows, TOGETHER), what):
        rows = range(at, min(at + TOGETHER, material.rows))
        parts.append(see(encoder, [material.picture(row) for row in rows]))
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
    # make: the untrained prefix, from a seed's dice
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
        told=f"steps of training {training + 1} of {lessons.seeds}",
    )


def _derangement(n: int, *, seed: int) -> Int64[np.ndarray, " n"]:
    """Return another row for each: all rows in one random circle."""
    circle = np.random.default_rng(seed).permutation(n)
    others = np.empty(n, dtype=np.int64)
    others[circle] = np.roll(circle, 1)
    return others


def train(
    encoder: LanguageEncoder,
    prefix: ImagePrefix,
    seen: Seen,
    captions: Callable[[int], Sequence[str]],
    *,
    passes: int,
    dice: torch.Generator,
    told: str,
) -> ImagePrefix:
    """Train a prefix by AdamW, its rate down a cosine, and return it as it was after the pass that
    codes the validation captions best.

    seen: the images' tokens. captions: of all images, by pass. The last eighth of the images
    validates. told: what progress says. Raises TrainingError if the loss stops being a number.
    """
    teaching, length = len(seen) - max(1, len(seen) // HELD_OUT), seen.shape[1]
    steps, done = passes * math.ceil(teaching / BATCH), 0
    optimizer = torch.optim.AdamW(prefix.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    best, kept = math.inf, prefix.state_dict()
    exam = tokenize(encoder, captions(passes)[teaching:], length=length)
    for number in range(passes):
        tokens, front = tokenize(encoder, captions(number)[:teaching], length=length)
        for rows in torch.randperm(teaching, generator=dice).split(BATCH):
            optimizer.zero_grad(set_to_none=True)
            _loss(encoder, prefix, seen[rows], [tokens[row] for row in rows], front).backward()
            nn.utils.clip_grad_norm_(prefix.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            done += 1
            tell(done, steps, told)
        reached = float(code_all(encoder, prefix, seen[teaching:], *exam).mean())
        if not math.isfinite(reached):
            raise TrainingError(
                f"the loss of a prefix for {encoder.card.name} is not a number; train it on other"
                " pictures or with another model"
            )
        if reached < best:
            best = reached
            kept = {name: value.clone() for name, value in prefix.state_dict().items()}
    prefix.load_state_dict(kept)
    return prefix


@torch.no_grad()
def code_all(
    encoder: LanguageEncoder, prefix: ImagePrefix, seen: Seen, tokens: Tokens, front: int
) -> Tensor:
    """Return the bits of each text behind the prefix of its image, on the CPU."""
    parts = range(0, len(seen), BATCH)
    return torch.cat(
        [
            code_after(encoder, prefix(seen[at : at + BATCH]), tokens[at : at + BATCH], front).cpu()
            for at in parts
        ]
    )


def _loss(
    encoder: LanguageEncoder, prefix: ImagePrefix, seen: Seen, tokens: Tokens, front: int
) -> Tensor:
    """Return the bits per token of a batch."""
    coded = sum(len(each) - front for each in tokens)
    return code_after(encoder, prefix(seen), tokens, front).sum() / coded


def _rate(step: int, steps: int) -> float:
    warmup = max(1, round(WARMUP * steps))
    return min((step + 1) / warmup, (1 + math.cos(math.pi * step / steps)) / 2)
