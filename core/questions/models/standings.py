"""How aligned each model is with reality, with vision models and with language models."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.modalities import MODALITIES
from core.study.models import trained


def targets(models: pd.DataFrame) -> dict[str, list[str]]:
    """Return what models are compared with, by its name: reality where it is known, and the trained
    models of each modality that has any. models: of `describe`.
    """
    usual = trained(models)
    groups = {REALITY: list(usual.loc[usual["model"] == REALITY, "model"])}
    for name, modality in MODALITIES.items():
        if not modality.is_reality:
            groups[modality.plural] = list(usual.loc[usual["modality"] == name, "model"])
    return {name: members for name, members in groups.items() if members}


def standings(pairs: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model and target that it has a score with: model, target, score (the mean
    over the target's models), models (how many those are).

    No model is compared with itself or with another of its training. pairs: model_x, model_y,
    score, each pair once. models: of `describe`.
    """
    turned = pairs.rename(columns={"model_x": "other", "model_y": "model"})
    both = pd.concat([pairs.rename(columns={"model_x": "model", "model_y": "other"}), turned])
    return mean_over_targets(both, models, by=["model"])


def mean_over_targets(scores: pd.DataFrame, models: pd.DataFrame, *, by: list[str]) -> pd.DataFrame:
    """Return a row per target and value of `by`, the model among it: the mean score with the
    target's models, and how many these are.

    scores: model, other, score, and what else is in `by`.
    """
    runs = models.set_index("model")["run"]
    apart = scores[scores["model"].map(runs) != scores["other"].map(runs)].dropna(subset="score")
    parts = [
        apart[apart["other"].isin(members)]
        .groupby(by, sort=False)["score"]
        .agg(score="mean", models="count")
        .reset_index()
        .assign(target=name)
        for name, members in targets(models).items()
    ]
    columns = [*by, "target", "score", "models"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def nearest_to(pairs: pd.DataFrame, name: str, *, high: bool, count: int) -> pd.DataFrame:
    """Return the models most aligned with one: other, score. high: whether high is aligned."""
    mine = pairs[(pairs["model_x"] == name) | (pairs["model_y"] == name)].dropna(subset="score")
    other = mine["model_x"].where(mine["model_x"] != name, mine["model_y"])
    ordered = mine.assign(other=other).sort_values("score", ascending=not high, kind="stable")
    return ordered[["other", "score"]].head(count)
