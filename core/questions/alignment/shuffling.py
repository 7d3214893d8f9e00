"""The scores of shuffled stimuli, a few permutations at a time, by whichever process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from core.crew.crew import Crew, results
from core.crew.units import Once, Unit
from core.pairs.shuffled import Scoring, shuffled_scores
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.store import Store
from core.study.comparison.comparing import prepare_each
from core.study.comparison.engines import choose_engine
from core.study.study import Study

AT_ONCE = 10  # permutations, about


@dataclass(frozen=True)
class Shuffling:
    """What scores permutations, and the models of both sides that can be compared."""

    score: Scoring
    x: Sequence[str]
    y: Sequence[str]


def prepare_shuffling(question: Alignment, study: Study) -> Shuffling:
    """Make the models of a complete question ready to be compared under permutations."""
    comparison, models = question.comparison, question.models()
    concatenated = comparison.read_layers().concatenated
    engine = choose_engine(study, comparison, models, concatenated=concatenated)
    ready, _ = prepare_each(study, engine, models, concatenated=concatenated)
    x, y = (
        [name for name in dict.fromkeys(names) if name in ready]
        for names in (question.x, question.y)
    )
    sides = ([ready[name] for name in names] for names in (x, y))
    return Shuffling(shuffled_scores(engine, *sides), x, y)


def prepare_elsewhere(question: Alignment, store: Path, device: str) -> Shuffling:
    """Do the same in a process that has only the store."""
    return prepare_shuffling(question, question.scope.open(Store(store), device=device))


def scoring_by(
    crew: Crew, shuffling: Once[Shuffling], *, count: int, report: Progress | None
) -> Scoring:
    """Return what lets a crew score permutations; count: of those that are reported."""
    done = 0

    def scores(orders: Int64[np.ndarray, "P n"]) -> Float64[np.ndarray, "P Lx Ly"]:
        nonlocal done
        parts = np.array_split(orders, max(1, len(orders) // AT_ONCE))
        units = [Unit("permutations", partial(_score, shuffling, part)) for part in parts]
        batches = list[np.ndarray]()
        for batch in results(crew, units):
            batches.append(batch)
            done += len(batch)
            if report:
                report(done, count, "permutations")
        return np.concatenate(batches)

    return scores


def _score(
    shuffling: Once[Shuffling], orders: Int64[np.ndarray, "P n"], _: Progress | None
) -> Float64[np.ndarray, "P Lx Ly"]:
    return shuffling().score(orders)
