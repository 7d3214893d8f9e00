"""What the trend says, in sentences."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.questions.alignment.axes import AXES, Axis
from core.statistics.correlations import Correlation, spearman_interval
from core.study.models import trained

DEPENDENT = "Sizes of one family are not independent, so the interval is too narrow."


def trend_findings(
    points: pd.DataFrame,
    models: pd.DataFrame,
    *,
    aligned_high: bool,
    target: str = "vision models",
    axis: Axis = AXES["competence"],
) -> list[str]:
    """Say whether trained language models are the more aligned the more competent they are, or the
    further along another axis, with ρ, its interval and its strongest caveat.

    points: as `core.questions.alignment.points.trend_points` gives them. A language model counts
    once, with its mean over the trained models that it is compared with. aligned_high: of the
    metric. target: what they are compared with. axis: what its column of the points is.
    """
    finished = trained(models)["model"]
    rows = points[points["model_x"].isin(finished) & points["model_y"].isin(finished)]
    rows = rows[rows["facet"] != REALITY].dropna(subset=["score", axis.column])
    mean = rows.groupby("model_x").agg(x=(axis.column, "first"), score=("score", "mean"))
    sign = 1 if aligned_high else -1
    rho = spearman_interval(mean["x"].to_numpy(), sign * mean["score"].to_numpy())
    compared = f"{rows['model_y'].nunique()} {target}"
    return [_verdict(rho, compared, axis), *([] if rho.reason else [DEPENDENT])]


def _verdict(rho: Correlation, compared: str, axis: Axis) -> str:
    if rho.reason:
        return f"This cannot be said: {rho.reason}."
    numbers = (
        f"Spearman’s ρ of {axis.short} and mean alignment with {compared} is {rho.value:.2f} (95 %"
        f" interval {rho.low:.2f} to {rho.high:.2f}, {rho.n} language models)."
    )
    if not rho.sure:
        return f"Not beyond doubt. {numbers}"
    if axis == AXES["competence"]:
        verdict = "Yes, here they do" if rho.value > 0 else "No, they agree less"
    else:
        verdict = f"Alignment {'rises' if rho.value > 0 else 'falls'} with {axis.short}"
    return f"{verdict}. {numbers}"
