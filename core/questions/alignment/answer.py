"""The alignment of models, with its null and its interval where wanted."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.errors import MetricError
from core.modalities import Item
from core.progress import Progress
from core.questions.alignment.calibration import add_intervals, add_nulls, check_resampling
from core.questions.alignment.findings import fit_findings
from core.questions.alignment.noise import add_noise
from core.questions.alignment.placing import FITTED, add_fits, check_axis, usual_axis
from core.questions.alignment.question import FIRST_KNOWN, Alignment
from core.questions.alignment.shares import add_shares
from core.questions.asking import ask
from core.questions.registry import Answer, declare
from core.study.comparing import align_models, choose_engine
from core.study.layers import ALL
from core.study.published import BESIDE, published_pairs, put_beside
from core.study.study import Study, finished_models, known_worlds

READ: tuple[Item, Item] = ("caption", "image")


def complete(question: Alignment, study: Study) -> Alignment:
    """Name the models that are meant where none are named, and the axis.

    Raises MetricError for layers, parameters of the metric or numbers of permutations and halves
    that cannot be, UnknownNameError for the axis and the metric.
    """
    comparison, calibration = question.comparison, question.calibration
    if comparison.layers != ALL:
        comparison.read_layers()
    elif calibration.resamples:
        raise MetricError(
            "nulls and intervals belong to one score per pair of models; choose best, last, a pair"
            " or a depth"
        )
    check_resampling(question)
    choose_engine(study, comparison)
    items = READ if question.axis_models == "language" else READ[::-1]
    x, y = (tuple(finished_models(study, item, unfinished=question.unfinished)) for item in items)
    y += tuple(known_worlds(study))
    question = replace(question, x=question.x or x, y=question.y or y)
    if question.axis == FIRST_KNOWN:
        return replace(question, axis=usual_axis(question, study))
    check_axis(question, study)
    return question


def align(question: Alignment, study: Study, report: Progress | None) -> pd.DataFrame:
    """Align every model of x with every other model of y.

    Returns the columns of `align_models`, and where there is an axis those of
    `core.questions.alignment.placing.add_fits`, and where values were published of these models and
    stimuli those of `core.study.published.put_beside`. With permutations also null_mean, null_sd,
    threshold, p, calibrated (see `core.statistics.nulls.calibrate`) and p_adjusted, for the false
    discovery rate over all rows; with draws also low and high, the 95 % interval of the score of
    the chosen layers (see `core.statistics.intervals`). Where recipes were trained with several
    seeds, also ceiling and share (see `core.questions.alignment.shares`). Where models were
    measured several times, also noise_ceiling (see `core.questions.alignment.noise`). reason: why
    any of these is NaN, or the score; else empty.
    """
    if question.axis:  # which changes no alignment, so that one answer is kept for all
        table = ask(replace(question, axis=""), study, report)
        if question.comparison.layers == ALL:
            return table
        published = published_pairs(study, question.comparison)
        table = put_beside(table, published, question.comparison.spec)
        return add_fits(table, question, study)
    comparison, calibration = question.comparison, question.calibration
    table = align_models(study, question.x, question.y, comparison)
    others = table["model_x"] != table["model_y"]
    table = table[others].reset_index(drop=True) if others.any() else table
    table = add_noise(add_shares(table, question, study), question, study)
    if calibration.null:
        table = add_nulls(table, question, study, report)
    if calibration.bootstrap:
        table = add_intervals(table, question, study, report)
    return table.assign(reason=table.pop("reason"))  # the last column


declare(
    Alignment,
    Answer(
        align,
        version=7,
        complete=complete,
        findings=fit_findings,
        hidden=(*FITTED, *BESIDE[1:]),
    ),
)
