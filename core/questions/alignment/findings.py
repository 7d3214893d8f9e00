"""What the trend says, in sentences."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from core.encoders.encoder import REALITY
from core.figures.numbers import counted, p_text
from core.modalities import find_modality, known_first
from core.questions.alignment.axes import AXES, Axis, short_name
from core.questions.alignment.points import NOISE, recipe_lines, recipe_means
from core.questions.alignment.question import COMPETENCE, Alignment
from core.questions.sentences import listed
from core.statistics.correlations import Correlation, spearman_interval
from core.statistics.intervals import LEVEL
from core.study.models import is_measured, is_reality, open_because, trained
from core.study.noise import bound_of

KIN = "Sizes and seeds of one family count once; Convergence tests within families and objectives."
BEYOND = (
    "A score may lie beyond it: it is how two halves of the repeats align, and each is noisier than"
    " all of them."
)
CONCATENATED = "A layer one beyond a model’s last is all its layers side by side."


def trend_findings(
    points: pd.DataFrame,
    models: pd.DataFrame,
    *,
    aligned_high: bool,
    axis: Axis = AXES[COMPETENCE],
) -> list[str]:
    """Say whether trained models are the more aligned the more competent they are, or the further
    along another axis, with ρ, its interval and its strongest caveat.

    points: as `core.questions.alignment.points.trend_points` gives them. A recipe on the axis
    counts once, with its mean over the trained recipes that it is compared with. aligned_high: of
    the metric.
    """
    finished, others = trained(models)["model"], compared_with(points, models)
    rows = points[points["model_x"].isin(finished) & points["model_y"].isin(others["model"])]
    scored = rows[rows["facet"] != REALITY].dropna(subset="score")
    means = recipe_means(scored.assign(facet="", x=scored["axis"]), models)
    mean = means.dropna(subset="x")
    sign = 1 if aligned_high else -1
    kin = recipe_lines(models)
    rho = spearman_interval(
        mean["x"].to_numpy(),
        sign * mean["score"].to_numpy(),
        [kin[one] for one in mean["recipe_x"]],
    )
    placed = others[others["model"].isin(scored.dropna(subset="axis")["model_y"])]
    targets = name_kinds(others) or axis.targets
    compared = _count_kinds(placed) or f"0 {targets}"
    unknown = open_because(models, scored.dropna(subset="axis")["model_x"])
    verdict = _verdict(rho, compared, axis, len(means) - len(mean), targets, unknown)
    return [verdict, *([] if rho.reason else [KIN])]


def compared_with(points: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the models that a mean alignment is taken over: trained ones, or where none are
    compared brains and people; never reality.
    """
    there = models[models["model"].isin(points["model_y"]) & ~is_reality(models)]
    finished = trained(there)
    return finished if len(finished) else there[is_measured(there)]


def name_kinds(models: pd.DataFrame) -> str:
    """Return what models are called, by their modalities: “vision models and brains”; "" of
    none.
    """
    kinds = known_first(models["modality"])
    return listed(find_modality(kind).plural for kind in kinds) if kinds else ""


def _count_kinds(models: pd.DataFrame) -> str:
    counts = models["modality"].value_counts()
    kinds = [(counts[kind], find_modality(kind)) for kind in known_first(models["modality"])]
    parts = [counted(count, kind.title, kind.plural) for count, kind in kinds]
    return listed(parts) if parts else ""


def noise_findings(points: pd.DataFrame, *, bound: str) -> list[str]:
    """Say how far noise of measurement lets the models come, where any was measured several times.

    points: title_y, noise_ceiling. bound: see `core.study.noise.bound_of`.
    """
    if NOISE not in points or points[NOISE].isna().all():
        return []
    highest = points.groupby("title_y", sort=False)[NOISE].max().dropna()
    ceilings = listed(f"{value:.2f} for {title}" for title, value in highest.items())
    beyond = (points["score"] - points[NOISE]) * (1 if bound == "at least " else -1) > 0
    why = f" {BEYOND}" if bound and beyond.any() else ""
    return [f"The noise ceiling is {bound}{ceilings}.{why}"]


