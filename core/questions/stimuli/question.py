"""Where stimuli lie in the consensus, and what is near one of them in two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64

from core.errors import FeatureError, MetricError, StimuliError
from core.figures.grammar import Axis, Bars, Dots, Fixed, Level, Palette, Plot, Scale
from core.figures.palette import CATEGORIES
from core.figures.theme import Mode
from core.machine.compiling import load_umap
from core.metrics.knn import count_shared
from core.options import MOST_STIMULI, neighbors_option, option, part, seed_option
from core.questions.alignment.question import complete_pair
from core.questions.asking import ask
from core.questions.dispersion.question import ConsensusSpace, JointQuestion, StimulusDispersion
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.spaces.preprocess import check_k, normalize_rows
from core.statistics.layouts import DRAWING
from core.statistics.nulls import draw_sample
from core.study.parts import LayerPair
from core.study.study import Study, studied_indices, studied_stimuli

NEIGHBORS = 10
LEAST = 3  # stimuli: two lie on a line
NEAR = 15  # neighbors that UMAP keeps near, its authors' default
DRAWN = 5000  # dots that a browser moves smoothly and UMAP lays out in seconds
MOST_VALUES = len(CATEGORIES)  # of a factor that have a hue each
OTHER, NONE = "other", "none"
DISAGREEMENT = "disagreement of models"  # what colors the map at first

Plane = Literal["pca", "umap"]


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

    def answer(self, study: Study) -> Answer:
        """Return a row per stimulus: index, stimulus, and a column per caption level."""
        table = studied_stimuli(study)
        captions = study.store.captions(study.dataset.name)
        texts = captions.pivot(index="index", columns="level", values="text")
        named = texts[list(study.dataset.levels)].add_prefix("caption ")
        return Answer(table.join(named, on="index"))


@dataclass(frozen=True)
class StimulusMap(JointQuestion):
    """Where do stimuli lie in the consensus of models?"""

    command = "stimuli map"
    version = 4
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
        label="Layout",
        help="how the consensus is laid out: UMAP keeps neighbors, PCA large distances",
    )
    drawn: int = option(
        DRAWN,
        least=3,
        most=MOST_STIMULI,
        label="Sample",
        help="stimuli on the map; of more, a random sample",
    )
    seed: int = seed_option("seed of UMAP and of the sample")

    def is_kept(self) -> bool:
        return self.map == "umap"

    def answer(self, study: Study) -> Answer:
        """Lay out the stimuli, or a sample of more than `self.drawn`.

        share_x, share_y: of the variance of all stimuli; NaN of UMAP, whose axes are no components.
        """
        table = ask(StimulusDispersion(self.scope, self.joint), study)
        joint = ask(ConsensusSpace(self.scope, self.joint), study).filter(like="axis_")
        rows = draw_sample(len(table), self.drawn, seed=self.seed)
        space, shares = joint.to_numpy(np.float64), np.full(2, np.nan)
        if self.map == "pca":
            plane, shares = principal_plane(space)
            plane = plane[rows]
        else:
            plane = neighbor_plane(space[rows], seed=self.seed)
        places = {"x": plane[:, 0], "y": plane[:, 1], "share_x": shares[0], "share_y": shares[1]}
        return Answer(table.iloc[rows].reset_index(drop=True).assign(**places))

    def plot(self, table: pd.DataFrame) -> Plot:
        return self.plot_by(table.assign(value=table["mean"]), DISAGREEMENT, mode="light")

    def plot_by(self, points: pd.DataFrame, name: str, *, mode: Mode) -> Plot:
        """Return a dot per stimulus, to be brushed; its index is what a click returns.

        points: the answer's columns and value, a number or the text of a factor's; if they have
        passed, which a search leaves in, the others are gray and cannot be selected. name: of the
        value.
        """
        points = points.assign(passed=points.get("passed", True), name=name)
        shown = points[points["passed"]]
        known = shown[shown["value"].notna()]
        dots = Dots(
            "x",
            "y",
            table=known,
            color=Scale("value", name, ticks=_ends(known["value"]) if name == DISAGREEMENT else {}),
            size=8,
            opacity=0.9,
            card=("<b>#{index}</b>", "{name} {value:.3g}"),
            select=("index",),
        )
        if not pd.api.types.is_numeric_dtype(points["value"]):
            known = known.assign(value=group_rare(known["value"]))
            values = sorted(set(known["value"]) - {OTHER}, key=lambda one: (len(one), one))
            colors = dict(zip(values, CATEGORIES, strict=False)) | {OTHER: "soft"}
            card = ("<b>#{index}</b>", "{name} {value}")
            dots = replace(dots, table=known, color=Palette("value", colors), card=card)
        gray = replace(dots, color=Fixed("chance"), card=("<b>#{index}</b>",))
        unknown = replace(gray, table=shown[shown["value"].isna()], name=NONE)
        left_out = replace(gray, table=points[~points["passed"]], opacity=0.3, card=(), select=())
        first, second = (f"{points[f'share_{axis}'].iloc[0]:.0%} of the variance" for axis in "xy")
        axes = {
            "pca": (Axis(f"component 1: {first}"), Axis(f"component 2: {second}", equal=True)),
            "umap": (Axis("UMAP 1", bare=True), Axis("UMAP 2", bare=True)),
        }
        x, y = axes[self.map]
        marks = (left_out, dots, unknown)
        return Plot("Map of the consensus", marks=marks, x=x, y=y, height=480).over(points)


def _ends(values: pd.Series) -> dict[float, str]:
    """Return the ticks of a color bar of disagreement: what its ends mean, next to them."""
    if values.nunique() < 2:
        return {}
    low, high = np.quantile([values.min(), values.max()], (0.04, 0.96))
    return {float(low): "agree", float(high): "disagree"}


def group_rare(values: pd.Series) -> pd.Series:
    """Return a factor's values as text; those that are too rare for a hue of their own as one."""
    texts = values.astype(str)
    counts = texts.value_counts()
    if len(counts) <= MOST_VALUES:
        return texts
    return texts.where(texts.isin(counts.index[: MOST_VALUES - 1]), OTHER)


