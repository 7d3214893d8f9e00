"""Do better models agree more? The study's figures 2 and 4 in one table: bins and their trend,
alignment with reality, and scores that alignment predicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from core.competence.records import MEASURED
from core.encoders.encoder import REALITY
from core.errors import InputError, UnknownNameError
from core.figures.numbers import share_text
from core.modalities import Item, reader_of
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.prediction import predict
from core.questions.competence.question import Bins, Contenders, TasksSolved, Trends
from core.questions.competence.registry import CAPTIONS, registry
from core.statistics.correlations import Correlation, spearman_interval
from core.statistics.nulls import adjust
from core.study.comparing import align_models
from core.study.models import lines
from core.study.scores import known_scores, score_of
from core.study.study import Study, finished_models, known_worlds

COLUMNS = ("finding", "group", "models", "value", "low", "high", "se", "p", "p_adjusted", "reason")
USUAL = ("HellaSwag", "GSM8K", "completions", "counting")  # scores to predict, in this order
BINS = "mean alignment of models that solve a share of the tasks"
TREND = "slope of alignment over the share of tasks solved, pairs within a bin"
NEAR_REALITY = "Spearman of competence and alignment with reality"
BEND = "change of slope at the broken stick's knot, above 0 where a score emerges"
GAIN = "squared error on models left out, a line's minus a broken stick's"
PREDICTS = "Spearman of alignment and score"
PARTIAL = "partial correlation given log size"
UNMEASURED = "no vision model's competence was measured"

Row = dict[str, Any]


def trend_table(question: Trends, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return what the study says of competence and alignment, a row per figure, over the models
    that finished a training.

    The mean alignment of vision models within bins of tasks solved, with its jackknife error over
    models, and the trend's p, for all pairs and for those within and across groups (models of one
    may be alike), also adjusted for these being three tests; Spearman's ρ of competence and
    alignment with reality, with its interval; then, for each downstream score of language models: ρ
    with their alignment with one vision model, the partial correlation given the logarithm of their
    size, R² on models left out, of a line and of a broken stick, how the stick bends (upward where
    the score emerges, downward where it levels off), and what it gains over the line: up to its
    standard error that is nothing. Returns COLUMNS; a number that cannot be had is NaN and `reason`
    says why. Raises UnknownNameError for what is no vision model, and as `Bins`.
    """
    if question.vision and question.vision not in (names := study.readers("image")):
        raise UnknownNameError("vision model", question.vision, names)
    solved = _solved(question, study)
    rows = [
        *_bins(question, study, report),
        *_near_reality(question, study, solved),
        *_downstream(question, study, question.vision or most_competent(solved)),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def most_competent(solved: pd.Series) -> str:
    """Return the vision model that solves most tasks, of equals the first; "" where none was
    measured.

    solved: the share of tasks, by model.
    """
    measured = solved.dropna()
    return "" if measured.empty else str(measured.idxmax())


def _solved(question: Trends, study: Study) -> pd.Series:
    """Return the share of tasks that each finished vision model solves, by name."""
    table = ask(TasksSolved(question.scope, question.solving), study).set_index("model")
    return table["solved"].astype(float).reindex(sorted(finished_models(study, "image")))


def _near(question: Trends, study: Study, names: list[str], target: str) -> pd.Series:
    """Return the alignment of models with one target, by model."""
    table = align_models(study, names, [target], question.comparison)
    return table.set_index("model_x")["score"]


def _bins(question: Trends, study: Study, report: Progress | None) -> Iterator[Row]:
    by, names = question.binning.by, tuple(finished_models(study, "image"))
    if not names:
        yield _unknown(BINS, "all pairs", UNMEASURED)
        return
    bins = Bins(
        question.scope,
        Contenders(names),
        question.solving,
        question.binning,
        question.comparison,
        seed=question.seed,
    )
    pairs_of = {"all": "all pairs", "same": f"within {by}", "different": f"across {by}"}
    yield from _bin_rows(ask(bins, study, report), pairs_of)


def _bin_rows(table: pd.DataFrame, pairs_of: dict[str, str]) -> Iterator[Row]:
    if table.empty:
        yield _unknown(BINS, pairs_of["all"], UNMEASURED)
    for row in table.itertuples():
        yield {
            "finding": BINS,
            "group": f"{share_text(row.low)} to {share_text(row.high)},"
            f" {pairs_of[str(row.pairs_of)]}",
            "models": row.models,
            "value": row.mean,
            "se": row.se,
            "reason": row.reason,
        }
    trends = table.drop_duplicates("pairs_of")
    for row, q in zip(trends.itertuples(), adjust(trends["p"].to_numpy(np.float64)), strict=True):
        yield {
            "finding": TREND,
            "group": pairs_of[str(row.pairs_of)],
            "models": table.loc[table["pairs_of"] == row.pairs_of, "models"].sum(),
            "value": row.slope,
            "p": row.p,
            "p_adjusted": q,
            "reason": row.trend_reason,
        }


def _near_reality(question: Trends, study: Study, solved: pd.Series) -> Iterator[Row]:
    if not known_worlds(study):
        return
    readers: tuple[Item, ...] = ("caption", "image")
    for item in readers:
        names, modality = finished_models(study, item), reader_of(item).name
        if not names:
            continue
        try:
            skill = _coded(study) if item == "caption" else solved
            near = _near(question, study, names, REALITY)
        except InputError as error:
            yield _unknown(NEAR_REALITY, modality, str(error))
            continue
        x, y = skill.reindex(near.index).to_numpy(float), near.to_numpy(float)
        kin = lines(study.models())
        order = spearman_interval(x, y, [kin[name] for name in near.index], seed=question.seed)
        yield {"group": modality, **_correlated(NEAR_REALITY, order)}


def _coded(study: Study) -> pd.Series:
    return score_of(registry(study), CAPTIONS, origin=MEASURED)


def _downstream(question: Trends, study: Study, vision: str) -> Iterator[Row]:
    """Yield how alignment with one vision model predicts each downstream score that the language
    models have, those of each origin by themselves.
    """
    scores, names = registry(study), finished_models(study, "caption")
    offered = known_scores(scores, names)
    for score in [one for task in USUAL for one in offered if one.task == task]:
        title = score.task if score.origin == MEASURED else score.name
        try:
            if not vision:
                raise InputError(UNMEASURED)
            values = score_of(scores, score.task, origin=score.origin).reindex(names)
            rows = _predicted(question, study, values, vision)
        except InputError as error:
            yield _unknown(PREDICTS, title, str(error))
            continue
        yield from ({"group": f"{title}, alignment with {vision}", **row} for row in rows)


def _predicted(question: Trends, study: Study, values: pd.Series, vision: str) -> list[Row]:
    """Return how alignment with one vision model predicts a score, by language model.

    Source: Huh et al. 2024, figure 4.
    """
    near = _near(question, study, list(values.index), vision)
    models = study.models()
    points = models[models["model"].isin(near.index)]
    points = points.assign(near=points["model"].map(near), value=points["model"].map(values))
    prediction = predict(points, seed=question.seed)
    fits = prediction.fits
    fitted: Row = {"models": fits["points"][0], "reason": fits["reason"][0]}
    stick = fits.iloc[-1]
    return [
        _correlated(PREDICTS, prediction.order),
        _correlated(PARTIAL, prediction.partial),
        *(
            {"finding": f"R² on models left out, {row.fit}", "value": row.cv_r2, **fitted}
            for row in fits.itertuples()
        ),
        {"finding": BEND, "value": stick["bend"], **fitted},
        {"finding": GAIN, "value": stick["gain"], "se": stick["gain_se"], **fitted},
    ]


def _correlated(finding: str, order: Correlation) -> Row:
    return {
        "finding": finding,
        "models": order.n,
        "value": order.value,
        "low": order.low,
        "high": order.high,
        "p": order.p,
        "reason": order.reason,
    }


def _unknown(finding: str, group: str, reason: str) -> Row:
    return {"finding": finding, "group": group, "models": 0, "reason": reason}
