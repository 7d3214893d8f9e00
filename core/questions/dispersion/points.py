"""The points of the Dispersion page: alignment on sets of stimuli, with its models described."""

from __future__ import annotations

import pandas as pd

from core.study.spaces import describe_spaces


def effect_points(effect: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `core.questions.dispersion.trials.effect` for
    `core.questions.dispersion.figures`, models described; a mean's language is NaN.
    """
    spaces = describe_spaces(list(dict.fromkeys(effect["vision"])), models).set_index("space")
    language = models.set_index("model")[["title", "group", "parameters"]]
    points = effect.join(spaces[["title", "group"]].add_suffix("_y"), on="vision")
    return points.join(language.add_suffix("_x"), on="language")
