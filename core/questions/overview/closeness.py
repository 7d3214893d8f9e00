"""How close each model is to a center: reality, a model, or a modality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from core.errors import MetricError, UnknownNameError
from core.modalities import known_first
from core.options import option, part
from core.questions.question import Answer, StudyQuestion
from core.study.comparing import align_models
from core.study.layers import ALL
from core.study.models import (
    UNTRAINED,
    is_measured,
    is_reality,
    usual,
    without_variants,
)
from core.study.parts import Comparison
from core.study.study import Study, known_worlds

PARTNERS = 5
MAP_METRICS: Mapping[str, str] = {  # that the map offers: chance is known or 0
    "mutual_knn": "k-NN",
    "cycle_knn": "cycle k-NN",
    "cknna": "CKNNA",
    "unbiased_cka": "CKA",
}


@dataclass(frozen=True)
class ConvergenceMap(StudyQuestion):
    """How close is each model to reality, or to another center?"""

    command = "closeness"
    version = 7
    columns: ClassVar[Mapping[str, str]] = {
        "model": "model of a usual training, checkpoint or untrained control",
        "title": "its name",
        "modality": "its modality",
        "objective": "its objective",
        "family": "its family",
        "parameters": "its parameters",
        "untrained": "whether it is untrained",
        "run": "its training",
        "copy": "whether it is a checkpoint",
        "step": "its training steps",
        "center": "what it is compared with",
        "layer": "layer that was compared, −1 for a mean over several models",
        "score": "alignment with the center",
        "chance": "alignment of unrelated models",
        "reason": "why there is no score",
        "partners": "models of other modalities that are best aligned with it",
        "partner_scores": "their alignment",
    }

    center: str = option(
        "",
        label="Center",
        metavar="CENTER",
        help="reality, a model, or a modality: the mean over its models (reality if it is known,"
        " else the first modality)",
    )
    comparison: Comparison = part(Comparison)

    def complete(self, study: Study) -> ConvergenceMap:
        models = study.models()
        kinds = known_first(usual(_shown(models))["modality"])
        offered = [*known_worlds(study), *kinds, *models["model"]]
        center = self.center or next(iter(offered), "")
        if center not in offered:
            raise UnknownNameError("center", center, offered)
        if self.comparison.layers == ALL:
            raise MetricError("one pair of layers is compared with a center; got all: choose best")
        return replace(self, center=center)

    def answer(self, study: Study) -> Answer:
        models, center = _shown(study.models()), self.center
        names, finished = list(models["model"]), usual(models)
        if center in set(models["modality"]):
            kind = list(finished.loc[finished["modality"] == center, "model"])
            pairs = align_models(study, names, kind, self.comparison)
            runs = models.set_index("model")["run"]  # no model is compared with its own training
            pairs = pairs[pairs["model_x"].map(runs) != pairs["model_y"].map(runs)]
            means = pairs.groupby("model_x", sort=False)[["score", "chance"]].mean()
            scores = means.rename_axis("model").reset_index().assign(layer=-1, reason="")
        else:
            others = [name for name in names if name != center]
            scores = align_models(study, others, [center], self.comparison)
            scores = scores.rename(columns={"model_x": "model", "layer_x": "layer"})
            scores = scores[["model", "layer", "score", "chance", "reason"]]
        table = models.assign(untrained=models["group"] == UNTRAINED, center=center)
        table = table.merge(scores, on="model", how="left")
        partners = _partners(study, models, self.comparison)
        return Answer(table.merge(partners, on="model", how="left")[list(self.columns)])


def _shown(models: pd.DataFrame) -> pd.DataFrame:
    """Return usual models, untrained ones and checkpoints."""
    usual_ones = without_variants(models)
    return usual_ones[~(is_reality(usual_ones) | is_measured(usual_ones))]


def _partners(study: Study, models: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Return the models of other modalities that are best aligned with each, and their scores."""
    finished = usual(models)
    rows: list[dict[str, Any]] = []
    for modality, group in models.groupby("modality", sort=False):
        foreign = finished[finished["modality"] != modality]
        if foreign.empty:
            continue
        try:
            pairs = align_models(study, list(group["model"]), list(foreign["model"]), comparison)
        except MetricError:  # no model of a side can be compared; each says so itself
            continue
        best = pairs.dropna(subset=["score"]).sort_values(
            "score", ascending=comparison.toward < 0, kind="stable"
        )
        for name, own in best.groupby("model_x", sort=False):
            own = own.head(PARTNERS)
            rows.append(
                {
                    "model": name,
                    "partners": own["model_y"].tolist(),
                    "partner_scores": own["score"].tolist(),
                }
            )
    return pd.DataFrame(rows, columns=["model", "partners", "partner_scores"])
