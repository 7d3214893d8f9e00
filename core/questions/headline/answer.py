"""The headline: one permutation test of alignment across vision and language on competence."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from core.modalities import find_modality
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.headline.findings import headline_findings, judge
from core.questions.headline.question import Headline
from core.questions.registry import Answer, declare
from core.statistics.trends import FEW, RankTrend, Setups, rank_trend
from core.study.models import rank_within, skill_values
from core.study.parts import Comparison
from core.study.study import Study
from core.study.trainings import describe_trainings

LAYERS = ("best", "last")  # the first decides


def answer_headline(question: Headline, study: Study, report: Progress | None) -> pd.DataFrame:
    """Test whether better models agree more across vision and language.

    A setup is a training in all its seeds, with the mean competence and alignment of these. Its
    rank in competence is among those of its modality; its group, its architecture and objective.
    Returns a row for best layers, which decides, and one for last layers: layers, vision, language
    (numbers of setups), the fields of `RankTrend`, and verdict: for, against, not shown, unknown.
    """
    setups = _setups(question, study)
    vision, language = (setups[setups["reads"] == reads] for reads in ("image", "caption"))
    rows = []
    for layers in LAYERS:
        trend = RankTrend(reason=FEW)
        if len(vision) and len(language):
            scores = _scores(question, study, report, vision, language, layers)
            trend = rank_trend(
                scores,
                _ranked(vision),
                _ranked(language),
                toward=question.measure.toward,
                draws=question.permutations,
                seed=question.seed,
            )
        counts = {"layers": layers, "vision": len(vision), "language": len(language)}
        rows.append(counts | asdict(trend) | {"verdict": judge(trend.p)})
    return pd.DataFrame(rows)


def _setups(question: Headline, study: Study) -> pd.DataFrame:
    """Return a row per usual setup: recipe, line, reads, models, and rank of competence."""
    trainings = describe_trainings(study)
    usual = trainings[trainings["varies"] == ""]
    values = skill_values(study.competence(), ask(TasksSolved(question.scope), study))
    usual = usual.assign(competence=values.reindex(usual["model"]).to_numpy())
    setups = usual.groupby("recipe", sort=True).agg(
        line=("line", "first"),
        modality=("modality", "first"),
        models=("model", tuple),
        competence=("competence", "mean"),
    )
    reads = [find_modality(name).reads for name in setups["modality"]]
    ranks = rank_within(setups["competence"], setups["modality"])
    return setups.assign(reads=reads, rank=ranks)


def _ranked(side: pd.DataFrame) -> Setups:
    return Setups(side["rank"].to_numpy(np.float64), pd.factorize(side["line"])[0].astype(np.int64))


def _scores(
    question: Headline,
    study: Study,
    report: Progress | None,
    vision: pd.DataFrame,
    language: pd.DataFrame,
    layers: str,
) -> np.ndarray:
    """Return the mean score of each vision setup with each language setup over their seeds."""
    measure = question.measure
    comparison = Comparison.of(measure.metric, measure.changed, layers=layers)
    x, y = (
        tuple(name for models in side["models"] for name in models) for side in (language, vision)
    )
    pairs = ask(Alignment(question.scope, x, y, comparison=comparison), study, report)
    recipes = {
        name: recipe
        for side in (language, vision)
        for recipe, models in side["models"].items()
        for name in models
    }
    table = (
        pairs.assign(vision=pairs["model_y"].map(recipes), language=pairs["model_x"].map(recipes))
        .pivot_table(index="vision", columns="language", values="score", aggfunc="mean")
        .reindex(index=vision.index, columns=language.index)
    )
    return table.to_numpy(np.float64)


declare(
    Headline,
    Answer(answer_headline, version=2, findings=headline_findings),
)
