"""Do models come together, and why: trends over levels, ceilings, and fine-tuned copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TypeVar, get_args

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.modalities import LANGUAGE, VISION
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.convergence.findings import (
    fine_tuned_findings,
    hypothesis_findings,
    karenina_findings,
    level_findings,
    replicate_findings,
    summary_findings,
)
from core.questions.convergence.fine_tuning import compare_copies
from core.questions.convergence.hypotheses import Material, test_all
from core.questions.convergence.levels import KINDS, arrange, put_on_levels
from core.questions.convergence.question import (
    AnnaKarenina,
    By,
    FineTuned,
    Hypotheses,
    Levels,
    Replicates,
    Summary,
)
from core.questions.convergence.summary import (
    summarize_ceilings,
    summarize_copies,
    summarize_hypotheses,
    summarize_levels,
    summarize_thirds,
    summarize_trends,
)
from core.questions.convergence.thirds import compare_thirds
from core.questions.models.question import ModelPairs, Roster
from core.questions.overview.question import Overview
from core.questions.registry import Answer, declare
from core.statistics.trends import level_means, level_trend
from core.study.comparing import check_pairing
from core.study.models import skill_ranks
from core.study.noise import align_replicates, replicated, summarize_replicates
from core.study.parts import Comparison
from core.study.study import Study
from core.study.trainings import choose_names, describe_trainings

Q = TypeVar("Q", Levels, AnnaKarenina, Hypotheses, Summary, FineTuned)


def complete(question: Q, study: Study) -> Q:
    """Name the finished models of vision and language where none are named, whom the hypotheses
    are about; raises UnknownNameError for others, and as `check_pairing`.
    """
    check_pairing(study, question.comparison)
    choose_names(question.names, list(describe_trainings(study)["model"]), "finished model")
    return replace(question, names=tuple(sorted(set(question.names or _meant(study)))))


def gather(question: Q, study: Study, report: Progress | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the trainings that the question names, and all pairs of them."""
    trainings = _named(question.names, study)
    roster = Roster(tuple(trainings["model"]))
    pairs = ask(ModelPairs(question.scope, roster, question.comparison), study, report)
    return trainings, pairs


