"""Where stimuli lie in the consensus, what is near them, and on which of them two models agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int

from core.errors import FeatureError, MetricError, StimuliError
from core.machine.compiling import load_umap
from core.metrics.knn import count_shared
from core.options import MOST_STIMULI, neighbors_option, option, part, seed_option
from core.progress import Progress
from core.questions.alignment.pairs import complete_pair
from core.questions.asking import ask
from core.questions.dispersion.question import ConsensusSpace, JointQuestion, StimulusDispersion
from core.questions.question import Answer, StudyQuestion
from core.spaces.neighbors import nearest
from core.spaces.preprocess import check_k, normalize_rows
from core.statistics.layouts import DRAWING
from core.statistics.nulls import draw_sample
from core.study.parts import LayerPair
from core.study.spaces import check_several, find_space, name_spaces
from core.study.study import Study, studied_indices, studied_stimuli

NEIGHBORS = 10
CONSENSUS = "consensus"  # next to the names of spaces
LEAST = 3  # stimuli: two lie on a line
NEAR = 15  # neighbors that UMAP keeps near, its authors' default
DRAWN = 5000  # dots that a browser moves smoothly and UMAP lays out in seconds


Plane = Literal["residuals", "pca", "umap"]


def stimulus_option() -> Any:
    """Declare which stimulus is meant."""
    return option(0, least=0, most=MOST_STIMULI, help="index of the stimulus in its dataset")


@dataclass(frozen=True)
class StimulusList(StudyQuestion):
    """Which stimuli are these, and how are they captioned?"""

    command = "stimuli list"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "index": "place of the stimulus in its dataset",
        "stimulus": "its id",
    }
    device: ClassVar[None] = None

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Return a row per stimulus: index, stimulus, and a column per caption level."""
        table = studied_stimuli(study)
        captions = study.store.captions(study.dataset.name)
        texts = captions.pivot(index="index", columns="level", values="text")
        named = texts[list(study.dataset.levels)].add_prefix("caption ")
        return Answer(table.join(named, on="index"))


@dataclass(frozen=True)
class StimulusMap(JointQuestion):
    """Where do the stimuli lie in what models agree on?"""

    command = "stimuli map"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "index": "place of the stimulus in its dataset",
        "stimulus": "its id",
        "x": "place across",
        "y": "place up",
        "share_x": "share of the consensus's variance along x",
        "share_y": "share of it along y",
    }

    map: Plane = option(
        "umap",
        help="the consensus laid out by UMAP or PCA, or mean residual and first component",
    )
    drawn: int = option(
        DRAWN,
        least=3,
        most=MOST_STIMULI,
        label="Stimuli on the map",
        help="stimuli on the map; of more, a random sample",
    )
    seed: int = seed_option("seed of UMAP and of the sample")

    def complete(self, study: Study) -> Self:
        if self.map == "residuals":  # two spaces have equal ones
            check_several(name_spaces(study, self.joint.spaces))
        return super().complete(study)

    def is_kept(self) -> bool:
        return self.map == "umap"

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Lay the stimuli out, or a sample of more than `self.drawn`: the columns of `platoscope
        dispersion stimuli`, then x, y, share_x, share_y.

        residuals: x is their mean over the spaces, y their first principal component. pca, umap:
        where the stimuli lie in the consensus, UMAP among the sample alone. The shares are those of
        the variance of all stimuli along x and y, NaN where the axes are no components of the
        consensus.
        """
        table = ask(StimulusDispersion(self.scope, self.joint), study, report)
        rows = draw_sample(len(table), self.drawn, seed=self.seed)
        table = table.iloc[rows].reset_index(drop=True)
        if self.map == "residuals":
            return Answer(
                table.assign(x=table["mean"], y=table["pc1"], share_x=np.nan, share_y=np.nan)
            )
        consensus = ask(ConsensusSpace(self.scope, self.joint), study, report)
        joint = consensus.filter(like="axis_").to_numpy(np.float64)
        if self.map == "pca":
            plane, shares = principal_plane(joint)
            plane = plane[rows]
        else:
            plane, shares = neighbor_plane(joint[rows], seed=self.seed), np.full(2, np.nan)
        return Answer(
            table.assign(x=plane[:, 0], y=plane[:, 1], share_x=shares[0], share_y=shares[1])
        )


@dataclass(frozen=True)
class StimulusResiduals(JointQuestion):
    """Do models agree on one stimulus?"""

    command = "stimuli residuals"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "space": "space",
        "residual": "distance of the stimulus to the consensus",
        "rank": "its rank, 1 is the lowest",
        "n": "stimuli",
        "lower": "lower quartile of all residuals",
        "upper": "upper quartile",
    }

    stimulus: int = stimulus_option()

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Return a row per space: space, residual of the stimulus, its rank among all (1 is the
        lowest), n, and the quartiles of all residuals, lower and upper.

        Raises StimuliError for a stimulus that is not studied.
        """
        table = ask(StimulusDispersion(self.scope, self.joint), study, report)
        spaces = list(self.joint.spaces)
        every = table[spaces]
        values = every.iloc[_position(self.stimulus, table["index"].to_numpy())]
        lower, upper = (every.quantile(share) for share in (0.25, 0.75))
        return Answer(
            pd.DataFrame(
                {
                    "space": spaces,
                    "residual": values.to_numpy(),
                    "rank": (every < values).sum().to_numpy() + 1,
                    "n": len(every),
                    "lower": lower.to_numpy(),
                    "upper": upper.to_numpy(),
                }
            )
        )


