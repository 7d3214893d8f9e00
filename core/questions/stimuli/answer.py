"""What a person who browses stimuli is shown: where they lie in the consensus, what is near them,
and on which of them two models agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Int

from core.errors import StimuliError
from core.metrics.knn import count_shared
from core.progress import Progress
from core.questions.alignment.pairs import complete_pair
from core.questions.asking import ask
from core.questions.dispersion.question import ConsensusSpace, JointQuestion, StimulusDispersion
from core.questions.registry import Answer, declare, never
from core.questions.stimuli.planes import neighbor_plane, principal_plane
from core.questions.stimuli.question import (
    NearestStimuli,
    SharedNeighbors,
    StimulusList,
    StimulusMap,
    StimulusNeighbors,
    StimulusResiduals,
)
from core.spaces.neighbors import nearest
from core.spaces.preprocess import check_k, normalize_rows
from core.statistics.nulls import draw_sample
from core.study.spaces import check_several, find_space, name_spaces
from core.study.study import Study, studied_indices, studied_stimuli

CONSENSUS = "consensus"  # beside the names of spaces

J = TypeVar("J", bound=JointQuestion)


def name_joint(question: J, study: Study) -> J:
    """Name the spaces whose consensus is taken."""
    spaces = name_spaces(study, question.joint.spaces)
    return replace(question, joint=replace(question.joint, spaces=spaces))


def name_map(question: StimulusMap, study: Study) -> StimulusMap:
    """Name the spaces; raises MetricError where two have residuals, which are equal."""
    question = JointQuestion.complete(question, study)
    if question.map == "residuals":
        check_several(question.joint.spaces)
    return question


def name_neighbors(question: StimulusNeighbors, study: Study) -> StimulusNeighbors:
    """Name the spaces; raises MetricError for k."""
    check_k(question.k, study.size)
    return JointQuestion.complete(question, study)


P = TypeVar("P", SharedNeighbors, NearestStimuli)


def name_shared(question: P, study: Study) -> P:
    """Name both models and layers; raises MetricError for k."""
    check_k(question.k, study.size)
    return replace(question, pair=complete_pair(question.pair, question.scope, study, k=question.k))


def list_stimuli(_: StimulusList, study: Study, __: Progress | None) -> pd.DataFrame:
    """Return a row per stimulus: index, stimulus, and a column per caption level."""
    table = studied_stimuli(study)
    captions = study.store.captions(study.dataset.name)
    texts = captions.pivot(index="index", columns="level", values="text")
    named = texts[list(study.dataset.levels)].add_prefix("caption ")
    return table.join(named, on="index")


declare(StimulusList, Answer(list_stimuli, version=1, kept=never))


def lay_out(question: StimulusMap, study: Study, report: Progress | None) -> pd.DataFrame:
    """Lay the stimuli out, or a sample of more than `question.drawn`: the columns of
    `platoscope dispersion stimuli`, then x, y, share_x, share_y.

    residuals: x is their mean over the spaces, y their first principal component. pca, umap: where
    the stimuli lie in the consensus, UMAP among the sample alone. The shares are those of the
    variance of all stimuli along x and y, NaN where the axes are no components of the consensus.
    Raises as `core.questions.stimuli.planes`.
    """
    table = ask(StimulusDispersion(question.scope, question.joint), study, report)
    rows = draw_sample(len(table), question.drawn, seed=question.seed)
    table = table.iloc[rows].reset_index(drop=True)
    if question.map == "residuals":
        return table.assign(x=table["mean"], y=table["pc1"], share_x=np.nan, share_y=np.nan)
    consensus = ask(ConsensusSpace(question.scope, question.joint), study, report)
    joint = consensus.filter(like="axis_").to_numpy(np.float64)
    if question.map == "pca":
        plane, shares = principal_plane(joint)
        plane = plane[rows]
    else:
        plane, shares = neighbor_plane(joint[rows], seed=question.seed), np.full(2, np.nan)
    return table.assign(x=plane[:, 0], y=plane[:, 1], share_x=shares[0], share_y=shares[1])


declare(
    StimulusMap,
    Answer(
        lay_out,
        version=2,
        complete=name_map,
        kept=lambda question: question.map == "umap",
    ),
)


def rank_residuals(
    question: StimulusResiduals, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Return a row per space: space, residual of the stimulus, its rank among all (1 is the
    lowest), n, and the quartiles of all residuals, lower and upper.

    Raises StimuliError for a stimulus that is not studied.
    """
    table = ask(StimulusDispersion(question.scope, question.joint), study, report)
    spaces = list(question.joint.spaces)
    every = table[spaces]
    values = every.iloc[_position(question.stimulus, table["index"].to_numpy())]
    lower, upper = (every.quantile(share) for share in (0.25, 0.75))
    return pd.DataFrame(
        {
            "space": spaces,
            "residual": values.to_numpy(),
            "rank": (every < values).sum().to_numpy() + 1,
            "n": len(every),
            "lower": lower.to_numpy(),
            "upper": upper.to_numpy(),
        }
    )