def tabulate(question: Levels, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return the mean alignment of pairs on each level, with the trend over the levels.

    A row per kind of pairs and level: pairs_of, level, place (0 the lowest), trainings, recipes,
    pairs, mean, adjusted: the mean with lines held fixed, as the trend is; low, high: its 95 %
    interval over recipes; and of the kind's trend rise, from the lowest level to the highest,
    rise_low, rise_high, p, and reason: why these are NaN.
    """
    trainings, pairs = gather(question, study, report)
    skill = _skill(question, study) if question.by == "competence" else pd.Series(dtype=float)
    leveled = put_on_levels(trainings, question.by, skill)
    rows = []
    for kind in KINDS:
        arranged = arrange(leveled, pairs, kind)
        trend = level_trend(arranged, draws=question.permutations, seed=question.seed)
        about = {
            "rise": trend.rise,
            "rise_low": trend.low,
            "rise_high": trend.high,
            "p": trend.p,
            "reason": trend.reason,
        }
        for mean in level_means(arranged):
            place = round(mean.level * (len(leveled.names) - 1))
            on = {"pairs_of": kind, "level": leveled.names[place], "place": place}
            rows.append(on | {k: v for k, v in asdict(mean).items() if k != "level"} | about)
    return pd.DataFrame(rows, columns=list(LEVEL_COLUMNS))


LEVEL_COLUMNS = (
    "pairs_of",
    "level",
    "place",
    "trainings",
    "recipes",
    "pairs",
    "mean",
    "adjusted",
    "low",
    "high",
    "rise",
    "rise_low",
    "rise_high",
    "p",
    "reason",
)

declare(
    Levels,
    Answer(
        tabulate,
        version=5,
        complete=complete,
        findings=level_findings,
    ),
)


def divide(question: AnnaKarenina, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how alike thirds of competence are, among themselves and each other; see
    `compare_thirds`.
    """
    trainings, pairs = gather(question, study, report)
    leveled = put_on_levels(trainings, "competence", _skill(question, study))
    return compare_thirds(leveled, pairs, draws=question.permutations, seed=question.seed)


declare(
    AnnaKarenina,
    Answer(
        divide,
        version=4,
        complete=complete,
        findings=karenina_findings,
    ),
)


def explain(question: Hypotheses, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return the tests of the three hypotheses, a row each; see `test_all`."""
    trainings, pairs = gather(question, study, report)

    def last_layer(model: str) -> Float32[np.ndarray, "n d"]:
        return study.spaces(model)[-1]

    dealt = question.permutations, question.seed
    return test_all(Material(last_layer, trainings, pairs, *dealt, question.comparison.toward))


declare(
    Hypotheses,
    Answer(explain, version=4, complete=complete, findings=hypothesis_findings),
)


def complete_replicates(question: Replicates, study: Study) -> Replicates:
    """Name all seeds of the recipes that have several, where no models are named; raises as
    `check_pairing`.
    """
    check_pairing(study, question.comparison)
    trainings = describe_trainings(study)
    choose_names(question.names, list(trainings["model"]), "finished model")
    names = question.names or replicated(trainings)["model"]
    return replace(question, names=tuple(sorted(set(names))))


def replicate(question: Replicates, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how alike the seeds of each recipe are; see `summarize_replicates`."""
    trainings = _named(question.names, study)
    pairs = align_replicates(study, trainings, question.comparison, report)
    return summarize_replicates(trainings, pairs)


declare(
    Replicates,
    Answer(
        replicate,
        version=2,
        complete=complete_replicates,
        findings=replicate_findings,
        kept=lambda question: bool(question.names),
    ),
)


def compare(question: FineTuned, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how a model and its fine-tuned copy differ in alignment; see `compare_copies`."""
    trainings, pairs = gather(question, study, report)
    return compare_copies(trainings, pairs)


declare(
    FineTuned,
    Answer(compare, version=2, complete=complete, findings=fine_tuned_findings),
)


def summarize(question: Summary, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return all answers as one table; see `core.questions.convergence.summary`.

    Figure 3 is left out where the question is not of what it shows: all models, by mutual k-NN.
    """
    scope, names, comparison = question.scope, question.names, question.comparison
    dealt = {"permutations": question.permutations, "seed": question.seed}
    toward = comparison.toward

    def by_level(by: By) -> pd.DataFrame:
        table = ask(Levels(scope, names, comparison, by=by, **dealt), study, report)
        return summarize_levels(by, table, toward)

    chance = comparison.chance(study.size)
    parts = [
        *map(by_level, get_args(By)),
        summarize_hypotheses(ask(Hypotheses(scope, names, comparison, **dealt), study, report)),
        summarize_thirds(
            ask(AnnaKarenina(scope, names, comparison, **dealt), study, report), toward
        ),
        *_figure_3(question, study, report),
        summarize_copies(ask(FineTuned(scope, names, comparison), study, report)),
        summarize_ceilings(ask(Replicates(scope, names, comparison), study, report), chance),
    ]
    return pd.concat(parts, ignore_index=True)


declare(
    Summary,
    Answer(
        summarize,
        version=4,
        complete=complete,
        findings=summary_findings,
    ),
)


def _figure_3(question: Summary, study: Study, report: Progress | None) -> Iterator[pd.DataFrame]:
    comparison, k = question.comparison, question.comparison.settings.get("k", Overview.k)
    drawn = replace(comparison, k=k) == Comparison(k=k)
    if drawn and set(_meant(study)) <= set(question.names):
        yield summarize_trends(ask(Overview(question.scope, k=k), study, report))


def _meant(study: Study) -> list[str]:
    trainings = describe_trainings(study)
    usual = trainings["modality"].isin((VISION.name, LANGUAGE.name))
    return trainings.loc[usual, "model"].tolist()


def _named(names: tuple[str, ...], study: Study) -> pd.DataFrame:
    trainings = describe_trainings(study)
    return trainings[trainings["model"].isin(names)].reset_index(drop=True)


def _skill(question: Levels | AnnaKarenina, study: Study) -> pd.Series:
    """Return each model's rank in competence among those of its modality."""
    solved = ask(TasksSolved(question.scope), study)
    return skill_ranks(study.models(), study.competence(), solved)
