"""How aligned each model is with groups of models, or with any one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from core.encoders.encoder import REALITY
from core.errors import InputError, UnknownNameError
from core.modalities import find_modality, known_first
from core.study.comparing import layer_scores
from core.study.models import is_measured, lines, usual
from core.study.parts import Measure
from core.study.study import Study

DESCRIPTION = ("model", "title", "modality", "family", "objective", "parameters", "step")
DESCRIBED = (*DESCRIPTION, "skill", "solved", "closest", "closest_score")  # no targets
Members = Mapping[str, Sequence[str]]  # the models of each target, by its name


def groups_of(models: pd.DataFrame) -> dict[str, list[str]]:
    """Return the groups that models are compared with, by name: reality if it is known, and the
    trained models of each modality, brains and people. models: of `describe`.
    """
    counted = pd.concat([usual(models), models[is_measured(models)]])
    groups = {REALITY: list(counted.loc[counted["model"] == REALITY, "model"])}
    for name in known_first(counted["modality"]):
        modality = find_modality(name)
        if not modality.is_reality:
            groups[modality.plural] = list(counted.loc[counted["modality"] == name, "model"])
    return {name: members for name, members in groups.items() if members}


def members_of(names: Sequence[str], models: pd.DataFrame) -> Members:
    """Return the models of these targets, of all groups if none is named."""
    groups = groups_of(models)
    every = groups | {name: [name] for name in models["model"] if name not in groups}
    if unknown := [name for name in names if name not in every]:
        raise UnknownNameError("target", unknown[0], every)
    if not names and not groups:
        raise InputError("none of these models finished a training; name the targets")
    return {name: every[name] for name in names or groups}


def standings(pairs: pd.DataFrame, models: pd.DataFrame, members: Members) -> pd.DataFrame:
    """Return `mean_over_targets` by model. pairs: model_x, model_y, score, each pair once."""
    turned = pairs.rename(columns={"model_x": "other", "model_y": "model"})
    both = pd.concat([pairs.rename(columns={"model_x": "model", "model_y": "other"}), turned])
    return mean_over_targets(both, models, members, by=["model"])


def mean_over_targets(
    scores: pd.DataFrame, models: pd.DataFrame, members: Members, *, by: list[str]
) -> pd.DataFrame:
    """Return a row per target and value of `by`, the model among it: target, score, the mean over
    the target's models, and models, how many those are.

    No model is compared with itself or with another of its training. scores: model, other, score,
    and what else is in `by`; those that are NaN do not count.
    """
    runs = models.set_index("model")["run"]
    apart = scores[scores["model"].map(runs) != scores["other"].map(runs)].dropna(subset="score")
    parts = [
        apart[apart["other"].isin(names)]
        .groupby(by, sort=False)["score"]
        .agg(score="mean", models="count")
        .reset_index()
        .assign(target=target)
        for target, names in members.items()
    ]
    columns = [*by, "target", "score", "models"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def profiles(
    study: Study, names: Sequence[str], others: Sequence[str], measure: Measure
) -> pd.DataFrame:
    """Return a row per layer of each model and other model: model, other, layer, score with the
    best-aligned layer of the other, NaN where no layer of it can be compared.
    """
    best = np.fmax if measure.toward > 0 else np.fmin  # both pass over NaN
    rows = [
        (x, y, layer, float(score))
        for (x, y), values in layer_scores(study, names, others, measure).items()
        for layer, score in enumerate(best.reduce(values, axis=1))
    ]
    return pd.DataFrame(rows, columns=["model", "other", "layer", "score"])


def nearest_to(pairs: pd.DataFrame, name: str, *, high: bool, count: int) -> pd.DataFrame:
    """Return the models most aligned with one: other, score. high: whether high is aligned."""
    mine = pairs[(pairs["model_x"] == name) | (pairs["model_y"] == name)].dropna(subset="score")
    other = mine["model_x"].where(mine["model_x"] != name, mine["model_y"])
    ordered = mine.assign(other=other).sort_values("score", ascending=not high, kind="stable")
    return ordered[["other", "score"]].head(count)


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