def _position(stimulus: int, indices: Int[np.ndarray, " n"]) -> int:
    """Return at which place a stimulus is among those studied."""
    places = np.flatnonzero(indices == stimulus)
    if not len(places):
        raise StimuliError(
            f"expected the index of a stimulus that is studied; got {stimulus}: see platoscope"
            " stimuli list"
        )
    return int(places[0])


declare(
    StimulusResiduals,
    Answer(rank_residuals, version=1, complete=JointQuestion.complete, kept=never),
)


def find_neighbors(
    question: StimulusNeighbors, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Find the k nearest stimuli of each stimulus in the consensus and in each of its spaces, by
    the cosine of the angle: a row per place and stimulus.

    Columns space (`consensus` first), index, rank_1 … rank_k: the indices of its neighbors, most
    similar first; -1 in a layer without neighbors.
    """
    consensus = ask(ConsensusSpace(question.scope, question.joint), study, report)
    joint = consensus.filter(like="axis_").to_numpy(np.float64)
    near = {CONSENSUS: nearest(normalize_rows(joint), k=question.k)}
    for space in question.joint.spaces:
        place = find_space(study, space)
        lists = study.neighbors(place.model, k=question.k)
        near[space] = lists[place.layer, :, : question.k]
    tables = [_neighbor_rows(space, ranks, studied_indices(study)) for space, ranks in near.items()]
    return pd.concat(tables, ignore_index=True)


declare(
    StimulusNeighbors,
    Answer(find_neighbors, version=1, complete=name_neighbors, kept=never),
)


def _neighbor_rows(
    space: str, near: Int[np.ndarray, "n k"], indices: Int[np.ndarray, " n"]
) -> pd.DataFrame:
    names = [f"rank_{rank + 1}" for rank in range(near.shape[1])]
    table = pd.DataFrame(np.where(near < 0, -1, indices[near]), columns=names)
    table.insert(0, "space", space)
    table.insert(1, "index", indices)
    return table


def find_nearest(question: NearestStimuli, study: Study, _: Progress | None) -> pd.DataFrame:
    """Find the k nearest stimuli of one in each of two layers, most similar first: a row each.

    Columns model, layer, rank (from 1), index, similarity (cosine of the angle, −1 … 1) and shared,
    whether it is among the k of the other layer, too. A layer without neighbors has no rows. Raises
    StimuliError for a stimulus that is not studied.
    """
    indices = studied_indices(study)
    own = _position(question.stimulus, indices)
    tables = []
    for model, layer in question.pair.places:
        near = study.neighbors(model, k=question.k)[layer, own, : question.k]
        near = near[near >= 0]
        vectors = study.spaces(model)[layer][[own, *near]].astype(np.float64)
        units = normalize_rows(vectors) if len(near) else vectors
        about = {"model": model, "layer": layer, "rank": np.arange(1, len(near) + 1)}
        columns = {**about, "index": indices[near], "similarity": units[1:] @ units[0]}
        tables.append(pd.DataFrame(columns))
    x, y = (set(table["index"]) for table in tables)
    both = pd.concat(tables, ignore_index=True)
    return both.assign(shared=both["index"].isin(x & y))


declare(NearestStimuli, Answer(find_nearest, version=1, complete=name_shared, kept=never))


def count_neighbors(question: SharedNeighbors, study: Study, _: Progress | None) -> pd.DataFrame:
    """Count the neighbors that two layers share: a row per stimulus, index, shared, k.

    The mean of shared over k is their alignment by mutual k-nearest neighbors.
    """
    x, y = (
        study.neighbors(model, k=question.k)[layer, :, : question.k]
        for model, layer in question.pair.places
    )
    shared = count_shared(x, y)
    return pd.DataFrame({"index": studied_indices(study), "shared": shared, "k": question.k})


declare(SharedNeighbors, Answer(count_neighbors, version=1, complete=name_shared, kept=never))
