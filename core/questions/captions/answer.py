"""Alignment by caption level: a study's language models at all levels that they are embedded at,
against vision models and reality.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.metrics.knn import mutual_terms
from core.progress import Progress
from core.questions.asking import ask
from core.questions.captions.completion import (
    OF_THE_CAVE_ALONE,
    complete_alignment,
    complete_facts,
    complete_scores,
)
from core.questions.captions.findings import alignment_findings, facts_findings
from core.questions.captions.points import panels
from core.questions.captions.question import (
    CaptionAlignment,
    CaptionFacts,
    CaptionLevels,
    CaptionScores,
)
from core.questions.captions.tellings import (
    outdated_sentences,
    tellings,
    texts_at,
    told_at,
)
from core.questions.captions.trends import (
    by_group,
    by_level,
    by_share,
    level_trends,
    told_by_group,
)
from core.questions.registry import Answer, declare, never
from core.stimuli.statistics import split_words
from core.study.comparing import align_models
from core.study.models import clusters
from core.study.study import Study

EDGES = np.linspace(0, 1, 11)  # bins of the share of facts told
FEWEST = 16  # stimuli of a bin

Compared = CaptionScores | CaptionAlignment | CaptionFacts


def score_levels(question: CaptionScores, study: Study, report: Progress | None) -> pd.DataFrame:
    """Align language models at every level that they are embedded at with vision models and
    reality.

    Returns model, level, words, bytes, facts (of `describe_levels`), then `align_models`'s columns
    with the embedding as name, from the fewest words to the most.
    """
    read = tellings(study).query("model in @question.x")
    levels = ask(CaptionLevels(question.scope), study)
    about = levels.set_index("level")[["words", "bytes", "facts"]]
    joined = (
        _align_levels(read, question, study, report)
        .join(about, on="level")
        .merge(read[["model", "name"]], on="name")
    )
    first = ["model", "level", "words", "bytes", "facts", "name"]
    rest = [column for column in joined if column not in first]
    return joined.sort_values("words", kind="stable", ignore_index=True)[first + rest]


declare(
    CaptionScores,
    Answer(
        score_levels,
        version=2,
        complete=complete_scores,
        left_out=outdated_sentences,
    ),
)


def _align_levels(
    read: pd.DataFrame, question: CaptionScores, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Align what reads each level, rows of `tellings`, with the targets."""
    comparison, tables = question.comparison, []
    for done, (level, names) in enumerate(read.groupby("level")["name"], start=1):
        table = align_models(study, list(names), question.y, comparison)
        tables.append(table.rename(columns={"model_x": "name"}).assign(level=level))
        if report:
            report(done, read["level"].nunique(), "caption levels")
    return pd.concat(tables, ignore_index=True)


def align_levels(question: CaptionAlignment, study: Study, report: Progress | None) -> pd.DataFrame:
    """Average alignment over language models for each target and level, and test the target's
    trend.

    Returns model_y, level, words, mean, deviation, models, chance (of `by_level`), families, slope,
    low, high, rho, p, p_adjusted, reason (of `level_trends`), paired (language models that have
    every level of the trend) and title (what a person calls the target).
    """
    models = study.models()
    rows = by_group(ask(question.scores, study, report), _groups(models, question.by))
    trends = level_trends(rows, clusters(models)).drop(columns="levels")
    table = by_level(rows).merge(
        trends.rename(columns={"models": "paired"}), on="model_y", how="left"
    )
    titles = _titles(models, question.by)
    return table.assign(title=table["model_y"].map(titles))


declare(
    CaptionAlignment,
    Answer(
        align_levels,
        version=1,
        kept=never,
        complete=complete_alignment,
        left_out=outdated_sentences,
        findings=alignment_findings,
    ),
)


def compare_facts(question: CaptionFacts, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how mutual kNN of single stimuli goes with what their captions tell, by target and
    level.

    Returns the means of `bin_facts` over the targets of a group, and title (what a person calls
    it).
    """
    models = study.models()
    groups, titles = _groups(models, question.by), _titles(models, question.by)
    table = told_by_group(bin_facts(question, study, report), groups)
    return table.assign(title=table["model_y"].map(titles))


declare(
    CaptionFacts,
    Answer(
        compare_facts,
        version=2,
        complete=complete_facts,
        left_out=outdated_sentences,
        findings=facts_findings,
    ),
)


def bin_facts(question: CaptionFacts, study: Study, report: Progress | None = None) -> pd.DataFrame:
    """Return how mutual kNN of single stimuli goes with what their captions tell, by model of y and
    level.

    A stimulus's score is the mean over language models of the share of its k neighbors that both
    spaces have in common, in the layers that `score_levels` finds best. Returns model_y, level,
    facts, score, stimuli (see `by_share`), chance.
    """
    rows = ask(question.scores, study, report).dropna(subset="score")
    facts = {level: told_at(study, level) for level in rows["level"].unique()}
    tables = []
    for _, pairs in rows.groupby(["model_y", "level"], sort=False):
        about = {str(name): pairs[name].iloc[0] for name in ("model_y", "level", "chance")}
        each = [_shared(study, pair, question.k) for pair in pairs.to_dict("records")]
        bins = by_share(facts[about["level"]], np.mean(each, axis=0), edges=EDGES, fewest=FEWEST)
        tables.append(bins.assign(**about))
    columns = ["model_y", "level", "facts", "score", "stimuli", "chance"]
    return pd.concat(tables, ignore_index=True)[columns]


def _shared(study: Study, pair: Mapping[Any, Any], k: int) -> Float64[np.ndarray, "n"]:
    x, y = (
        study.neighbors(pair[name], k=k)[pair[layer], :, :k]
        for name, layer in (("name", "layer_x"), ("model_y", "layer_y"))
    )
    return mutual_terms(x, y)


def describe_levels(_: CaptionLevels, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per level that a language model is embedded at, from the fewest words to the
    most.

    Columns level, words and bytes (UTF-8) of a stimulus's text or texts, facts (the share of the
    facts; NaN where `reason` says why), all means over stimuli, and models (how many are embedded
    at it).
    """
    levels = tellings(study).groupby("level", sort=False)["model"].nunique()
    rows = []
    for done, (level, models) in enumerate(levels.items(), start=1):
        texts = [" ".join(several) for several in texts_at(study, str(level))]
        words = np.mean([len(split_words(text)) for text in texts])
        size = np.mean([len(text.encode()) for text in texts])
        facts = float(told_at(study, str(level)).mean())
        rows.append(
            (level, words, size, facts, models, OF_THE_CAVE_ALONE if np.isnan(facts) else "")
        )
        if report:
            report(done, len(levels), "caption levels")
    table = pd.DataFrame(rows, columns=["level", "words", "bytes", "facts", "models", "reason"])
    return table.sort_values("words", kind="stable", ignore_index=True)


declare(
    CaptionLevels,
    Answer(
        describe_levels,
        version=2,
        left_out=outdated_sentences,
    ),
)


def _groups(models: pd.DataFrame, by: str) -> dict[str, str]:
    """Return what stands for each model: itself, or its panel."""
    if by == "model":
        return dict(zip(models["model"], models["model"], strict=True))
    return panels(models, by)


def _titles(models: pd.DataFrame, by: str) -> dict[str, str]:
    """Return what a person calls what stands for each model."""
    shown = panels(models, by)
    return {group: shown[model] for model, group in _groups(models, by).items()}
