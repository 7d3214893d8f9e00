"""What may be on the horizontal axis of the trend, and the pairs of models on it, described and
fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from core.competence.records import BITS, SKILL
from core.errors import UnknownNameError
from core.figures.theme import COMPETENCE as CODED
from core.modalities import LANGUAGE, VISION, find_modality
from core.questions.asking import ask
from core.questions.competence.question import CompetenceScores, TasksSolved
from core.statistics.correlations import LEAST_MODELS, Fit, competence_fit
from core.statistics.intervals import mean_interval
from core.study.models import SOLVED, basis_of, is_measured, is_reality, reads, trained
from core.study.models import lines as lines_of
from core.study.scores import TaskScore, choices, known_scores, score_of
from core.study.study import Study

if TYPE_CHECKING:
    from core.questions.alignment.question import Alignment


Side = Literal["language", "vision"]
COMPETENCE = "competence"
FIRST_KNOWN = "usual"
SEVERAL = "several measures"

PLURALS: Mapping[Side, str] = {"language": LANGUAGE.plural, "vision": VISION.plural}


@dataclass(frozen=True)
class Axis:
    """What is on the horizontal axis. short: in sentences. log: only what is above 0 has a place.
    side: whose competence. plural: what the models on it are called, if not by the side.
    """

    title: str
    short: str
    log: bool = False
    side: Side = "language"
    plural: str = ""

    def place(self, values: pd.Series) -> pd.Series:
        if not self.log:
            return values
        return pd.Series(np.log10(values.where(values > 0)), index=values.index)

    def unplace(self, places: pd.Series) -> pd.Series:
        return 10.0**places if self.log else places

    @property
    def is_competence(self) -> bool:
        return self.short == COMPETENCE

    @property
    def models(self) -> str:
        return self.plural or PLURALS[self.side]

    @property
    def targets(self) -> str:
        return PLURALS["vision" if self.side == "language" else "language"]


AXES: Mapping[str, Axis] = {
    COMPETENCE: Axis(CODED, COMPETENCE),
    "parameters": Axis("parameters", "parameters", log=True),
    "step": Axis("training step", "step", log=True),
}


def find_axis(name: str, side: Side = "language", unit: str = "") -> Axis:
    """Return an axis by its name. unit: of a score (of bits per byte 1 − the score is shown, as
    published, so that better models are on the right); of competence, what it is.
    """
    if name == COMPETENCE and (side == "vision" or unit not in ("", SKILL)):
        return Axis(f"competence: {unit or SOLVED}", COMPETENCE, side=side)
    if unit == BITS:
        return Axis(f"1 − {name}", f"1 − {name}", side=side)
    return replace(AXES.get(name, Axis(f"{name} ({unit})", name)), side=side)


def short_name(axis: str) -> str:
    """Return what an axis is called in a sentence, by its name alone."""
    return find_axis(axis, unit=BITS if axis.startswith(BITS) else "").short


def offered_axes(
    registry: pd.DataFrame, models: pd.DataFrame, side: Side = "language", basis: str = ""
) -> dict[str, Axis]:
    """Return what may be on the axis, by name: what every model has, and all known scores of the
    side's models. basis: what the competence of the side is.
    """
    names = set(models.loc[models["modality"] == side, "model"])
    units = {score.name: score.unit for score in known_scores(registry, names)}
    units[COMPETENCE] = basis
    return {name: find_axis(name, side, units.get(name, "")) for name in (*AXES, *units)}


def side_of(models: pd.DataFrame, names: tuple[str, ...]) -> Side:
    """Return whose competence is on the axis: that of vision models if all of these are."""
    chosen = models[models["model"].isin(names)]
    return "vision" if len(chosen) and reads(chosen, "image").all() else "language"


def check_axis(question: Alignment, study: Study) -> None:
    """Raise UnknownNameError for an axis that is neither known nor a score of a model."""
    if question.axis in AXES or not question.axis:
        return
    names = [score.name for score in _scores(question, study)]
    if question.axis not in names:
        raise UnknownNameError("axis", question.axis, [*AXES, *names])


def usual_axis(question: Alignment, study: Study) -> str:
    """Return the first that five models have of competence, the score of most models, and size."""
    skill = axis_values(replace(question, axis=COMPETENCE), study).reindex(question.x)
    if skill.notna().sum() >= LEAST_MODELS:
        return COMPETENCE
    registry = ask(CompetenceScores(question.scope), study)
    most = choices(registry[registry["model"].isin(question.x)]).head(1)
    sizes = study.models().set_index("model")["parameters"].reindex(question.x)
    named = {
        TaskScore(row.task, row.origin, row.unit).name: row.models for row in most.itertuples()
    }
    counts = {**named, "parameters": sizes.notna().sum()}
    return next((name for name, count in counts.items() if count >= LEAST_MODELS), COMPETENCE)


def axis_of(question: Alignment, study: Study) -> Axis:
    """Return what is on a question's axis, with the unit of a score, or what competence is."""
    models, name = study.models(), question.axis
    side = side_of(models, question.x)
    kinds = models.loc[models["model"].isin(question.x), "modality"].unique()
    plural = find_modality(kinds[0]).plural if len(kinds) == 1 else "models"
    if name == COMPETENCE and side == "vision":
        unit = basis_of(ask(TasksSolved(question.scope), study))
    elif name == COMPETENCE:
        known = study.competence()
        units = known.loc[known["model"].isin(question.x), "unit"].unique()
        unit = SEVERAL if len(units) > 1 else next(iter(units), SKILL)
    else:
        unit = next((score.unit for score in _scores(question, study) if score.name == name), "")
    return replace(find_axis(name, side, unit), plural=plural)


