"""What the trend says, in sentences."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.statistics.correlations import Correlation, spearman_interval
from core.study.models import trained

DEPENDENT = "Sizes of one family are not independent, so the interval is too narrow."


def trend_findings(
    points: pd.DataFrame, models: pd.DataFrame, *, aligned_high: bool, target: str = "vision models"
) -> list[str]:
    """Say whether trained language models are the more aligned the more competent they are, with
    ρ, its interval and its strongest caveat.

    points: as `core.questions.alignment.points.trend_points` gives them. A language model counts
    once, with its mean over the trained models that it is compared with. aligned_high: of the
    metric. target: what they are compared with.
    """
    finished = trained(models)["model"]
    rows = points[points["model_x"].isin(finished) & points["model_y"].isin(finished)]
    rows = rows[rows["facet"] != REALITY].dropna(subset=["score", "competence"])
    mean = rows.groupby("model_x").agg(skill=("competence", "first"), score=("score", "mean"))
    sign = 1 if aligned_high else -1
    rho = spearman_interval(mean["skill"].to_numpy(), sign * mean["score"].to_numpy())
    compared = f"{rows['model_y'].nunique()} {target}"
    return [_verdict(rho, compared), *([] if rho.reason else [DEPENDENT])]


def _verdict(rho: Correlation, compared: str) -> str:
    if rho.reason:
        return f"This cannot be said: {rho.reason}."
    numbers = (
        f"Spearman’s ρ of competence and mean alignment with {compared} is {rho.value:.2f} (95 %"
        f" interval {rho.low:.2f} to {rho.high:.2f}, {rho.n} language models)."
    )
    if not rho.sure:
        return f"Not beyond doubt. {numbers}"
    return f"Yes, here they do. {numbers}" if rho.value > 0 else f"No, they agree less. {numbers}"
