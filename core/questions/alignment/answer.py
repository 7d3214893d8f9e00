"""The alignment of models, with its null and its interval where wanted."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.errors import MetricError
from core.progress import Progress
from core.questions.alignment.calibration import add_intervals, add_nulls
from core.questions.alignment.question import Alignment
from core.questions.alignment.shares import add_shares, read_replicates
from core.questions.convergence.question import Replicates
from core.questions.registry import Answer, declare
from core.statistics.nulls import check_count
from core.study.comparison.comparing import align_models
from core.study.comparison.engines import choose_engine
from core.study.layers import ALL, read_choice
from core.study.roster import finished_models, known_worlds
from core.study.study import Study

MANY = 500  # pairs, which take about two seconds


def complete(question: Alignment, study: Study) -> Alignment:
    """Name the models that are meant where none are named.

    Raises MetricError for layers, parameters of the metric or a number of permutations that cannot
    be.
    """
    comparison, calibration = question.comparison, question.calibration
    if comparison.layers != ALL:
        read_choice(comparison.layers)
    elif calibration.resamples:
        raise MetricError(
            "nulls and intervals belong to one score per pair of models; choose best, last, a pair"
            " or a depth"
        )
    if calibration.null:
        check_count(calibration.null)
    choose_engine(study, comparison)
    x = question.x or finished_models(study, "caption", unfinished=question.unfinished)
    vision = finished_models(study, "image", unfinished=question.unfinished)
    y = question.y or (*vision, *known_worlds(study))
    return replace(question, x=tuple(x), y=y)


def align(question: Alignment, study: Study, report: Progress | None) -> pd.DataFrame:
    """Align every model of x with every model of y.

    Returns the columns of `align_models`. With permutations also null_mean, null_sd, threshold, p,
    calibrated (see `core.statistics.nulls.calibrate`) and p_adjusted, for the false discovery rate
    over all rows; with draws also low and high, the 95 % interval of the score of the chosen layers
    (see `core.statistics.intervals`). Where recipes were trained with several seeds, also ceiling
    and share (see `core.questions.alignment.shares`). reason: why any of these is NaN, or the
    score; else empty.
    """
    comparison, calibration = question.comparison, question.calibration
    table = align_models(study, question.x, question.y, comparison)
    table = add_shares(table, question, study)
    if calibration.null:
        table = add_nulls(table, question, study, report)
    if calibration.bootstrap:
        table = add_intervals(table, question, study, report)
    return table.assign(reason=table.pop("reason"))  # the last column


def takes_long(question: Alignment) -> bool:
    """Return whether an answer is kept: where stimuli are drawn anew, and of many pairs."""
    return question.calibration.resamples or len(question.x) * len(question.y) > MANY


declare(
    Alignment,
    Answer(
        align,
        version=2,
        complete=complete,
        needs=(Replicates,),
        reads=read_replicates,
        kept=takes_long,
    ),
)