def axis_values(question: Alignment, study: Study) -> pd.Series:
    """Return the position of each model on the axis, by name."""
    models = study.models()
    described = models.set_index("model")
    if question.axis in ("parameters", "step"):
        return described[question.axis]
    if question.axis != COMPETENCE:
        (score,) = (one for one in _scores(question, study) if one.name == question.axis)
        registry = ask(CompetenceScores(question.scope), study)
        values = score_of(registry, score.task, origin=score.origin)
        return 1.0 - values if score.unit == BITS else values  # better models on the right
    if side_of(models, question.x) == "vision":
        return ask(TasksSolved(question.scope), study).set_index("model")["solved"]
    return study.competence().set_index("model")["value"]


def _scores(question: Alignment, study: Study) -> list[TaskScore]:
    registry = ask(CompetenceScores(question.scope), study)
    return known_scores(registry, question.x)


NOISE = "noise_ceiling"
DESCRIBED = ("title", "group", "parameters", "modality", "recipe")
ABOUT = (*(f"{name}_x" for name in DESCRIBED), "title_y", "parameters_y", "modality_y", "recipe_y")


def compared_models(models: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Return the models that alignment is averaged over: the trained ones among these, never
    reality; brains and people if no model is there.
    """
    there = models[models["model"].isin(names) & ~is_reality(models)]
    return trained(there) if len(trained(there)) else there[is_measured(there)]


def trend_points(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Add to a row per pair what is known of both models: DESCRIBED; panel: the group of model_y;
    line_x: models of one line count once in tests; counted: whether the fit takes it, that is no
    untrained model, checkpoint or copy; compared: whether means over model_y take it.
    """
    plurals = models["modality"].map(lambda name: find_modality(name).plural)
    groups = models["group"].mask(is_measured(models), plurals)  # brains are one group
    about = models.assign(group=groups).set_index("model")[list(DESCRIBED)]
    points = alignment.join(about.add_suffix("_x"), on="model_x").join(
        about.add_suffix("_y"), on="model_y"
    )
    copies = models.loc[models["copy"], "model"]
    others = compared_models(models, points["model_y"])
    return points.rename(columns={"group_y": "panel"}).assign(
        line_x=points["model_x"].map(lines_of(models)),
        counted=points["model_x"].isin(trained(models)["model"]) & ~points["model_y"].isin(copies),
        compared=points["model_y"].isin(others["model"]),
    )


def calibrated_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points at their calibrated scores, whose chance is 0; what belongs to the raw ones
    gets `raw` in its name. They have no ceilings: those are raw.
    """
    renamed = points.rename(
        columns={"score": "raw", "chance": "raw_chance", "low": "raw_low", "high": "raw_high"}
    )
    return renamed.assign(score=renamed["calibrated"], chance=0.0).drop(
        columns=["ceiling", NOISE], errors="ignore"
    )


def mean_points(points: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model on the axis: its mean alignment over the recipes compared with, in
    each of which all seeds count once, with the 95% interval over these, if they are five or more,
    as if they were independent; count: models compared with.
    """
    scored = points.dropna(subset="score")
    rows = []
    for _, pairs in scored.groupby("model_x", sort=False):
        means = pairs.groupby("recipe_y")["score"].mean().to_numpy(float)
        low, high = mean_interval(means)
        own = {"score": means.mean(), "low": low, "high": high, "count": len(pairs)}
        noise = {NOISE: pairs[NOISE].mean()} if NOISE in pairs else {}
        rows.append({**pairs.iloc[0], **own, **noise})
    return pd.DataFrame(rows, columns=[*dict.fromkeys([*points, "low", "high", "count"])])


def fit_line(points: pd.DataFrame, axis: Axis) -> Fit:
    """Fit alignment against what is on the axis, one point per trained recipe on the axis: its mean
    over the recipes compared with. On a logarithmic axis the logarithm is fitted.

    Pairs that share a model are not independent, so that more models compared with must not make
    the band narrower; neither must sizes of one family, seeds of one recipe or copies along a
    training. points: of `trend_points`.
    """
    counted = points[points["counted"]]
    mean = recipe_means(counted.assign(x=axis.place(counted["axis"])))
    return competence_fit(mean["x"].to_numpy(), mean["score"].to_numpy(), mean["line_x"].tolist())


def fits(points: pd.DataFrame, axis: Axis) -> dict[str, Fit]:
    """Return the `fit_line` of each panel."""
    return {str(panel): fit_line(rows, axis) for panel, rows in points.groupby("panel", sort=False)}


def recipe_means(points: pd.DataFrame) -> pd.DataFrame:
    """Return recipe_x, line_x, x and score: of each recipe on the axis the mean over the recipes
    compared with, in each of which all seeds count once.
    """
    line = points.drop_duplicates("recipe_x", keep="last").set_index("recipe_x")["line_x"]
    of_pairs = points.groupby(["recipe_x", "recipe_y"])[["x", "score"]].mean()
    means = of_pairs.groupby("recipe_x").mean().reset_index()
    means = means.astype({"x": "float64", "score": "float64"})
    return means.assign(line_x=means["recipe_x"].map(line))
