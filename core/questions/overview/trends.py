"""Do models converge? A study's answer in one table, behind the `overview` command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from core.encoders.encoder import REALITY
from core.errors import MetricError
from core.options import neighbors_option, option
from core.progress import Progress
from core.questions.alignment.axes import COMPETENCE
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.spaces.preprocess import check_k
from core.statistics.correlations import competence_fit
from core.study.comparing import align_models
from core.study.models import FEWER, UNTRAINED, is_reality, lines, reads, usual
from core.study.parts import Comparison
from core.study.study import Study, known_worlds

COLUMNS = ("finding", "group", "models", "value", "p", "chance", "reason")
SOLVED = "Spearman of vision competence and alignment, with"
CLOSENESS = "mean alignment with reality, by"
OVERALL = "all vision models"


@dataclass(frozen=True)
class Overview(StudyQuestion):
    """Do neural networks converge to the same representation?

    Alignment is mutual k-NN of the best-aligned layers. Models without neighbors are left out.
    """

    command = "overview"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "finding": "what is measured",
        "group": "models that alignment is with, or whose mean it is",
        "models": "models that it rests on",
        "value": "the number",
        "p": "p, sizes and seeds of one family counted once",
        "chance": "alignment of unrelated models",
        "reason": "why there is no number",
    }

    k: int = neighbors_option(help="neighbors per stimulus that are compared, 1 … n − 1")
    axis: str = option(
        COMPETENCE,
        label="Horizontal axis",
        help="what the alignment of language models is compared with: competence (1 − bits per"
        " byte), parameters, step, or a score by its task and origin: 'HellaSwag (published)'",
    )

    def complete(self, study: Study) -> Overview:
        check_k(self.k, study.size)
        return self

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        models = study.models()
        models = models.loc[[_has_neighbors(study, name) for name in models["model"]]]
        read = reads(models, "caption") | reads(models, "image")
        worlds = [name for name in known_worlds(study) if name in set(models["model"])]
        names = list(models.loc[read, "model"])
        near = align_models(study, names, worlds, Comparison(k=self.k))
        solved = ask(TasksSolved(self.scope), study)
        tables = (
            trends(cross(self, study, models), models, axis=self.axis),
            solving(near, solved, models),
            closeness(near, models),
        )
        parts = [part for part in tables if len(part)] or tables[:1]
        table = pd.concat(parts, ignore_index=True)
        along = table["finding"] == trend_along(self.axis)
        rows = table[along & table["group"].isin((OVERALL, REALITY))].to_dict("records")
        findings = [
            Finding(
                f"Alignment with {row['group']} rises with the {self.axis} of language models",
                row["value"],
                p=row["p"],
                name="ρ",
                n=int(row["models"]),
                expected="+",
                reason=row["reason"],
            )
            for row in rows
        ]
        return Answer(table, findings)


def cross(question: Overview, study: Study, models: pd.DataFrame) -> pd.DataFrame:
    """Align the usual language models with the usual vision models and reality, and say where they
    stand on the axis; only those of `models` count.
    """
    counted = usual(models)
    x = tuple(counted.loc[reads(counted, "caption"), "model"])
    y = tuple(counted.loc[reads(counted, "image") | is_reality(counted), "model"])
    comparison = Comparison(k=question.k)
    if not (x and y):
        return align_models(study, x, y, comparison).assign(axis=np.nan)
    return ask(Alignment(question.scope, x, y, axis=question.axis, comparison=comparison), study)


def _has_neighbors(study: Study, name: str) -> bool:
    try:
        study.neighbors(name)
    except MetricError:
        return False
    return True


def trends(
    alignment: pd.DataFrame, models: pd.DataFrame, *, axis: str = COMPETENCE
) -> pd.DataFrame:
    """Return how competence, or what else is on the axis, changes with alignment: Spearman's ρ in
    [−1, 1] over trained language models, a row per kind of target.

    The targets are each group of trained vision models, all of them, and reality; a language
    model's alignment with a target is its mean over the target's models, so that ρ counts language
    models and not pairs. p is two-sided; families count once. NaN with a reason if fewer
    than five models of three families have both values. alignment: model_x (language), model_y,
    score, axis: where model_x stands. models: as `core.study.models.describe` gives them.
    """
    finished = usual(models).set_index("model")
    pairs = alignment[
        alignment["model_x"].isin(finished.index) & alignment["model_y"].isin(finished.index)
    ]
    group = pairs["model_y"].map(finished["group"])
    vision = pairs[pairs["model_y"].isin(finished.index[reads(finished, "image")])]
    targets = [
        *vision.groupby(group, sort=False),
        (OVERALL, vision),
        (REALITY, pairs[group == REALITY]),
    ]
    places = alignment.groupby("model_x")["axis"].first()
    kin = lines(models)
    rows = [
        (trend_along(axis), *_trend(str(name), rows, places, kin))
        for name, rows in targets
        if len(rows)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def trend_along(axis: str) -> str:
    """Return the finding of a trend along an axis."""
    return f"Spearman of {axis} and alignment, with"


def _trend(
    name: str, pairs: pd.DataFrame, places: pd.Series, kin: Mapping[str, str]
) -> tuple[Any, ...]:
    score = pairs.groupby("model_x")["score"].mean()
    skill = places.reindex(score.index)
    relatives = [kin[one] for one in score.index]
    fit = competence_fit(skill.to_numpy(float), score.to_numpy(float), relatives)
    return name, fit.n, fit.spearman, fit.p, np.nan, fit.reason


def solving(alignment: pd.DataFrame, solved: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return how the competence of trained vision models goes with their alignment with
    reality: one row of `trends`.

    alignment: model_x, score, one row per model. solved: as
    `core.questions.competence.scores.tasks_solved` gives it. Empty if no task has been
    measured.
    """
    finished = usual(models)
    pairs = alignment[alignment["model_x"].isin(finished.loc[reads(finished, "image"), "model"])]
    row = _trend(REALITY, pairs, solved.set_index("model")["solved"], lines(models))
    return pd.DataFrame([(SOLVED, *row)] if len(solved) else [], columns=list(COLUMNS))


