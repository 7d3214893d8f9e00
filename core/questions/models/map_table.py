"""The map of models as a table: where each is drawn, who is nearest to it, and how far the map can
be believed.
"""

from __future__ import annotations

import pandas as pd

from core.questions.models.distances import Distances, nearest
from core.statistics.layouts import Layout

DESCRIBED = ("title", "modality", "group", "run")  # what findings of the map count
NEAREST = ("nearest_1", "nearest_2", "nearest_3")


def map_table(apart: Distances, drawn: Layout) -> pd.DataFrame:
    """Return a row per model, by name: those of the map, then those that are left out.

    model, x, y; nearest_1 … nearest_3: the nearest models by distance, not as drawn, "" where there
    are fewer; floored: how many of its scores are not above 0; reason: why it has no place (x and y
    are then NaN), else empty. Of the whole map, in every row: stress, trustworthiness, neighbors
    (that the latter asks for), and floor: the score that took the place of those not above 0, NaN
    where there was none.
    """
    placed = pd.DataFrame(
        {
            "model": apart.names,
            "x": drawn.points[:, 0],
            "y": drawn.points[:, 1],
            **_nearest(apart),
            "floored": apart.floored.sum(axis=1),
            "reason": "",
        }
    )
    left_out = [
        {"model": name, **dict.fromkeys(NEAREST, ""), "floored": 0, "reason": why}
        for name, why in apart.left_out.items()
    ]
    table = pd.concat([placed, pd.DataFrame(left_out)]) if left_out else placed
    whole = {
        "stress": drawn.stress,
        "trustworthiness": drawn.trustworthiness,
        "neighbors": drawn.neighbors,
        "floor": apart.floor,
    }
    return table.reset_index(drop=True).assign(**whole)


def _nearest(apart: Distances) -> dict[str, list[str]]:
    wide = nearest(apart, count=len(NEAREST)).pivot(
        index="model", columns="rank", values="neighbor"
    )
    return {
        column: wide.get(rank, pd.Series("", wide.index)).fillna("").reindex(apart.names).tolist()
        for rank, column in enumerate(NEAREST, start=1)
    }
