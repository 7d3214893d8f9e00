"""How alignment changes while models train: with vision, with language, with reality, and between
trainings at equal steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from core.encoders.encoder import REALITY
from core.modalities import find_modality, known_first
from core.study.models import usual

COLUMNS = ("model", "run", "step", "modality", "target", "score", "models")
ABREAST = "trainings at the same step"


def along_training(pairs: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the alignment of every checkpoint, by training and step, with each target: its mean
    over the target's models.

    Targets: reality; the models of each modality that finished a training, other than the
    checkpoint's own; and the checkpoints of other trainings of the same modality after as many
    steps. Only trainings with two checkpoints or more are followed; pairs without a score are left
    out of the means, and a target without any is no row. pairs: model_x, model_y, score, each pair
    once. models: as `core.study.models.describe` gives them. Returns model, run, step, modality,
    target, score, models (that the mean is over), in order of modality, run, step and target.
    """
    steps = models.dropna(subset="step").drop_duplicates(["run", "step"])
    followed = steps[steps.groupby("run")["step"].transform("nunique") > 1].sort_values(
        ["modality", "run", "step"], kind="stable"
    )
    scores, none = _by_model(pairs), pd.Series(dtype=float)
    rows = [
        row
        for _, checkpoint in followed.iterrows()
        for row in _rows(checkpoint, scores.get(checkpoint["model"], none), models, followed)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _by_model(pairs: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the scores of each model, by the other one."""
    turned = pairs.rename(columns={"model_x": "model_y", "model_y": "model_x"})
    both = pd.concat([pairs, turned]).dropna(subset="score")
    return {str(name): rows.set_index("model_y")["score"] for name, rows in both.groupby("model_x")}


def _rows(
    checkpoint: pd.Series, scores: pd.Series, models: pd.DataFrame, followed: pd.DataFrame
) -> Iterator[tuple[Any, ...]]:
    others = models[models["run"] != checkpoint["run"]]
    finished = usual(others)
    abreast = followed[
        (followed["run"] != checkpoint["run"]) & (followed["step"] == checkpoint["step"])
    ]
    targets = {
        REALITY: others.loc[others["group"] == REALITY, "model"],
        **{
            f"trained {one.plural}": finished.loc[finished["modality"] == one.name, "model"]
            for one in map(find_modality, known_first(finished["modality"]))
            if not one.is_reality
        },
        ABREAST: abreast.loc[abreast["modality"] == checkpoint["modality"], "model"],
    }
    for target, names in targets.items():
        aligned = scores[scores.index.isin(names)]
        if len(aligned):
            about = (checkpoint[name] for name in COLUMNS[:4])
            yield *about, target, float(aligned.mean()), len(aligned)
