"""What may be on the horizontal axis of the trend, and the positions of models on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pandas as pd

from core.competence.records import BITS, SKILL
from core.errors import UnknownNameError
from core.figures.rulers import Ruler
from core.figures.theme import COMPETENCE as CODED
from core.modalities import LANGUAGE, VISION
from core.questions.asking import ask
from core.questions.competence.question import CompetenceScores, TasksSolved
from core.statistics.correlations import LEAST_MODELS
from core.study.models import SOLVED, basis_of, language_basis, reads
from core.study.scores import TaskScore, choices, known_scores, score_of
from core.study.study import Study

if TYPE_CHECKING:
    from core.questions.alignment.question import Alignment

Side = Literal["language", "vision"]
COMPETENCE = "competence"
FIRST_KNOWN = "usual"

By = Literal["objective", "family", "size", "none"]
UNKNOWN_KIND = {name: f"no {name} known" for name in ("objective", "family", "size")}
USUAL: Mapping[Side, By] = {"language": "family", "vision": "objective"}  # groups of models
PLURALS: Mapping[Side, str] = {"language": LANGUAGE.plural, "vision": VISION.plural}


@dataclass(frozen=True)
class Axis(Ruler):
    """What is on the horizontal axis. side: whose models do."""

    side: Side = "language"

    @property
    def is_competence(self) -> bool:
        return self.short == COMPETENCE

    @property
    def models(self) -> str:
        """Return what its models are called."""
        return PLURALS[self.side]

    @property
    def targets(self) -> str:
        """Return what the models are called that they are compared with."""
        return PLURALS["vision" if self.side == "language" else "language"]


AXES: Mapping[str, Axis] = {
    COMPETENCE: Axis(CODED, COMPETENCE),
    "parameters": Axis("parameters", "parameters", log=True),
    "step": Axis("training step", "step", log=True),
}


def find_axis(name: str, side: Side = "language", unit: str = "") -> Axis:
    """Return an axis by its name. unit: of one that is a score; of bits per byte 1 − the score is
    shown, as published, so that better models are on the right. Of
    competence, what it is.
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
    """Return what may be on the axis, by name: what every model has, and the scores that models
    of the side have.

    registry: of all scores. models: as `core.study.models.describe` gives them. basis: what the
    competence of the side is.
    """
    names = set(models.loc[models["modality"] == side, "model"])
    units = {score.name: score.unit for score in known_scores(registry, names)}
    units[COMPETENCE] = basis
    return {name: find_axis(name, side, units.get(name, "")) for name in (*AXES, *units)}


def axis_labels(axes: Mapping[str, Axis]) -> dict[str, str]:
    """Return what a list of axes says, by name; a score's name is told with its origin."""
    return {name: axis.title if name in AXES else name for name, axis in axes.items()}


def side_of(models: pd.DataFrame, names: tuple[str, ...]) -> Side:
    """Return whose competence is on the axis: that of vision models where all of these are,
    else of language models.

    models: as `core.study.models.describe` gives them.
    """
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
    """Return what is on the axis where nothing is named: of competence, the score that most of the
    models on it have, and size, the first that is known of as many as a fit takes.
    """
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
    if name == COMPETENCE and side == "vision":
        unit = basis_of(ask(TasksSolved(question.scope), study))
    elif name == COMPETENCE:
        unit = language_basis(models, study.competence())
    else:
        unit = next((score.unit for score in _scores(question, study) if score.name == name), "")
    return find_axis(name, side, unit)


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
