"""A dataset's models as a study: reads their spaces from a store, keeps neighbors there, and
answers what pages and commands ask.

This is the only place that joins the store to the analyses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float32, Float64, Int32, Int64

from core.competence.records import COLUMNS, SKILL, measured_rows
from core.encoders.encoder import REALITY
from core.errors import (
    FeatureError,
    MetricError,
    StimuliError,
    StoreBusyError,
    StoreError,
    StoreWriteError,
    UnknownNameError,
)
from core.metrics import METRICS
from core.metrics.engines import make_engine
from core.metrics.spec import PairChance
from core.modalities import Item
from core.pairs.engine import Engine
from core.pairs.lists import NeighborLists
from core.pairs.parts import EachPair, Predictions
from core.questions.competence.tasks_solved import THRESHOLD, tasks_solved
from core.questions.overview.trends import closeness, solving, trends
from core.recipe import Recipe
from core.spaces.inputs import check_k
from core.spaces.neighbors import RULE, nearest
from core.spaces.preprocess import check_q, clamp_outliers, normalize_rows
from core.store import ModelEntry, Store, write_result
from core.study.aligning import align, align_all_layers
from core.study.layers import LayerChoice, concatenate, read_choice
from core.study.models import codes_text, describe, is_reality, reads
from core.study.selections import decode

# neighbors of each stimulus that are kept in the store; more are found when they are asked for
KEPT = 100
MOST_HELD = 4096  # pairs of models whose scores are held
Q = 0.95


class Compared(NamedTuple):
    """The scores of two models' layers, and why the first two sound layers without one are refused,
    "" where none are.
    """

    scores: Float64[np.ndarray, "Lx Ly"]
    refusal: str


class Study:
    """A dataset's models under one preprocessing: values clamped at the model's q quantile, then
    rows of length 1.

    q: in (0, 1]; None or 1 clamps nothing. where: only the stimuli whose factor has a value, as
    text, for each factor named. stimuli: only those of a set, as `core.study.selections.encode`
    writes it; "" for all. The study is then as if the dataset held no others. Safe to share between
    threads. A model that is embedded again is read again. Raises UnknownNameError for the dataset,
    a factor or a value, MetricError for q, StimuliError for a text that is no set of these stimuli
    and where none is left.
    """

    def __init__(
        self,
        store: Store,
        dataset: str,
        q: float | None = Q,
        *,
        where: Mapping[str, str] | None = None,
        stimuli: str = "",
        device: str = "cpu",
    ) -> None:
        check_q(q)
        self.store = store
        self.dataset = store.dataset(dataset)
        self.q = q
        self.where = dict(where or {})
        self.stimuli = stimuli
        self.device = device
        self.rows = (
            choose_stimuli(store.stimuli(dataset), self.where, stimuli)
            if self.where or stimuli
            else None
        )
        self.size = self.dataset.size if self.rows is None else len(self.rows)
        self._held: dict[tuple[str, bool], tuple[str, Int32[np.ndarray, "L n kept"]]] = {}
        self._compared: dict[tuple[str, str, str], Compared] = {}
        self._refused: dict[tuple[str, str], str] = {}
        self._chance_traits: dict[tuple[str, PairChance, bool], list[float]] = {}

    def readers(self, item: Item) -> list[str]:
        """Return the names of the embedded models that read images, or captions, in the store's
        order.
        """
        models = self.models()
        return list(models.loc[reads(models, item), "model"])

    def recipe(self, kind: str, models: Sequence[str], **choices: Any) -> Recipe:
        """Return all that an answer about `models` depends on: the embeddings' digests, the
        preprocessing and `choices`.
        """
        digests = {name: self.entry(name).digest for name in models}
        return Recipe.of(
            kind,
            dataset=self.dataset.name,
            revision=self.dataset.revision,
            models=digests,
            preprocessing=["clamp", "normalize"],  # in this order
            q=self.q,
            neighbor_rule=RULE,
            **({"where": self.where} if self.where else {}),
            **({"stimuli": self.stimuli} if self.stimuli else {}),
            **choices,
        )

    def spaces(self, model: str, *, concatenated: bool = False) -> list[Float32[np.ndarray, "n _"]]:
        """Read a model's layers with their outliers clamped; they are not normalized yet, since a
        vector of zeros cannot be.

        concatenated: one more space after the last layer, all of them side by side; see
        `core.study.layers.concatenate`.
        """
        entry = self.entry(model)
        layers = [
            self.store.space(self.dataset.name, model, layer) for layer in range(len(entry.dims))
        ]
        if self.rows is not None:
            layers = [layer[self.rows] for layer in layers]
        clamped = clamp_outliers(layers, q=self.q)
        return [*clamped, concatenate(clamped)] if concatenated else clamped

    def neighbors(
        self, model: str, *, k: int = KEPT, concatenated: bool = False
    ) -> Int32[np.ndarray, "L n kept"]:
        """Return at least the k nearest stimuli of each stimulus in each layer, fewer only where n
        − 1 is less.

        A layer that has no neighbors, since it is constant or has a vector of zeros, holds -1.
        concatenated: as for `spaces`. Up to KEPT are held; more are found each time, since all
        neighbors of all models would fill the memory. Raises UnknownNameError for the model,
        MetricError where no layer has neighbors.
        """
        entry, depth = self.entry(model), min(max(k, KEPT), self.size - 1)
        digest, held = self._held.get((model, concatenated), ("", None))
        if held is not None and digest == entry.digest and held.shape[2] >= depth:
            return held
        if concatenated:
            joined, _ = _search(self.spaces(model, concatenated=True)[-1:], depth)
            found = np.concatenate([self.neighbors(model, k=k), joined])
        else:
            found = self._kept(entry) if depth <= KEPT else self._found(entry, depth)
        found.flags.writeable = False
        if depth <= KEPT:
            self._held[model, concatenated] = (entry.digest, found)
        return found

    def align(
        self,
        x: Sequence[str],
        y: Sequence[str],
        *,
        metric: str = "mutual_knn",
        layers: str = "best",
        **parameters: Any,
    ) -> pd.DataFrame:
        """Align every model of x with every model of y.

        layers: `all` for a row per pair of layers, else as `core.study.layers.read_choice` reads
        it. Returns model_x, model_y, layer_x, layer_y (counted from 0; the concatenated layers come
        after the last), score, chance (of one pair of layers; NaN where no formula tells), n, the
        metric's parameters and reason: why a score is NaN, else empty. Where the best is sought and
        no pair of layers has a score, the layers are -1. Raises UnknownNameError for the metric or
        a model, MetricError where no model of a side can be compared, and for the rest.
        """
        choice = LayerChoice() if layers == "all" else read_choice(layers)
        compared = self._compare(
            x, y, metric=metric, concatenated=choice.concatenated, **parameters
        )
        scores = {pair: found.scores for pair, found in compared.items()}
        table = (
            align_all_layers(scores)
            if layers == "all"
            else align(scores, choice=choice, spec=METRICS[metric].spec)
        )
        complete, n = METRICS[metric].complete(parameters), self.size
        formula = METRICS[metric].pair_chance
        chance = (
            METRICS[metric].chance_level(n, parameters)
            if formula is None
            else self._pair_chances(table, formula, choice)
        )
        reasons = self._reasons(table, compared, self.engine(metric, **parameters), choice)
        return table.assign(chance=chance, n=n, **complete, reason=reasons)

    def layer_scores(
        self,
        x: Sequence[str],
        y: Sequence[str],
        *,
        metric: str = "mutual_knn",
        concatenated: bool = False,
        **parameters: Any,
    ) -> dict[tuple[str, str], Float64[np.ndarray, "_ _"]]:
        """Compare every layer of each model of x (rows) with every layer of each model of y
        (columns), by pair of models.

        NaN where a layer has no score. concatenated: as for `spaces`. What was compared once is
        held. Raises as `align`.
        """
        compared = self._compare(x, y, metric=metric, concatenated=concatenated, **parameters)
        return {pair: found.scores for pair, found in compared.items()}

    def _compare(
        self,
        x: Sequence[str],
        y: Sequence[str],
        *,
        metric: str,
        concatenated: bool,
        **parameters: Any,
    ) -> dict[tuple[str, str], Compared]:
        engine = self.engine(metric, **parameters)
        digests = {name: self.entry(name).digest for name in dict.fromkeys((*x, *y))}
        recipe = Recipe.of(
            "scores",
            metric=metric,
            concatenated=concatenated,
            **METRICS[metric].complete(parameters),
        ).digest
        keys = {(a, b): (recipe, digests[a], digests[b]) for a in x for b in y}
        found = {pair: self._compared[key] for pair, key in keys.items() if key in self._compared}
        missing = [pair for pair in keys if pair not in found]
        ready, refused = self.prepare_each(
            engine, [name for pair in missing for name in pair], concatenated=concatenated
        )
        self._refused |= {(recipe, digests[name]): reason for name, reason in refused.items()}
        whys = {name: self._refused.get((recipe, digest), "") for name, digest in digests.items()}
        for side in (x, y):
            if side and all(whys[name] for name in side):
                raise MetricError(whys[side[0]])
        for a, b in missing:
            refusal = whys[a] or whys[b]
            shape = [len(self.entry(name).dims) + concatenated for name in (a, b)]
            found[a, b] = (
                Compared(np.full(shape, np.nan), refusal)
                if refusal
                else _compare_layers(engine, ready[a], ready[b])
            )
            self._compared[keys[a, b]] = found[a, b]
        for oldest in list(self._compared)[:-MOST_HELD]:
            self._compared.pop(oldest, None)
        return {pair: found[pair] for pair in keys}

    def engine(self, metric: str, **parameters: Any) -> Engine:
        """Return the engine of a metric; raises UnknownNameError for the metric, MetricError for
        its parameters.
        """
        engine = make_engine(metric, **parameters)
        complete = METRICS[metric].complete(parameters)
        if "k" in complete:
            check_k(complete["k"], self.size)
        return engine

    def prepare_each(
        self, engine: Engine, models: Sequence[str], *, concatenated: bool = False
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Make models ready to be compared; neighbor metrics take the neighbors that are kept.
        concatenated: as for `spaces`.

        Returns what `engine.prepare` does of each model, and the reasons why the others are
        refused.
        """
        ready, refused = {}, {}
        for name in dict.fromkeys(models):
            try:
                if isinstance(engine, NeighborLists):
                    ready[name] = self.neighbors(name, k=engine.k, concatenated=concatenated)
                else:
                    ready[name] = engine.prepare(self.spaces(name, concatenated=concatenated))
            except MetricError as error:
                refused[name] = str(error)
        return ready, refused

    def _reasons(
        self,
        table: pd.DataFrame,
        compared: Mapping[tuple[str, str], Compared],
        engine: Engine,
        choice: LayerChoice,
    ) -> list[str]:
        """Return why each score of a table is NaN: a layer is refused, or both together; empty
        where it is not.
        """
        spaces = lru_cache(maxsize=2)(
            lambda model: self.spaces(model, concatenated=choice.concatenated)
        )
        why = cache(
            lambda model, layer: _refusal(engine, spaces(model)[layer], f"layer {layer} of {model}")
        )
        reasons = []
        for row in table.to_dict("records"):
            x, y = row["model_x"], row["model_y"]
            scores, refusal = compared[x, y]
            if np.isnan(scores).all():
                reasons.append(refusal)
            else:
                reasons.append(
                    (why(x, row["layer_x"]) or why(y, row["layer_y"]) or refusal)
                    if np.isnan(row["score"])
                    else ""
                )
        return reasons

    def _pair_chances(
        self, table: pd.DataFrame, formula: PairChance, choice: LayerChoice
    ) -> list[float]:
        """Return the chance of the layers of each row that has a score."""
        chances = []
        for row in table.to_dict("records"):
            if np.isnan(row["score"]):
                chances.append(np.nan)
            else:
                x, y = (
                    self._traits(row[f"model_{side}"], formula, choice)[row[f"layer_{side}"]]
                    for side in ("x", "y")
                )
                chances.append(formula.level(x, y, n=self.size))
        return chances

    def _traits(self, model: str, formula: PairChance, choice: LayerChoice) -> list[float]:
        key = self.entry(model).digest, formula, choice.concatenated
        if key not in self._chance_traits:
            spaces = self.spaces(model, concatenated=choice.concatenated)
            self._chance_traits[key] = [_trait(space, formula) for space in spaces]
        return self._chance_traits[key]

    def competence(self) -> pd.DataFrame:
        """Return how well each language model codes the captions: 1 − mean over captions of bits /
        bytes.

        Columns model, value, unit, reason: why a value is NaN, or how many captions it leaves out.
        Higher is better; at most 1. Only the captions of the stimuli studied count. Source:
        released code of Huh et al. 2024 (mean of ratios, over the captions that are embedded).
        """
        models = self.models()
        names = models.loc[codes_text(models), "model"]
        rows = [(name, *self._competence_of(name)) for name in names]
        return pd.DataFrame(rows, columns=["model", "value", "reason"]).assign(unit=SKILL)[
            ["model", "value", "unit", "reason"]
        ]

    def competence_rows(self) -> pd.DataFrame:
        """Return every value that was measured of these models by the present tasks, with
        `core.competence.records.COLUMNS`.
        """
        found = [
            measured_rows(self.store, self.dataset.name, entry)
            for entry in self.store.models(self.dataset.name)
        ]
        tables = [table for table in found if table is not None]
        return (
            pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))
        )

    def models(self) -> pd.DataFrame:
        """Return a row per embedded model; see `core.study.models.describe`."""
        return describe([entry.card for entry in self.store.models(self.dataset.name)])

    def tasks_solved(self, *, threshold: float = THRESHOLD) -> pd.DataFrame:
        """Return the share of the vision tasks that each model solves, of those that were measured;
        see `tasks_solved`.
        """
        rows = self.competence_rows()
        vision = self.readers("image")
        return tasks_solved(rows[rows["model"].isin(vision)], threshold=threshold)

    def findings(self, *, k: int = 10) -> pd.DataFrame:
        """Return the study's answer to the hypothesis, a row per figure; see
        `core.questions.overview.trends`.

        Models without neighbors are left out. Raises MetricError for k.
        """
        check_k(k, self.size)
        models = self.models()
        models = models.loc[[self._has_neighbors(name) for name in models["model"]]]
        language = list(models.loc[reads(models, "caption"), "model"])
        vision = list(models.loc[reads(models, "image"), "model"])
        known = [name for name in models.loc[is_reality(models), "model"] if name == REALITY]
        crossed = self.align(language, [*vision, *known], k=k)
        near = self.align(language + vision, known, k=k)
        found = (
            trends(crossed, self.competence(), models),
            solving(near, self.tasks_solved(), models),
            closeness(near, models),
        )
        return pd.concat([part for part in found if len(part)] or found[:1], ignore_index=True)

    def _has_neighbors(self, name: str) -> bool:
        try:
            self.neighbors(name)
        except MetricError:
            return False
        return True

    def _competence_of(self, model: str) -> tuple[float, str]:
        costs = self.store.text_costs(self.dataset.name, model)
        if costs is None:
            return np.nan, "this model does not predict text, so it has no bits per byte"
        if self.rows is not None:
            costs = costs.set_index("index").loc[self.rows]
        ratios = (costs["bits"] / costs["bytes"]).dropna()
        left_out = len(costs) - len(ratios)
        if ratios.empty:
            return np.nan, "no caption is longer than one token, so none has bits per byte"
        return (
            1 - ratios.mean(),
            (
                f"{left_out} of {len(costs)} captions have one token and are left out"
                if left_out
                else ""
            ),
        )

    def entry(self, model: str) -> ModelEntry:
        """Return a model's entry in the store; raises UnknownNameError."""
        return self.store.model(self.dataset.name, model)

    def _kept(self, entry: ModelEntry) -> Int32[np.ndarray, "L n kept"]:
        """Read a model's neighbors from the store, or find them and keep them there."""
        name, depth = f"neighbors-{entry.card.name}", min(KEPT, self.size - 1)
        recipe = self.recipe("neighbors", [entry.card.name], k=depth)
        stored = self.store.result(self.dataset.name, name) if self.rows is None else None
        if stored and stored[1] == recipe:
            return (
                stored[0]
                .drop(columns=["layer", "index"])
                .to_numpy(np.int32)
                .reshape(len(entry.dims), -1, depth)
            )
        found = self._found(entry, depth)
        if (
            self.q == Q and self.rows is None
        ):  # one file per model: other choices would push the default's out
            # kept only to save seconds later: a store that cannot be written now still gives every
            # answer
            with suppress(StoreWriteError, StoreBusyError):
                write_result(
                    self.store.root,
                    dataset=self.dataset,
                    name=name,
                    table=_as_table(found),
                    recipe=recipe,
                )
        return found

    def _found(self, entry: ModelEntry, depth: int) -> Int32[np.ndarray, "L n kept"]:
        found, refused = _search(self.spaces(entry.card.name), depth)
        if (
            self.entry(entry.card.name).digest != entry.digest
        ):  # then these may be layers of two embeddings
            raise StoreError(
                f"model {entry.card.name} was embedded again while it was read; ask once more"
            )
        if len(refused) == len(found):
            raise MetricError(f"model {entry.card.name} has no layer with neighbors: {refused[0]}")
        return found