def pair_findings(
    points: pd.DataFrame, *, aligned_high: bool, axis: Axis = AXES[COMPETENCE]
) -> list[str]:
    """Say which model is most aligned with the models on the axis, and how many pairs are aligned
    beyond chance, where permutations tell.

    points: as for `trend_findings`; reality counts for neither. aligned_high: of the metric.
    """
    scored = points[points["facet"] != REALITY].dropna(subset="score")
    if scored.empty:
        return []
    means = scored.groupby("title_y")["score"].mean()
    best = str(means.idxmax() if aligned_high else means.idxmin())
    said = [f"Most aligned with the {axis.models} on average: {best} ({means[best]:.3f})."]
    if "p_adjusted" not in scored or scored["p_adjusted"].isna().all():
        return [*said, "Permutations, under “More”, test which pairs are aligned beyond chance."]
    tested = scored["p_adjusted"].dropna()
    sure = int((tested < 1 - LEVEL).sum())
    return [
        *said,
        f"{sure} of {len(tested)} pairs are aligned beyond chance (p < {1 - LEVEL:.2f}, adjusted"
        " for all of them).",
    ]


def fit_findings(question: Alignment, table: pd.DataFrame) -> list[str]:
    """Say how alignment goes along the axis in each panel, as the fits of the page do, and which
    layer stands for all of a model.
    """
    notes = [CONCATENATED] if question.comparison.concatenated else []
    if NOISE in table and (bound := bound_of(question.comparison)):
        notes.append(f"Each noise_ceiling is “{bound.strip()}”. {BEYOND}")
    said = [*_values(question, table), *notes]
    if "panel" not in table:
        return said
    panels = table.drop_duplicates("panel").to_dict("records")
    return [*(_fit(row, short_name(question.axis)) for row in panels), *said]


def _values(question: Alignment, table: pd.DataFrame) -> list[str]:
    """Say how aligned the models are on average, and which two most; reality counts as none."""
    scored = table[table["model_y"] != REALITY].dropna(subset="score")
    if scored.empty:
        return []
    best = scored.loc[(question.comparison.toward * scored["score"]).idxmax()]
    level = scored["chance"].mean()
    chance = f" (chance {level:.3f})" if math.isfinite(level) else ""
    return [
        f"The alignment of {counted(len(scored), 'pair', 'pairs')} is {scored['score'].mean():.3f}"
        f" on average{chance}, and highest for {best['model_x']} and {best['model_y']}:"
        f" {best['score']:.3f}."
    ]


def _fit(row: Mapping[Hashable, Any], axis: str) -> str:
    if math.isnan(row["rho"]):
        recipes = counted(row["fitted"], "recipe", "recipes")
        return f"{row['panel']}: no fit along {axis} over {recipes}."
    return (
        f"{row['panel']}: Spearman’s ρ of {axis} and alignment is {row['rho']:.2f}"
        f" ({p_text(row['rho_p'])}), R² of the line is {row['r2']:.2f}, over {row['fitted']}"
        " recipes."
    )


def _verdict(
    rho: Correlation, compared: str, axis: Axis, left_out: int, targets: str, unknown: str
) -> str:
    if rho.reason:
        return f"Whether {_claim(axis, targets)} cannot be tested: {rho.reason}."
    without = f"; {left_out} without {axis.short}" if left_out else ""
    numbers = (
        f"Spearman’s ρ of {axis.short} and mean alignment with {compared} is {rho.value:.2f} (95 %"
        f" interval {rho.low:.2f} to {rho.high:.2f}, {rho.n} {axis.models}{without})."
    )
    if not rho.sure:
        return f"It is not shown here that {_claim(axis, targets)}. {numbers}"
    if unknown:
        return f"Whether {_claim(axis, targets)} is open: {unknown}. {numbers}"
    claim = _claim(axis, targets, rises=rho.value > 0)
    return f"{claim[:1].upper()}{claim[1:]} here. {numbers}"


def _claim(axis: Axis, targets: str, *, rises: bool = True) -> str:
    if axis.is_competence:
        more = "more" if rises else "less"
        return f"better {axis.models} agree {more} with {targets}"
    return f"alignment {'rises' if rises else 'falls'} with {axis.short}"
