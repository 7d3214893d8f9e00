"""Stitches of two models, layer by layer, and of many models, pair by pair."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd

from core.errors import InputError, MetricError
from core.networks.stitches import check_modalities
from core.progress import Progress
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.competence.question import TasksSolved
from core.questions.registry import Answer, declare, never
from core.questions.stitching.bench import IDENTITY, LEAST, RANDOM, TRAINED, need_world
from core.questions.stitching.findings import (
    kind_findings,
    map_findings,
    stitch_findings,
    trend_findings,
)
from core.questions.stitching.keeping import PLACE, make_stitches
from core.questions.stitching.losses import least_path
from core.questions.stitching.many import compare_kinds, measure_duos, trend_over_competence
from core.questions.stitching.question import Stitch, StitchKinds, StitchMap, StitchTrend
from core.questions.stitching.roster import (
    Duo,
    across_kinds,
    across_objectives,
    default_pair,
    list_models,
)
from core.study.comparing import choose_engine
from core.study.layers import ALL, layer_matrix
from core.study.parts import Comparison
from core.study.study import Study
from core.study.trainings import choose_names

T = TypeVar("T", Stitch, StitchMap)
M = TypeVar("M", StitchKinds, StitchTrend)
OF_PAIR = ["score", "own", "chance", "penalty", "penalty_low", "penalty_high"]
OF_PAIR += ["lost", "lost_low", "lost_high", "head"]


def name_two(question: T, study: Study) -> T:
    """Name both models where none are; raises InputError where one is, and over a dataset that is
    not the Cave, and for models of two modalities, UnknownNameError for names that mean nothing.
    """
    need_world(study)
    if not (question.x or question.y):
        x, y = default_pair(study)
        question = replace(question, x=x, y=y)
    if not (question.x and question.y):
        raise InputError("name --x and --y together, or neither for the usual two")
    check_modalities(*(study.entry(name).card for name in (question.x, question.y)))
    return question


def complete_stitch(question: Stitch, study: Study) -> Stitch:
    """Name models and layers; raises as `name_two`, MetricError for a layer that is not there."""
    question = name_two(question, study)
    counts = [len(study.entry(name).card.layers) for name in (question.x, question.y)]
    middle = (counts[0] - 1) // 2
    layer_x = middle if question.layer_x is None else question.layer_x
    layer_y = question.layer_y
    if layer_y is None:
        layer_y = round(layer_x / max(1, counts[0] - 1) * (counts[1] - 1))
    for layer, count, name in zip(
        (layer_x, layer_y), counts, (question.x, question.y), strict=True
    ):
        if layer >= count:
            raise MetricError(f"{name} has no layer {layer}, only 0 … {count - 1}")
    return replace(question, layer_x=layer_x, layer_y=layer_y)


def stitch(question: Stitch, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per kind of h: fitted by gradient, by least squares on activations alone,
    random, identity, and g stitched to itself; the models x and y, what their layers are called,
    and columns of `core.questions.stitching.keeping.COLUMNS`.
    """
    assert question.layer_x is not None
    assert question.layer_y is not None
    places = [(question.layer_x, question.layer_y)]
    table = make_stitches(study, question.x, question.y, question.fitting, places, report)
    return _with_names(table, question, study)


def _with_names(rows: pd.DataFrame, question: T, study: Study) -> pd.DataFrame:
    """Put the models x and y in front, and what their layers are called, name_x and name_y."""
    named: dict[str, str | list[str]] = {}
    for side, place in zip("xy", PLACE, strict=True):
        card = study.entry(getattr(question, side)).card
        named |= {side: card.name, f"name_{side}": [card.layers[layer] for layer in rows[place]]}
    return rows.assign(**named)[["x", "y", *PLACE, "name_x", "name_y", *rows.columns.drop(PLACE)]]


declare(
    Stitch,
    Answer(stitch, version=1, complete=complete_stitch, findings=stitch_findings, kept=never),
)


def complete_map(question: StitchMap, study: Study) -> StitchMap:
    """Name models; raises as `name_two`, and for a metric that cannot be before any layer is
    stitched.
    """
    choose_engine(study, question.measure)
    return name_two(question, study)


