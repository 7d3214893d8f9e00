"""Where models stand on the axis, and how alignment goes along it in each panel."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.competence.records import BITS
from core.errors import UnknownNameError
from core.questions.alignment.axes import AXES, Axis, find_axis
from core.questions.alignment.points import fits, trend_points
from core.questions.alignment.question import COMPETENCE, Alignment, Side
from core.questions.asking import ask
from core.questions.competence.question import CompetenceScores, TasksSolved
from core.statistics.correlations import LEAST_MODELS
from core.study.models import basis_of, language_basis, reads
from core.study.scores import TaskScore, choices, known_scores, score_of
from core.study.study import Study

FITTED = ("fitted", "slope", "intercept", "r2", "rho", "rho_p")


def side_of(models: pd.DataFrame, names: tuple[str, ...]) -> Side:
    """Return whose competence stands on the axis: that of vision models where all of these are,
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


def add_fits(table: pd.DataFrame, question: Alignment, study: Study) -> pd.DataFrame:
    """Add panel, axis and the fit of each panel to a table of alignments, before reason.

    panel: what the model compared with is grouped by. axis: where the model on the axis stands,
    NaN where that is not known. fitted: how many recipes the panel's fit takes; slope, intercept,
    r2, rho, rho_p: of alignment over the axis (see `core.questions.alignment.points.fits`), NaN for
    fewer than five.
    """
    if not question.axis or table.empty:
        return table
    models = study.models()
    placed = table.assign(axis=table["model_x"].map(axis_values(question, study)).astype(float))
    points = trend_points(placed, models).loc[table.index]
    lines = fits(points, models, AXES.get(question.axis, AXES[COMPETENCE]))
    numbers = {
        name: (fit.n, fit.slope, fit.intercept, fit.r2, fit.spearman, fit.p)
        for name, fit in lines.items()
    }
    of_row = pd.DataFrame(
        [numbers[str(panel)] for panel in points["facet"]], columns=list(FITTED), index=table.index
    )
    reason = placed.pop("reason")
    return placed.assign(panel=points["facet"]).join(of_row).assign(reason=reason)


def axis_of(question: Alignment, study: Study) -> Axis:
    """Return what stands on a question's axis, with the unit of a score, or what competence is."""
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
    """Return where each model stands on the axis, by name."""
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