def choose_stimuli(
    stimuli: pd.DataFrame, where: Mapping[str, str], code: str = ""
) -> Int64[np.ndarray, " chosen"]:
    """Return the indices of the stimuli whose factors have these values, as text, and that are in
    the set `code`, "" for all.

    Raises UnknownNameError for a factor or a value that no stimulus has, StimuliError where none
    has all of them and for a code that is no set of these stimuli.
    """
    kept = np.ones(len(stimuli), dtype=bool)
    if code:
        kept &= np.isin(np.arange(len(stimuli)), decode(code, len(stimuli)))
    for factor, value in where.items():
        if factor not in stimuli:
            raise UnknownNameError("factor", factor, stimuli.columns)
        known = stimuli[factor].dropna().astype(str)
        if value not in set(known):
            raise UnknownNameError(f"value of {factor}", value, known.unique())
        kept &= stimuli.index.isin(known.index[known == value])
    if not kept.any():
        asked = " and ".join(f"{factor} = {value}" for factor, value in where.items())
        raise StimuliError(f"no stimulus {'of this set ' if code else ''}has {asked}; ask for less")
    return np.flatnonzero(kept)


def _search(
    layers: Sequence[Float32[np.ndarray, "n _"]], depth: int
) -> tuple[Int32[np.ndarray, "L n depth"], list[FeatureError | MetricError]]:
    """Find the neighbors in each layer; -1 in those that are refused, and why."""
    found = np.full((len(layers), len(layers[0]), depth), -1, dtype=np.int32)
    refused: list[FeatureError | MetricError] = []
    for layer, space in enumerate(layers):
        try:
            found[layer] = nearest(normalize_rows(space), k=depth)
        except (FeatureError, MetricError) as error:
            refused.append(error)
    return found, refused