def closeness(alignment: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the mean alignment with reality by objective or family, size, number of tasks and of
    models left untrained.

    Copies along a training, replicates and what varies a recipe, other than in its tasks, are left
    out. Sizes are compared among the trained models that learned
    all tasks, of families that come in several sizes; numbers of tasks within one family and size.
    alignment: model_x, score, chance; one row per model. Range and chance are the metric's.
    """
    about = (
        alignment.dropna(subset="score")
        .merge(_by_recipe(models), left_on="model_x", right_on="model")
        .sort_values("modality", kind="stable")
    )
    whole = about[~about["group"].isin((FEWER, UNTRAINED)) & (about["size"] != "")].sort_values(
        "parameters", kind="stable"
    )
    several = whole[whole.groupby("family")["size"].transform("nunique") > 1]
    tasks = about[about["group"].isin(("multitask", FEWER)) & about["tasks"].notna()].sort_values(
        "tasks"
    )
    fewer = tasks[tasks["group"] == FEWER]
    comparable = tasks[tasks["size"].isin(fewer["size"]) & tasks["family"].isin(fewer["family"])]
    parts = (
        *_means(about, "objective", about["group"] + " (" + about["modality"] + ")"),
        *_means(several, "size", several["modality"] + " " + several["size"]),
        *_means(comparable, "tasks", comparable["tasks"].map("{:.0f} of the tasks".format)),
    )
    return pd.DataFrame(parts, columns=list(COLUMNS))


def _by_recipe(models: pd.DataFrame) -> pd.DataFrame:
    """Return the models as their training left them: of usual recipes, or of fewer tasks."""
    return models[~models["copy"] & models["varies"].isin(("", "tasks"))]


def _means(table: pd.DataFrame, by: str, group: pd.Series) -> Iterator[tuple[Any, ...]]:
    for name, rows in table.groupby(group, sort=False):
        yield (
            f"{CLOSENESS} {by}",
            name,
            len(rows),
            rows["score"].mean(),
            np.nan,
            rows["chance"].iloc[0],
            "",
        )
