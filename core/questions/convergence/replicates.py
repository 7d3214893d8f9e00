"""How alike two trainings of one recipe are: the most that any other training can be expected to
reach.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

COLUMNS = ("recipe", "title", "modality", "size", "seeds", "pairs", "mean", "lowest", "highest")


def summarize_replicates(trainings: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per recipe that was trained with several seeds, with COLUMNS.

    mean, lowest, highest: alignment of two of its seeds. title: of its first seed. trainings: rows
    of `describe_trainings`. pairs: of `ModelPairs`.
    """
    about = trainings.set_index("model")
    of = pairs.assign(
        recipe=pairs["model_x"].map(about["recipe"]), other=pairs["model_y"].map(about["recipe"])
    )
    alike = of[(of["recipe"] == of["other"]) & of["score"].notna()]
    spread = alike.groupby("recipe")["score"].agg(["size", "mean", "min", "max"])
    first = trainings.sort_values("model").groupby("recipe")[["title", "modality", "size"]].first()
    seeds = trainings.groupby("recipe").size().rename("seeds")
    table = first.join(seeds).join(spread.set_axis(["pairs", *COLUMNS[-3:]], axis=1), how="inner")
    return table.reset_index()[list(COLUMNS)]


def ceiling_of(table: pd.DataFrame, modality: str) -> float:
    """Return the mean alignment of two seeds over the recipes of a modality; NaN where none was
    trained twice.
    """
    means = table.loc[table["modality"] == modality, "mean"]
    return float(means.mean()) if len(means) else np.nan