def map_layers(question: StitchMap, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per pair of layers: what is lost by h as it is fitted and, in columns of their
    names, by least squares, identity and random h; alignment of the two layers over the studied
    stimuli; and whether they lie on the way of least penalty.
    """
    cards = [study.entry(name).card for name in (question.x, question.y)]
    every = list(np.ndindex(*(len(card.layers) for card in cards)))
    table = make_stitches(study, question.x, question.y, question.fitting, every, report)
    named = table[table["h"] == TRAINED].set_index(PLACE)[OF_PAIR]
    for h in (LEAST, IDENTITY, RANDOM):
        named = named.assign(
            **{h.replace(" ", "_"): table[table["h"] == h].set_index(PLACE)["lost"]}
        )
    measure = question.measure
    comparison = Comparison(measure.metric, measure.k, measure.parameters, layers=ALL)
    alignment = Alignment(question.scope, (question.x,), (question.y,), comparison=comparison)
    aligned = layer_matrix(ask(alignment, study)).to_numpy(float)
    rows = named.reset_index()
    rows["alignment"] = aligned[rows["layer_x"], rows["layer_y"]]
    path = least_path(rows.pivot(index="layer_x", columns="layer_y", values="penalty").to_numpy())
    rows = _with_names(rows, question, study)
    return rows.assign(on_path=path[rows["layer_y"]] == rows["layer_x"])


declare(
    StitchMap,
    Answer(
        map_layers,
        version=1,
        complete=complete_map,
        findings=map_findings,
        kept=never,
    ),
)


def complete_many(question: M, study: Study) -> M:
    """Name the models that are stitched; raises InputError over a dataset that is not the Cave and
    where no two go together, UnknownNameError for models that are not among those that fit.
    """
    need_world(study)
    duos = _duos(replace(question, names=()), study)
    fitting = list(dict.fromkeys(name for duo in duos for name in (duo.x, duo.y)))
    names = choose_names(question.names, fitting, "model of these stitches")
    question = replace(question, names=tuple(sorted(set(names))))
    if not _duos(question, study):
        raise InputError(
            "no two of these models go together: they must be of one size and seed and of two"
            " objectives, or of one recipe; name others, or none for all that fit"
        )
    return question


def _duos(question: StitchKinds | StitchTrend, study: Study) -> list[Duo]:
    models = list_models(study)
    if question.names:
        models = models[models["model"].isin(question.names)]
    if isinstance(question, StitchKinds):
        return across_kinds(models, question.size)
    return across_objectives(models, question.objectives)


def compare(question: StitchKinds, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per pair of models with its kind; see `compare_kinds` and `measure_duos`."""
    return compare_kinds(measure_duos(study, _duos(question, study), question.fitting, report))


declare(
    StitchKinds,
    Answer(compare, version=2, complete=complete_many, findings=kind_findings),
)


def follow(question: StitchTrend, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per measure and ordered pair of models with the trend over competence, see
    `trend_over_competence`; their objectives, size and seed, and competence, the mean share of
    tasks that both models solve, of the measured seeds where this one was not measured.
    """
    models = list_models(study)
    rows = measure_duos(study, _duos(question, study), question.fitting, report)
    about = models.set_index("model")
    solved = ask(TasksSolved(question.scope), study).set_index("model")["solved"].astype(float)
    both = (solved.reindex(rows["x"]).to_numpy() + solved.reindex(rows["y"]).to_numpy()) / 2
    rows = rows.assign(
        objective_x=about["objective"].reindex(rows["x"]).to_numpy(),
        objective_y=about["objective"].reindex(rows["y"]).to_numpy(),
        size=about["size"].reindex(rows["y"]).to_numpy(),
        seed=about["seed"].reindex(rows["y"]).to_numpy(),
        competence=both,
    )
    kinds = rows.groupby(["objective_x", "objective_y", "size"])["competence"]
    rows["competence"] = rows["competence"].fillna(kinds.transform("mean"))
    return trend_over_competence(rows, draws=question.permutations, seed=question.fitting.seed)


declare(
    StitchTrend,
    Answer(follow, version=3, complete=complete_many, findings=trend_findings),
)
