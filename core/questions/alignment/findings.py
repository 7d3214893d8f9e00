"""What the trend says, in sentences."""

from __future__ import annotations

import pandas as pd

from core.encoders.encoder import REALITY
from core.questions.alignment.axes import AXES, Axis
from core.statistics.correlations import Correlation, spearman_interval
from core.statistics.intervals import LEVEL
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
    scored = rows[rows["facet"] != REALITY].dropna(subset="score")
    rows = scored.dropna(subset=axis.column)
    mean = rows.groupby("model_x").agg(x=(axis.column, "first"), score=("score", "mean"))
    sign = 1 if aligned_high else -1
    rho = spearman_interval(mean["x"].to_numpy(), sign * mean["score"].to_numpy())
    compared = f"{rows['model_y'].nunique()} {target}"
    left_out = scored["model_x"].nunique() - len(mean)
    verdict = _verdict(rho, compared, axis, left_out)
    return [verdict, *([] if rho.reason else [DEPENDENT])]


def pair_findings(points: pd.DataFrame, *, aligned_high: bool) -> list[str]:
    """Say which model is most aligned with the language models, and how many pairs are aligned
    beyond chance, where permutations tell.

    points: as for `trend_findings`; reality counts for neither. aligned_high: of the metric.
    """
    scored = points[points["facet"] != REALITY].dropna(subset="score")
    if scored.empty:
        return []
    means = scored.groupby("title_y")["score"].mean()
    best = str(means.idxmax() if aligned_high else means.idxmin())
    said = [f"Most aligned with the language models on average: {best} ({means[best]:.3f})."]
    if "p_adjusted" not in scored or scored["p_adjusted"].isna().all():
        return [*said, "Permutations, under “More”, test which pairs are aligned beyond chance."]
    tested = scored["p_adjusted"].dropna()
    sure = int((tested < 1 - LEVEL).sum())
    return [
        *said,
        f"{sure} of {len(tested)} pairs are aligned beyond chance (p < {1 - LEVEL:.2f}, adjusted"
        " for all of them).",
    ]


def _verdict(rho: Correlation, compared: str, axis: Axis, left_out: int) -> str:
    if rho.reason:
        return f"This cannot be said: {rho.reason}."
    without = f"; {left_out} without {axis.short}" if left_out else ""
    numbers = (
        f"Spearman’s ρ of {axis.short} and mean alignment with {compared} is {rho.value:.2f} (95 %"
        f" interval {rho.low:.2f} to {rho.high:.2f}, {rho.n} language models{without})."
    )
    if not rho.sure:
        return f"Not beyond doubt. {numbers}"
    if axis == AXES["competence"]:
        verdict = "Yes, here they do" if rho.value > 0 else "No, they agree less"
    else:
        verdict = f"Alignment {'rises' if rho.value > 0 else 'falls'} with {axis.short}"
    return f"{verdict}. {numbers}"