def _compare_layers(engine: Engine, x: Any, y: Any) -> Compared:
    scores = engine.scores(x, y)
    if isinstance(engine, (EachPair, Predictions)):  # the others refuse single layers alone
        return Compared(scores, engine.refusal(x, y, scores))
    return Compared(scores, "")


def _refusal(engine: Engine, space: Float32[np.ndarray, "n _"], name: str) -> str:
    """Return why an engine refuses a layer; empty where it does not."""
    try:
        engine.prepare([space])
    except MetricError as error:
        return f"{name}: {error}"
    return ""


def _trait(space: Float32[np.ndarray, "n _"], formula: PairChance) -> float:
    try:
        return formula.trait(normalize_rows(space))
    except (FeatureError, MetricError):
        return np.nan


def _as_table(neighbors: Int32[np.ndarray, "L n kept"]) -> pd.DataFrame:
    """Return a row per layer and stimulus: layer, index, then its neighbors in order of rank."""
    layers, n, kept = neighbors.shape
    ranks = pd.DataFrame(
        neighbors.reshape(layers * n, kept), columns=[f"rank_{rank + 1}" for rank in range(kept)]
    )
    ranks.insert(0, "layer", np.repeat(np.arange(layers, dtype=np.int32), n))
    ranks.insert(1, "index", np.tile(np.arange(n, dtype=np.int32), layers))
    return ranks
