"""Which units recur in which models, whether more of them do in better ones, and what excites
them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from core.errors import InputError, MetricError
from core.figures.numbers import time_text
from core.progress import Progress
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.neurons.findings import pair_findings, share_findings, trend_findings
from core.questions.neurons.mining import (
    Recurrence,
    check_layers,
    chosen_layers,
    foresee,
    mine,
    reader,
)
from core.questions.neurons.pairs import tabulate_pairs, tabulate_stimuli
from core.questions.neurons.question import (
    NeuronPairs,
    NeuronShare,
    NeuronStimuli,
    NeuronTrend,
)
from core.questions.neurons.trends import trend_rows
from core.questions.registry import Answer, declare, never
from core.statistics.nulls import check_count
from core.study.models import is_reality, usual
from core.study.spaces import largest_models
from core.study.study import Study
from core.study.trainings import choose_names, describe_trainings, kinship

SHARES = (
    "model_x",
    "model_y",
    "units_x",
    "units_y",
    "pairs",
    "share",
    "rotated",
    "rotated_low",
    "rotated_high",
    "threshold",
    "alike",
    "alike_rotated",
    "kin",
)

S = TypeVar("S", NeuronShare, NeuronTrend)
P = TypeVar("P", bound=NeuronPairs)


def complete_models(question: S, study: Study) -> S:
    """Name the models that finished a usual training where none are named.

    Raises UnknownNameError for what is no model that finished a training, MetricError for layers
    and permutations, InputError for fewer than two models.
    """
    check_layers(question.mining.layers, of_two=False)
    check_count(question.mining.null)
    choose_names(question.names, list(describe_trainings(study)["model"]), "finished model")
    models = usual(study.models())
    names = question.names or models.loc[~is_reality(models), "model"]
    if len(set(names)) < 2:
        raise InputError(
            f"units recur in two models or more; got {len(set(names))}: name or embed another one"
        )
    return replace(question, names=tuple(sorted(set(names))))


def share_units(question: NeuronShare, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row for every two models: how many units recur, and what share that is of the most
    that could, the units of the smaller of both.

    rotated, rotated_low, rotated_high: mean, least and most of that share in random bases of one
    of both models. threshold: what the best pair reaches by chance. alike, alike_rotated: the mean
    correlation of a unit, of either model, with its best counterpart, and with its best in random
    bases of the other model. kin: whether both are of one recipe or descend from one another.
    """
    names, mining = question.names, question.mining
    read = reader(study, names, mining.layers)
    trainings = describe_trainings(study).set_index("model").loc[list(names)].reset_index()
    recipes = trainings["recipe"].to_numpy()
    kin = kinship(trainings) | (recipes[:, None] == recipes)
    pairs, rows = list(combinations(range(len(names)), 2)), []
    takes = time_text(foresee([study.entry(name).dims for name in names], study.size, mining))
    what = f"pairs of models, about {takes} in all"
    for done, (x, y) in enumerate(pairs):
        if report:
            report(done, len(pairs), what)
        recurrence = mine(read(names[x]), read(names[y]), mining)
        units = [read(names[place]).units.count for place in (x, y)]
        rows.append(
            {"model_x": names[x], "model_y": names[y], **_share_row(recurrence, units)}
            | {"kin": bool(kin[x, y])}
        )
    if report:
        report(len(pairs), len(pairs), what)
    return pd.DataFrame(rows, columns=list(SHARES))


def _share_row(recurrence: Recurrence, units: list[int]) -> dict[str, Any]:
    most = min(units)
    bases = (*recurrence.rotated, *recurrence.rotated_x)
    rotated = np.array([recurrence.recurring(each) for each in bases]) / most
    pairs = recurrence.recurring(recurrence.partners)
    return {
        "units_x": units[0],
        "units_y": units[1],
        "pairs": pairs,
        "share": pairs / most,
        "rotated": float(rotated.mean()),
        "rotated_low": float(rotated.min()),
        "rotated_high": float(rotated.max()),
        "threshold": recurrence.threshold,
        "alike": recurrence.alike,
        "alike_rotated": recurrence.alike_rotated,
    }


declare(
    NeuronShare,
    Answer(
        share_units,
        version=2,
        complete=complete_models,
        findings=share_findings,
        hidden=("rotated_low", "rotated_high", "threshold", "kin"),
    ),
)


def follow_competence(question: NeuronTrend, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return how the share of a model's units that recur rises with its competence; see
    `core.questions.neurons.trends.trend_rows`.
    """
    shares = ask(NeuronShare(question.scope, question.names, question.mining), study, report)
    solved = ask(TasksSolved(question.scope), study).set_index("model")["solved"]
    coded = study.competence().set_index("model")["value"]
    return trend_rows(
        shares,
        describe_trainings(study),
        pd.concat([solved, coded]).astype(float),
        draws=question.dealings,
        seed=question.mining.seed,
    )


declare(
    NeuronTrend,
    Answer(
        follow_competence,
        version=1,
        complete=complete_models,
        findings=trend_findings,
        kept=never,
        shown=("measure", "modality", "partners", "title", "competence", "value", "rise", "q"),
    ),
)


def complete_pair(question: P, study: Study) -> P:
    """Name the two largest vision models of two objectives where none are named, else the first two
    usual models.

    Raises UnknownNameError for what is no model, MetricError for layers and permutations and where
    both models are one, InputError where there are no two.
    """
    check_layers(question.mining.layers, of_two=True)
    check_count(question.mining.null)
    models = usual(study.models())
    usual_names = [*largest_models(study), *models.loc[~is_reality(models), "model"]]
    others = [one for one in dict.fromkeys(usual_names) if one not in (question.a, question.b)]
    if len(others) < (not question.a) + (not question.b):
        raise InputError("units recur in two models; embed another one, or name two")
    a = question.a or others.pop(0)
    b = question.b or others.pop(0)
    if a == b:
        raise MetricError(f"two different models expected; got {a} twice: name another one")
    chosen_layers(question.mining.layers, *(len(study.entry(name).dims) for name in (a, b)))
    return replace(question, a=a, b=b)


declare(
    NeuronPairs,
    Answer(tabulate_pairs, version=2, complete=complete_pair, findings=pair_findings),
)
declare(
    NeuronStimuli,
    Answer(tabulate_stimuli, version=2, complete=complete_pair, kept=never),
)