@dataclass(frozen=True)
class StimulusNeighbors(JointQuestion):
    """What do models take to be alike?"""

    command = "stimuli neighbors"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "space": "space, or consensus",
        "index": "place of the stimulus in its dataset",
        "rank_1": "its nearest stimulus; further ranks follow, -1 without neighbors",
    }
    device: ClassVar[str | None] = StudyQuestion.device  # neighbors are found there

    k: int = neighbors_option(NEIGHBORS)

    def complete(self, study: Study) -> Self:
        check_k(self.k, study.size)
        return super().complete(study)

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Find the k nearest stimuli of each stimulus in the consensus and in each of its spaces,
        by the cosine of the angle: a row per place and stimulus.

        Columns space (`consensus` first), index, rank_1 … rank_k: the indices of its neighbors,
        most similar first; -1 in a layer without neighbors.
        """
        consensus = ask(ConsensusSpace(self.scope, self.joint), study, report)
        joint = consensus.filter(like="axis_").to_numpy(np.float64)
        near = {CONSENSUS: nearest(normalize_rows(joint), k=self.k)}
        for space in self.joint.spaces:
            place = find_space(study, space)
            lists = study.neighbors(place.model, k=self.k)
            near[space] = lists[place.layer, :, : self.k]
        tables = [
            _neighbor_rows(space, ranks, studied_indices(study)) for space, ranks in near.items()
        ]
        return Answer(pd.concat(tables, ignore_index=True))


@dataclass(frozen=True)
class NearestStimuli(StudyQuestion):
    """What do two models find most like one stimulus?"""

    command = "stimuli nearest"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "model": "model",
        "layer": "its layer",
        "rank": "from 1, the most similar",
        "index": "place of the neighbor in its dataset",
        "similarity": "cosine of the angle, from −1 to 1",
        "shared": "whether it is near in the other layer, too",
    }

    pair: LayerPair = part(LayerPair)
    stimulus: int = stimulus_option()
    k: int = neighbors_option(NEIGHBORS, help="neighbors of the stimulus, 1 … n − 1")

    def complete(self, study: Study) -> Self:
        check_k(self.k, study.size)
        return replace(self, pair=complete_pair(self.pair, self.scope, study, k=self.k))

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Find the k nearest stimuli of one in each of two layers, most similar first: a row each.

        Columns model, layer, rank (from 1), index, similarity (cosine of the angle, −1 … 1) and
        shared, whether it is among the k of the other layer, too. A layer without neighbors has no
        rows. Raises StimuliError for a stimulus that is not studied.
        """
        indices = studied_indices(study)
        own = _position(self.stimulus, indices)
        tables = []
        for model, layer in self.pair.places:
            near = study.neighbors(model, k=self.k)[layer, own, : self.k]
            near = near[near >= 0]
            vectors = study.spaces(model)[layer][[own, *near]].astype(np.float64)
            units = normalize_rows(vectors) if len(near) else vectors
            about = {"model": model, "layer": layer, "rank": np.arange(1, len(near) + 1)}
            columns = {**about, "index": indices[near], "similarity": units[1:] @ units[0]}
            tables.append(pd.DataFrame(columns))
        x, y = (set(table["index"]) for table in tables)
        both = pd.concat(tables, ignore_index=True)
        return Answer(both.assign(shared=both["index"].isin(x & y)))


