"""Small tables as the pages hand them to the figures."""

from __future__ import annotations

import pandas as pd

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


def trend_points() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "panel": facet,
                "model_x": x,
                "title_x": title,
                "group_x": family,
                "parameters_x": count,
                "modality_x": "language",
                "recipe_x": x,
                "recipe_y": y,
                "line_x": family,
                "counted": True,
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
