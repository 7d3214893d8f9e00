"""Which models are compared with each other, and how aligned each pair is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from core.encoders.encoder import REALITY
from core.errors import InputError
from core.metrics.spec import MetricSpec
from core.options import models_option, option, part
from core.questions.asking import ask
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.study.comparing import check_pairing, pair_models
from core.study.layers import score_matrix
from core.study.models import is_measured, is_reality, lines, trained, usual, without_variants
from core.study.parts import Comparison, Scope
from core.study.study import Study


@dataclass(frozen=True)
class Distances:
    """Distances between models, by sorted name.

    matrix: symmetric, 0 on the diagonal. floor: the score that replaced every score not above 0,
    NaN if there was none; floored: where it did. left_out: models with the reason.
    """

    names: list[str]
    matrix: Float64[np.ndarray, "m m"]
    floor: float
    floored: Bool[np.ndarray, "m m"]
    left_out: dict[str, str]


def distances(pairs: pd.DataFrame, *, spec: MetricSpec) -> Distances:
    """Return −log(score) of every two models; a metric that is low if models are aligned is a
    distance itself.

    A pair without a score above 0 is put as far apart as the least aligned pair above 0, the floor.
    A score above 1 counts as 1. Models are left out, the one that lacks most scores first, until
    all that stay have all. pairs: of `core.study.comparing.pair_models`. Range [0, ∞). Raises
    InputError if no score is above 0. Source: Huh et al. 2024, figure 2 (without a floor).
    """
    names = sorted({*pairs["model_x"], *pairs["model_y"]})
    scores = score_matrix(pairs, names)
    missing = np.isnan(scores) & ~np.eye(len(names), dtype=bool)
    kept, left_out = list(range(len(names))), {}
    while missing[np.ix_(kept, kept)].any():
        lacking = missing[np.ix_(kept, kept)].sum(axis=1)
        worst = names[kept.pop(int(np.argmax(lacking)))]
        unscored = pairs[["model_x", "model_y"]].eq(worst).any(axis=1) & pairs["score"].isna()
        why = pairs.loc[unscored, "reason"].iloc[0]
        left_out[worst] = f"no score with {lacking.max()} of {len(kept)} other models: {why}"
    scores, names = scores[np.ix_(kept, kept)], [names[place] for place in kept]
    apart = ~np.eye(len(names), dtype=bool)
    if not spec.higher_is_more_aligned:
        return Distances(
            names, np.where(apart, scores, 0.0), np.nan, np.zeros_like(apart), left_out
        )
    floored = apart & (scores <= 0)
    if floored.any() and not (apart & ~floored).any():
        raise InputError(
            "no two of these models are aligned above 0, so −log(alignment) gives no distances;"
            " choose another metric"
        )
    floor = float(scores[apart & ~floored].min()) if floored.any() else np.nan
    matrix = -np.log(np.where(floored, floor, np.where(apart, scores, 1.0)))
    return Distances(names, np.maximum(matrix, 0.0), floor, floored, left_out)


@dataclass(frozen=True)
class Clustering:
    """A tree of models.

    order: the models by leaf. branches: branch, x, y, four points of a bracket for each merger;
    leaf i is at x = i, y is the mean distance between the two groups. cophenetic: the correlation
    between the models' distances and the heights at which they merge; NaN for two models and for
    equal distances.
    """

    order: list[str]
    branches: pd.DataFrame
    cophenetic: float


def cluster(apart: Distances) -> Clustering:
    """Cluster models by average linkage with leaves in optimal order. Source: Sokal, Michener 1958;
    Bar-Joseph, Gifford, Jaakkola 2001 (order).
    """
    from scipy.cluster import hierarchy  # a third of a second
    from scipy.spatial import distance

    if len(apart.names) < 2:
        raise InputError(f"a tree joins at least 2 models, and there are {len(apart.names)}")
    condensed = distance.squareform(apart.matrix, checks=False)
    merged = hierarchy.linkage(condensed, method="average", optimal_ordering=True)
    drawn = hierarchy.dendrogram(merged, no_plot=True, labels=apart.names)
    x, y = np.array(drawn["icoord"]), np.array(drawn["dcoord"])  # scipy's leaves are at 5, 15, …
    branches = pd.DataFrame(
        {"branch": np.repeat(np.arange(len(x)), 4), "x": (x.ravel() - 5) / 10, "y": y.ravel()}
    )
    heights = hierarchy.cophenet(merged)
    varied = np.ptp(condensed) > 0 and np.ptp(heights) > 0
    return Clustering(
        drawn["ivl"], branches, float(np.corrcoef(condensed, heights)[0, 1]) if varied else np.nan
    )


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


def closest(pairs: pd.DataFrame, models: pd.DataFrame, *, high: bool) -> pd.DataFrame:
    """Return by model the most aligned fully trained one of another setup: other, score; the
    closest pairs first.

    A setup is a family with its objective, whatever size, seed and step; without another setup,
    another training counts. Reality is no model. pairs: model_x, model_y, score, each pair
    once; models: of `describe`; high: whether high is aligned.
    """
    turned = pairs.rename(columns={"model_x": "other", "model_y": "model"})
    both = pd.concat([pairs.rename(columns={"model_x": "model", "model_y": "other"}), turned])
    whole = usual(models)
    whole = whole if len(whole) > 1 else models
    among = both["other"].isin(whole["model"]) & ~both[["model", "other"]].eq(REALITY).any(axis=1)
    both = both[among].dropna(subset="score")
    for kind in (lines(models), models.set_index("model")["run"].to_dict()):
        apart = both[both["model"].map(kind) != both["other"].map(kind)]
        if len(apart):
            break
    ordered = apart.sort_values(["score", "model", "other"], ascending=[not high, True, True])
    return ordered.drop_duplicates("model").set_index("model")[["other", "score"]]


def closest_two(scope: Scope, study: Study) -> tuple[str, str]:
    """Return the most aligned two of the usual models that are of different setups, as `closest`
    has it; raises InputError if no two have an alignment.
    """
    models = study.models()
    near = closest(ask(ModelPairs(scope), study), models, high=True)
    near = near[near.index.isin(usual(models)["model"])]
    if near.empty:
        raise InputError("no two of these models have an alignment; name two")
    return str(near.index[0]), str(near["other"].iloc[0])
