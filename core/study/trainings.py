"""The finished trainings of a study, by the configs in the models' cards. A model without a config
is a recipe of its own in the line of its family and objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from core.encoders.encoder import ModelCard
from core.errors import UnknownNameError
from core.study.models import ALONE, READOUT, REFUSED, UNKNOWN, is_reality, trained
from core.study.study import Study

COLUMNS = (
    *("model", "title", "modality", "recipe", "line", "start", "varies", "size", "parameters"),
    *("tasks", "data", "taught"),
)


def describe_trainings(study: Study) -> pd.DataFrame:
    """Return a row per model that finished a training: COLUMNS.

    recipe: the same for all seeds. line: recipes of one architecture and objective that differ in
    `varies` or else in size. start: the model that it was fine-tuned from. taught: the tasks' names
    if these vary.
    """
    models = trained(study.models())
    models = models[~is_reality(models) & ~models["varies"].isin([READOUT, ALONE, REFUSED])]
    cards = {name: study.entry(name).card for name in models["model"]}
    columns = ["line", "start", "varies", "data", "taught"]
    made = pd.DataFrame([_made(card) for card in cards.values()], list(cards), columns)
    return (
        models.drop(columns="varies").join(made, on="model")[list(COLUMNS)].reset_index(drop=True)
    )


def choose_names(names: Sequence[str], valid: Sequence[str], kind: str) -> Sequence[str]:
    for name in names:
        if name not in set(valid):
            raise UnknownNameError(kind, name, valid)
    return names or list(valid)


def kinship(trainings: pd.DataFrame) -> Bool[np.ndarray, "m m"]:
    """Return as a symmetric matrix which trainings (rows of `describe_trainings`) are related: they
    have one ancestor or, if tasks vary, a task in common.
    """
    starts, roots = dict(zip(trainings["model"], trainings["start"], strict=True)), []
    for name in trainings["model"]:
        ancestors = [name]
        while (start := starts.get(ancestors[-1], "")) and start not in ancestors:
            ancestors.append(start)
        roots.append(ancestors[-1])
    numbers = pd.factorize(np.array(roots, dtype=object))[0]
    taught = [set(tasks) for tasks in trainings["taught"]]
    shared = [not one.isdisjoint(other) for one in taught for other in taught]
    alike: np.ndarray = numbers[:, None] == numbers[None, :]
    alike |= np.array(shared, dtype=bool).reshape(alike.shape)
    np.fill_diagonal(alike, False)
    return alike


def _made(card: ModelCard) -> dict[str, Any]:
    config = card.training.get("config") or {}
    if not config:
        known = [part for part in (card.family, card.objective) if part not in UNKNOWN]
        line = " ".join(known) if card.family not in UNKNOWN else card.name
        return {"line": line, "start": "", "varies": "", "taught": ()}
    varies = config.get("varies", "")
    line = f"{card.family} {config.get('objective', card.objective)}"
    tasks = (config.get("options") or {}).get("tasks", ()) if varies == "tasks" else ()
    return {
        "line": f"{line}, {varies}" if varies else line,
        "start": config.get("start") or "",
        "varies": varies,
        "data": config.get("data", np.nan),
        "taught": tuple(tasks),
    }