@dataclass(frozen=True)
class StimulusNeighbors(StudyQuestion):
    """Which stimuli are near each other in two models?"""

    command = "stimuli neighbors"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "model": "model",
        "layer": "its layer",
        "rank": "from 1, the most similar",
        "index": "place of the stimulus, or of the neighbor, in its dataset",
        "similarity": "cosine of the angle, from −1 to 1",
        "shared": "neighbors that both layers share; of one stimulus whether this is one",
        "k": "neighbors of each",
    }

    pair: LayerPair = part(LayerPair)
    stimulus: int | None = option(
        None,
        least=0,
        most=MOST_STIMULI,
        help="index of a stimulus whose neighbors are listed; without one, how many neighbors the"
        " two layers share on each",
    )
    k: int = neighbors_option(NEIGHBORS)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn",)

    def complete(self, study: Study) -> StimulusNeighbors:
        check_k(self.k, study.size)
        return replace(self, pair=complete_pair(self.pair, self.scope, study, k=self.k))

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        """Count the neighbors that two layers share: a row per stimulus, index, shared, k; the mean
        of shared over k is their alignment by mutual k-nearest neighbors.

        Of one stimulus its k nearest in each of the layers, most similar first: a row each of
        model, layer, rank (from 1), index, similarity (cosine of the angle, −1 … 1) and shared. A
        layer without neighbors has no rows. Raises StimuliError for a stimulus that is not studied.
        """
        indices = studied_indices(study)
        near = [
            study.neighbors(model, k=self.k)[layer, :, : self.k]
            for model, layer in self.pair.places
        ]
        if self.stimulus is None:
            shared = count_shared(*near)
            table = pd.DataFrame({"index": indices, "shared": shared, "k": self.k})
            claim = "The two layers share neighbors (mutual k-NN)"
            share = float(shared.mean()) / self.k
            over = study.dataset.items
            return Answer(table, [Finding(claim, share, unit="%", n=len(table), over=over)])
        if self.stimulus not in indices:
            raise StimuliError(
                f"expected the index of a stimulus that is studied; got {self.stimulus}: see"
                " platoscope stimuli list"
            )
        own, tables = int(np.flatnonzero(indices == self.stimulus)[0]), []
        for (model, layer), lists in zip(self.pair.places, near, strict=True):
            found = lists[own][lists[own] >= 0]
            vectors = study.spaces(model)[layer][[own, *found]].astype(np.float64)
            units = normalize_rows(vectors) if len(found) else vectors
            about = {"model": model, "layer": layer, "rank": np.arange(1, len(found) + 1)}
            columns = {**about, "index": indices[found], "similarity": units[1:] @ units[0]}
            tables.append(pd.DataFrame(columns))
        x, y = (set(table["index"]) for table in tables)
        both = pd.concat(tables, ignore_index=True)
        return Answer(both.assign(shared=both["index"].isin(x & y)))

    def plot(self, table: pd.DataFrame) -> Plot:
        return self.plot_shared(table)

    def plot_shared(self, table: pd.DataFrame, chosen: int | None = None) -> Plot:
        """Return over how many stimuli the layers share so many neighbors; chosen: one whose bar
        is highlighted.
        """
        counts = np.bincount(table["shared"], minlength=self.k + 1)
        own = -1 if chosen is None else int(table.loc[table["index"] == chosen, "shared"].iloc[0])
        shared = np.arange(self.k + 1)
        look = np.where(shared == own, "this one is here", "stimuli")
        mean = float(table["shared"].mean())
        names = {"this one is here": f"#{chosen}", "stimuli": "all others"}
        return Plot(
            "Shared neighbors",
            marks=(
                Bars(
                    "shared",
                    "count",
                    color=Palette("look", {"this one is here": "ember", "stimuli": "soft"}, names),
                    card=(f"{{shared}} of {self.k} shared", "n = {count:,}"),
                ),
            ),
            x=Axis(f"shared neighbors of k = {self.k}", range=(-0.6, self.k + 0.6), whole=True),
            y=Axis("count"),
            levels=(
                Level(self.k**2 / (len(table) - 1), along="x"),
                Level(mean, "control", f"mean: alignment {mean / self.k:.3f}", along="x"),
            ),
            legend=True,
            height=240,
        ).over(pd.DataFrame({"shared": shared, "count": counts, "look": look}))


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
    """Lay out stimuli by UMAP, from the principal plane; distances between far points mean nothing.

    Raises as `principal_plane`. Source: McInnes, Healy, Melville 2018; Kobak, Linderman 2021.
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
