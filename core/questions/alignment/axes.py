"""What may be on the horizontal axis of the trend, and the positions of models on it."""

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
from core.statistics.correlations import LEAST_MODELS
from core.study.models import SOLVED, basis_of, reads
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
