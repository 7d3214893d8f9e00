"""Small tables as the pages hand them to the figures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.statistics.correlations import Fit

LANGUAGE = [
    ("gpt-s", "GPT <s>", "GPT-2", 1e5, 0.40),
    ("gpt-m", "GPT m", "GPT-2", 1e6, 0.50),
    ("bloom-s", "BLOOM s", "BLOOM", 2e5, 0.45),
]
VISION = [
    ("mae-s", "MAE s", "MAE", 1e5),
    ("mae-m", "MAE m", "MAE", 1e6),
    ("clip-s", "CLIP s", "CLIP", 1e5),
]


MEANS = pd.DataFrame({"x": [0.40, 0.45, 0.50], "y": [0.10, 0.1125, 0.125]})


def trend_points() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "facet": facet,
                "model_x": x,
                "title_x": title,
                "group_x": family,
                "parameters_x": count,
                "modality_x": "language",
                "axis": skill,
                "model_y": y,
                "title_y": title_y,
                "parameters_y": count_y,
                "layer_x": 1,
                "layer_y": 2,
                "score": skill / 4,
                "chance": 0.05,
                "k": 5,
                "n": 101,
            }
            for x, title, family, count, skill in LANGUAGE
            for y, title_y, facet, count_y in VISION
        ]
    )


def trend_fits() -> dict[str, Fit]:
    grid = np.linspace(0.4, 0.5, 5)
    band = pd.DataFrame(
        {"x": grid, "fit": grid / 4, "low": grid / 4 - 0.01, "high": grid / 4 + 0.01}
    )
    none = np.nan
    return {
        "MAE": Fit(3, 0.95, 0.25, 0.0, 0.8, -0.5, 0.2, MEANS, band),
        "CLIP": Fit(
            2, 0.95, none, none, none, none, none, MEANS[:2], band[:0], "2 are too few for a line"
        ),
    }