@dataclass(frozen=True)
class SharedNeighbors(StudyQuestion):
    """On which stimuli do two models share neighbors?"""

    command = "stimuli shared"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "index": "place of the stimulus in its dataset",
        "shared": "neighbors that both layers share",
        "k": "neighbors of each",
    }

    pair: LayerPair = part(LayerPair)
    k: int = neighbors_option(NEIGHBORS)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn",)

    def complete(self, study: Study) -> Self:
        check_k(self.k, study.size)
        return replace(self, pair=complete_pair(self.pair, self.scope, study, k=self.k))

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Count the neighbors that two layers share: a row per stimulus, index, shared, k.

        The mean of shared over k is their alignment by mutual k-nearest neighbors.
        """
        x, y = (
            study.neighbors(model, k=self.k)[layer, :, : self.k]
            for model, layer in self.pair.places
        )
        shared = count_shared(x, y)
        return Answer(
            pd.DataFrame({"index": studied_indices(study), "shared": shared, "k": self.k})
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


def _neighbor_rows(
    space: str, near: Int[np.ndarray, "n k"], indices: Int[np.ndarray, " n"]
) -> pd.DataFrame:
    names = [f"rank_{rank + 1}" for rank in range(near.shape[1])]
    table = pd.DataFrame(np.where(near < 0, -1, indices[near]), columns=names)
    table.insert(0, "space", space)
    table.insert(1, "index", indices)
    return table


def principal_plane(
    space: Float[np.ndarray, "n d"],
) -> tuple[Float64[np.ndarray, "n 2"], Float64[np.ndarray, "2"]]:
    """Return the scores of the stimuli on the first two principal components, and the share of the
    variance of each, 0 … 1.

    Raises MetricError for fewer than three stimuli, fewer than two dimensions and a space whose
    rows are all equal; FeatureError for NaN or infinity.
    """
    from sklearn.decomposition import PCA

    _check(space)
    fitted = PCA(2, svd_solver="full")
    scores = fitted.fit_transform(space.astype(np.float64))
    return scores, fitted.explained_variance_ratio_


def neighbor_plane(space: Float[np.ndarray, "n d"], *, seed: int = 0) -> Float64[np.ndarray, "n 2"]:
    """Lay stimuli out by UMAP, Euclidean: who is near in the space is near on the plane; far
    distances and axes mean nothing.

    Each stimulus is tied to its 15 nearest, or to all where there are fewer. Starts from the
    principal plane, which keeps the coarse order; with one seed and one version of the library the
    layout is the same. Raises as `principal_plane`. Source: McInnes, Healy, Melville 2018; start:
    Kobak, Linderman 2021.
    """
    _check(space)
    with DRAWING:
        reducer = load_umap().UMAP(
            n_neighbors=min(NEAR, len(space) - 1), init="pca", random_state=seed, n_jobs=1
        )
        plane: np.ndarray = reducer.fit_transform(space).astype(np.float64)
        return plane


def _check(space: Float[np.ndarray, "n d"]) -> None:
    n, d = space.shape
    if not np.isfinite(space).all():
        raise FeatureError(
            "a space that is drawn holds finite numbers only; this one has NaN or infinity: embed"
            " the model again"
        )
    if n < LEAST or d < 2:
        raise MetricError(
            f"a plane needs at least {LEAST} stimuli and 2 dimensions; got {n} and {d}: take a"
            " larger dataset"
        )
    if (space == space[0]).all():
        raise MetricError(
            "all stimuli are one point in this space, so there is nothing to lay out; choose"
            " another layer"
        )
