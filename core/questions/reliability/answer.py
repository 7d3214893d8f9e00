"""The reliability of repeated measurements, and the noise ceiling that follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from core.errors import InputError
from core.progress import Progress
from core.questions.registry import Answer, declare, never
from core.questions.reliability.question import Reliability
from core.study.comparing import choose_engine
from core.study.noise import bound_of, held_noise, unit_reliabilities
from core.study.study import Study

COLUMNS = (
    "model",
    "layer",
    "over",
    "repeats",
    "units",
    "reliability",
    "halves",
    "ceiling",
    "reason",
)
NONE = "No model over this dataset was measured several times: import one with --repeats."


def complete(question: Reliability, study: Study) -> Reliability:
    """Name the models with repeats where none are named; raises InputError for one without, and as
    `choose_engine` for the metric.
    """
    choose_engine(study, question.measure)
    for name in question.names:
        if not study.entry(name).card.over:
            raise InputError(
                f"{name} was measured once, so nothing tells its noise; import it with --repeats"
            )
    entries = study.store.models(study.dataset.name)
    names = tuple(entry.card.name for entry in entries if entry.card.over)
    return replace(question, names=question.names or names)


def measure_reliability(
    question: Reliability, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Return a row per layer: over what its measurements were repeated, and how often; units;
    reliability: the median over units of split halves, Spearman–Brown corrected; halves: the mean
    score of two halves by the metric; ceiling: see `core.study.noise`; reason: why any
    of these is NaN, else empty.
    """
    rows = list[dict[str, Any]]()
    for done, name in enumerate(question.names, start=1):
        rows += _rows(name, question, study)
        if report:
            report(done, len(question.names), "models split")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(name: str, question: Reliability, study: Study) -> Iterator[dict[str, Any]]:
    card, counts = study.entry(name).card, [each.shape for each in study.repeats(name)]
    units, noises = unit_reliabilities(study, name), held_noise(study, name, question.measure)
    for layer, (value, why), noise, shape in zip(card.layers, units, noises, counts, strict=True):
        yield {
            "model": name,
            "layer": layer,
            "over": card.over,
            "repeats": shape[0],
            "units": shape[2],
            "reliability": value,
            "halves": noise.halves,
            "ceiling": noise.ceiling,
            "reason": "; ".join(filter(None, (why, noise.reason))),
        }


def findings(question: Reliability, table: pd.DataFrame) -> list[str]:
    """Say how reliable each model is, and how far another can come."""
    if table.empty:
        return [NONE]
    ceiling = f"noise ceiling of {question.measure.spec.short} {bound_of(question.measure)}"
    labels = {"reliability": "median reliability of units ", "ceiling": ceiling}
    said = []
    for row in table.to_dict("records"):
        parts = [f"{what}{row[name]:.2f}" for name, what in labels.items() if pd.notna(row[name])]
        said.append(f"{row['model']}, {row['layer']}: {', '.join(parts) or row['reason']}.")
    return said


declare(
    Reliability,
    Answer(measure_reliability, version=1, complete=complete, findings=findings, kept=never),
)
