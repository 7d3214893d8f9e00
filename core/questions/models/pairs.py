"""Which models are compared with each other, and how aligned each pair is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from core.errors import InputError
from core.options import models_option, option, part
from core.questions.finding import Finding
from core.questions.models.geometry import cluster, distances
from core.questions.question import Answer, StudyQuestion
from core.study.comparing import check_pairing, pair_models
from core.study.models import is_measured, is_reality, trained, without_variants
from core.study.parts import Comparison
from core.study.study import Study

CLEAN_TREE, ROUGH_TREE = 0.8, 0.5


@dataclass(frozen=True)
class Roster:
    """Which models are compared with each other."""

    names: tuple[str, ...] = models_option("models, of any modality (all)")
    unfinished: bool = option(
        True,
        label="Checkpoints",
        help="if no models are named, checkpoints and untrained models too",
    )
    variants: bool = option(
        False,
        label="Seeds and variants",
        help="if no models are named, other seeds of a setup too, and models that vary one on"
        " purpose: its tasks, data, weight decay or width",
    )
    world: bool = option(
        True,
        label="Ground truth",
        help="if no models are named, the known factors of a made world too, as if they were a"
        " model's features",
    )
    measured: bool = option(
        False, label="Brains and people", help="if no models are named, brains and people too"
    )

    def of_kinds(self, models: pd.DataFrame) -> pd.DataFrame:
        """Return the models of the kinds that are taken."""
        measured = models[is_measured(models)]
        models = models[~is_measured(models)] if self.unfinished else trained(models)
        models = models if self.variants else without_variants(models)
        models = models if self.world else models[~is_reality(models)]
        return pd.concat([models, measured]) if self.measured else models

    def complete(self, study: Study) -> Roster:
        """Name the models that are meant, in an order that does not depend on how they were
        named.
        """
        names = set(self.names or self.of_kinds(study.models())["model"])
        return replace(self, names=tuple(sorted(names)))


@dataclass(frozen=True)
class ModelPairs(StudyQuestion):
    """How aligned is each pair of models, and do models form groups?"""

    command = "models pairs"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "model_x": "a model",
        "model_y": "another model",
        "layer_x": "layer of the first, from 0",
        "layer_y": "layer of the second",
        "score": "alignment, by the metric",
        "reason": "why there is no score",
    }

    roster: Roster = part(Roster)
    comparison: Comparison = part(Comparison)

    def complete(self, study: Study) -> ModelPairs:
        check_pairing(study, self.comparison)
        return replace(self, roster=self.roster.complete(study))

    def answer(self, study: Study) -> Answer:
        table = pair_models(study, self.roster.names, self.comparison)
        claim = "A tree fits these models"
        if table.empty:
            return Answer(table, [Finding(claim, reason="there is no pair")])
        try:
            fit = cluster(distances(table, spec=self.comparison.spec)).cophenetic
        except InputError as error:
            return Answer(table, [Finding(claim, reason=str(error))])
        if fit < CLEAN_TREE:
            claim = f"{claim} roughly" if fit >= ROUGH_TREE else "No tree fits these models"
        why = "distances are too few or equal" if np.isnan(fit) else ""
        return Answer(table, [Finding(claim, fit, name="cophenetic correlation", reason=why)])
