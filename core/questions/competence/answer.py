"""Do better models agree more? The study's figures 2 and 4 in one table: bins, their trend,
reality, what alignment foretells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.competence.records import MEASURED
from core.encoders.encoder import REALITY
from core.errors import InputError, UnknownNameError
from core.progress import Progress
from core.questions.competence.registry import CAPTIONS, choices, registry, score_of
from core.questions.competence.tasks_solved import THRESHOLD
from core.questions.models.answer import bin_models, skill_of
from core.statistics.correlations import Correlation, partial_correlation, spearman_interval
from core.statistics.discoveries import adjust
from core.statistics.emergence import compare_fits
from core.study.comparing import align_models
from core.study.models import trained
from core.study.study import Study

COLUMNS = ("finding", "group", "models", "value", "low", "high", "se", "p", "p_adjusted", "reason")
DOWNSTREAM = (
    "HellaSwag",
    "GSM8K",
    "completions",
    "counting",
)  # those that embedded models have a value of
BINS = "mean alignment of models that solve a share of the tasks"
TREND = "slope of alignment over the share of tasks solved, pairs within a bin"
NEAR_REALITY = "Spearman of competence and alignment with reality"
BEND = "change of slope at the broken stick's knot, above 0 where a score emerges"
GAIN = "squared error on models left out, a line's minus a broken stick's"
FORETELLS = "Spearman of alignment and score"
UNMEASURED = "the competence of no vision model was measured"


def study_trends(
    study: Study,
    *,
    vision: str | None = None,
    bins: int = 5,
    equal: bool = False,
    threshold: float = THRESHOLD,
    tasks: Sequence[str] = (),
    by: str = "objective",
    seed: int = 0,
    report: Progress | None = None,
    **compared: Any,
) -> pd.DataFrame:
    """Return what the study says of competence and alignment, a row per figure, over the models
    that finished a training.

    The mean alignment of vision models within bins of tasks solved, with its jackknife error over
    models, and the trend's p, for all pairs and for those within and across groups (`by`; models of
    one may be alike), also adjusted for these being three tests; Spearman's ρ of competence and
    alignment with reality, with its interval; then, for each downstream score of language models: ρ
    with their alignment with one vision model, the partial correlation given the logarithm of their
    size, R² on models left out, of a line and of a broken stick, how the stick bends (upward where
    the score emerges, downward where it levels off), and what it gains over the line: up to its
    standard error that is nothing. vision: that vision model; the one that solves most tasks where
    none is named. bins, equal, threshold, tasks, by: as of
    `core.questions.models.answer.bin_models`. compared: metric, layers, parameters. Returns
    COLUMNS; a number that cannot be had is NaN and `reason` says why. Raises UnknownNameError for
    what is no vision model, and as `bin_models`.
    """
    if vision is not None and vision not in (known := study.readers("image")):
        raise UnknownNameError("vision model", vision, known)
    models = trained(study.models())
    names = {
        kind: list(models.loc[models["modality"] == kind, "model"])
        for kind in ("vision", "language", "world")
    }
    scores = registry(study)
    solving: dict[str, Any] = {"threshold": threshold, "tasks": tasks}
    binned = bin_models(
        study,
        names["vision"],
        bins=bins,
        equal=equal,
        by=by,
        seed=seed,
        report=report,
        **solving,
        **compared,
    )
    solved = skill_of(study, names["vision"], **solving)
    rows = [*_bins(binned, by), *_near_reality(study, names, scores, solved, seed=seed, **compared)]
    rows += _downstream(
        study,
        names["language"],
        scores,
        vision=vision or _most_competent(solved),
        seed=seed,
        **compared,
    )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def predict_score(
    study: Study, score: pd.Series, *, vision: str, seed: int = 0, **compared: Any
) -> list[dict[str, Any]]:
    """Return rows about what alignment with one vision model says of a score, by language model;
    see `study_trends`.

    Source: Huh et al. 2024, figure 4.
    """
    near = align_models(study, list(score.index), [vision], **compared).set_index("model_x")[
        "score"
    ]
    x, y = near.to_numpy(float), score.reindex(near.index).to_numpy(float)
    size = study.models().set_index("model")["parameters"].reindex(near.index).to_numpy(float)
    group = f"{score.name}, alignment with {vision}"
    fits = compare_fits(x, y)
    told = [(f"R² on models left out, {row.fit}", row.cv_r2) for row in fits.itertuples()] + [
        (BEND, fits["bend"].iloc[-1])
    ]
    judged = [
        {"finding": name, "models": fits["points"][0], "value": value, "reason": fits["reason"][0]}
        for name, value in told
    ]
    gain = {
        "finding": GAIN,
        "models": fits["points"][0],
        "value": fits["gain"].iloc[-1],
        "se": fits["gain_se"].iloc[-1],
        "reason": fits["reason"][0],
    }
    rows = [
        _correlated(FORETELLS, spearman_interval(x, y, seed=seed)),
        _correlated(
            "partial correlation given log size", partial_correlation(x, y, given=np.log(size))
        ),
        *judged,
        gain,
    ]
    return [{"group": group, **row} for row in rows]


def _bins(table: pd.DataFrame, by: str) -> Iterator[dict[str, Any]]:
    pairs_of = {"all": "all pairs", "same": f"within {by}", "different": f"across {by}"}
    if table.empty:
        yield _unknown(BINS, pairs_of["all"], UNMEASURED)
    for row in table.itertuples():
        group = f"{row.low:.0%} to {row.high:.0%}, {pairs_of[str(row.pairs_of)]}"
        yield {
            "finding": BINS,
            "group": group,
            "models": row.models,
            "value": row.mean,
            "se": row.se,
            "reason": row.reason,
        }
    trends = table.drop_duplicates("pairs_of")
    for row, q in zip(trends.itertuples(), adjust(trends["p"].to_numpy(np.float64)), strict=True):
        group, models = (
            pairs_of[str(row.pairs_of)],
            table.loc[table["pairs_of"] == row.pairs_of, "models"].sum(),
        )
        yield {
            "finding": TREND,
            "group": group,
            "models": models,
            "value": row.slope,
            "p": row.p,
            "p_adjusted": q,
            "reason": row.trend_reason,
        }


def _near_reality(
    study: Study,
    names: dict[str, list[str]],
    scores: pd.DataFrame,
    solved: pd.Series,
    *,
    seed: int,
    **compared: Any,
) -> Iterator[dict[str, Any]]:
    if REALITY not in names["world"]:
        return
    for kind in (kind for kind in ("language", "vision") if names[kind]):
        try:
            skill = score_of(scores, CAPTIONS, origin=MEASURED) if kind == "language" else solved
            near = align_models(study, names[kind], [REALITY], **compared).set_index("model_x")[
                "score"
            ]
        except InputError as error:
            yield _unknown(NEAR_REALITY, kind, str(error))
            continue
        found = spearman_interval(
            skill.reindex(near.index).to_numpy(float), near.to_numpy(float), seed=seed
        )
        yield {"group": kind, **_correlated(NEAR_REALITY, found)}


def _downstream(
    study: Study, names: list[str], scores: pd.DataFrame, *, vision: str, seed: int, **compared: Any
) -> Iterator[dict[str, Any]]:
    """Yield what `predict_score` says of each downstream score that these models have, those of
    each origin by themselves.
    """
    offered = choices(scores[scores["model"].isin(names)])
    for task in DOWNSTREAM:
        for origin in offered.loc[offered["task"] == task, "origin"].unique():
            title = task if origin == MEASURED else f"{task} ({origin})"
            try:
                if not vision:
                    raise InputError(UNMEASURED)
                score = score_of(scores, task, origin=origin).reindex(names).rename(title)
                yield from predict_score(study, score, vision=vision, seed=seed, **compared)
            except InputError as error:
                yield _unknown(FORETELLS, title, str(error))


def _correlated(finding: str, found: Correlation) -> dict[str, Any]:
    return {
        "finding": finding,
        "models": found.n,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "reason": found.reason,
    }


def _most_competent(solved: pd.Series) -> str:
    """Return the vision model that solves most tasks, of equals the first by name; "" where none
    was measured.
    """
    known = solved.dropna()
    return "" if known.empty else str(known.idxmax())


def _unknown(finding: str, group: str, reason: str) -> dict[str, Any]:
    return {"finding": finding, "group": group, "models": 0, "reason": reason}
