"""How far alignments have come from chance to the ceiling: what two seeds of one recipe reach."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.metrics.spec import MetricSpec
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.convergence.question import Replicates
from core.study.layers import ALL
from core.study.noise import ceiling_between
from core.study.study import Study

UNKNOWN = "no ceiling: of one of the two, no recipe of its modality was trained with several seeds"
BELOW = "no share: the ceiling is not above chance"


def replicates_of(question: Alignment) -> Replicates | None:
    """Return the question whose answer gives the ceiling; None for single pairs of layers, which
    name one layer of either side: among models of one set there are no sides.
    """
    comparison = question.comparison
    if comparison.layers == ALL or comparison.read_layers().pair is not None:
        return None
    return Replicates(question.scope, (), comparison)


def add_shares(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add ceiling and share to a table of alignments, where any pair has a ceiling; see `shares`.

    The ceiling is the mean alignment of two seeds of one recipe, across modalities the geometric
    mean of both. reason also says why either is NaN.
    """
    replicates = replicates_of(question)
    if replicates is None or table.empty:
        return table
    seeds, modality = ask(replicates, study), study.models().set_index("model")["modality"]
    kinds = list(zip(table["model_x"].map(modality), table["model_y"].map(modality), strict=True))
    levels = {kind: ceiling_between(seeds, *kind) for kind in set(kinds)}
    if np.isnan(list(levels.values())).all():
        return table
    return shares(table.assign(ceiling=[levels[kind] for kind in kinds]), question.comparison.spec)


def shares(table: pd.DataFrame, spec: MetricSpec) -> pd.DataFrame:
    """Add share = (score − chance) / (ceiling − chance): 0 is chance, 1 the ceiling.

    table: score, chance, ceiling, reason. NaN where one of these is, and where the ceiling is not
    beyond chance.
    """
    way = table["ceiling"] - table["chance"]
    above = way > 0 if spec.higher_is_more_aligned else way < 0
    share = ((table["score"] - table["chance"]) / way).where(above)
    why = np.select([table["ceiling"].isna(), way.notna() & ~above], [UNKNOWN, BELOW], "")
    reason = table["reason"].where(table["reason"] != "", why)
    return table.assign(share=share, reason=reason)
