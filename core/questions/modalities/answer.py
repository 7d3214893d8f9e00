"""Every two modalities of a study, and each with reality."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pandas as pd

from core.modalities import known_first
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.convergence.question import Replicates
from core.questions.modalities.findings import findings
from core.questions.modalities.meeting import COLUMNS, Meeting, rows_of
from core.questions.modalities.question import Modalities
from core.questions.registry import Answer, declare
from core.statistics.nulls import adjust
from core.study.comparing import align_models, check_pairing
from core.study.models import UNTRAINED, is_reality, open_because
from core.study.noise import ceiling_between
from core.study.parts import Calibration
from core.study.study import Study, known_worlds
from core.study.trainings import choose_names, describe_trainings


def complete(question: Modalities, study: Study) -> Modalities:
    """Name the finished models of usual recipes where none are named; raises UnknownNameError for
    others, and as `check_pairing`.
    """
    check_pairing(study, question.comparison)
    trainings = describe_trainings(study)
    choose_names(question.names, list(trainings["model"]), "finished model")
    names = question.names or trainings.loc[trainings["varies"] == "", "model"]
    return replace(question, names=tuple(sorted(set(names))))


def meet(question: Modalities, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how aligned every two modalities are, and each with reality.

    A row per pair and size (see `core.questions.modalities.meeting.rows_of`), with COLUMNS: mean
    alignment with its 95 % interval over lines of both sides; chance, the
    mean of shuffled stimuli over one training of each recipe; untrained, the mean of untrained
    models of both; ceiling, what two seeds of a recipe reach, of two modalities the geometric mean;
    share = (mean − chance) / (ceiling − chance); p against chance and p_untrained against the level
    of untrained models; q and q_untrained, both adjusted for all rows; reason: why the interval is
    NaN, or the ceiling, and `open_because`.
    """
    meetings = list(_meetings(question, study, report))
    rows = [row for meeting in meetings for row in rows_of(meeting)]
    table = pd.DataFrame(rows).reindex(columns=list(COLUMNS))
    models = study.models()
    members = models[models["model"].isin(question.names)].groupby("modality")["model"].agg(list)
    opened = [
        open_because(models, [*members[one], *members.get(other, [])])
        for one, other in zip(table["one"], table["other"], strict=True)
    ]
    reasons = zip(opened, table["reason"], strict=True)
    table["reason"] = ["; ".join(filter(None, both)) for both in reasons]
    p_values = table[["p", "p_untrained"]].to_numpy(float)
    table[["q", "q_untrained"]] = adjust(p_values.ravel()).reshape(p_values.shape)
    return table


declare(
    Modalities,
    Answer(
        meet,
        version=4,
        complete=complete,
        findings=findings,
    ),
)


def _meetings(question: Modalities, study: Study, report: Progress | None) -> Iterator[Meeting]:
    trainings, models = describe_trainings(study), study.models()
    named = trainings[trainings["model"].isin(question.names)]
    sides = [named[named["modality"] == name] for name in known_first(named["modality"])]
    world = models[models["model"].isin(known_worlds(study))]
    seeds = ask(Replicates(question.scope, (), question.comparison), study, report)
    pairs = [*combinations(sides, 2), *((side, world) for side in sides if len(world))]
    for one, other in pairs:
        scores, shuffled = _scores(question, study, one, other, report)
        fresh = _untrained(question, study, one, other)
        kinds = one["modality"].iloc[0], other["modality"].iloc[0]
        ceiling = ceiling_between(seeds, *kinds)
        yield Meeting(one, other, scores, shuffled, fresh, ceiling, fixed=other is world)


def _untrained(
    question: Modalities, study: Study, one: pd.DataFrame, other: pd.DataFrame
) -> pd.DataFrame:
    """Return score and sizes of every two untrained models of both sides; reality is what it is."""
    fresh = _fresh(study)
    x, y = (
        tuple(fresh.loc[fresh["modality"] == side["modality"].iloc[0], "model"])
        for side in (one, other)
    )
    if not (x and y):
        return pd.DataFrame(columns=["score", "size_one", "size_other"])
    sizes = fresh.set_index("model")["size"]
    scores = align_models(study, x, y, question.comparison)
    return pd.DataFrame(
        {
            "score": scores["score"],
            "size_one": scores["model_x"].map(sizes),
            "size_other": scores["model_y"].map(sizes),
        }
    )


def _fresh(study: Study) -> pd.DataFrame:
    """Return the untrained models, and reality, which nobody trains."""
    models = study.models()
    return models[(models["group"] == UNTRAINED) | is_reality(models)]


def _scores(
    question: Modalities,
    study: Study,
    one: pd.DataFrame,
    other: pd.DataFrame,
    report: Progress | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the scores of all models of two sides, and those of shuffled stimuli, of the first
    training of each recipe alone: chance depends on how many layers there are, not on weights.
    """
    x, y = (tuple(side["model"]) for side in (one, other))
    first_x, first_y = (tuple(side.drop_duplicates("recipe")["model"]) for side in (one, other))
    comparison = question.comparison
    calibration = Calibration(null=question.permutations, seed=question.seed)
    alone = Alignment(question.scope, first_x, first_y, axis="", comparison=comparison)
    shuffled = ask(replace(alone, calibration=calibration), study, report)
    scored = align_models(study, x, y, comparison)
    return _matrix(scored, "score", x, y), _matrix(shuffled, "null_mean", x, y)


def _matrix(
    table: pd.DataFrame, values: str, x: tuple[str, ...], y: tuple[str, ...]
) -> pd.DataFrame:
    matrix = table.pivot(index="model_x", columns="model_y", values=values)
    return matrix.reindex(index=list(x), columns=list(y))
