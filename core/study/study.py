"""A dataset's models as a study: reads spaces from a store and keeps neighbors there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int32, Int64

from core.competence.records import SKILL
from core.competence.scores import imported_rows, place_rows
from core.encoders.encoder import REALITY
from core.errors import (
    FeatureError,
    MetricError,
    StimuliError,
    StoreBusyError,
    StoreWriteError,
    UnknownNameError,
)
from core.modalities import Item
from core.pairs.prepared import Lists, Prepared
from core.progress import tell
from core.recipe import Recipe
from core.settings import find_cuda
from core.spaces.choices import EXACT, Clamping
from core.spaces.neighbors import MANY, check_ties, nearest, nearest_by, sides_of
from core.spaces.neighbors import VERSION as NEIGHBORS
from core.spaces.preprocess import SMALLEST, check_q, check_space, clamp_outliers, normalize_rows
from core.store import ModelEntry, Store, View, write_result
from core.study.layers import HeldScores, concatenate
from core.study.models import (
    codes_text,
    describe,
    is_measured,
    is_reality,
    reads,
    usual,
    without_variants,
)
from core.study.scores import mean_scores, most_telling
from core.study.selections import decode, encode


def search(
    layers: Sequence[Float32[np.ndarray, "n _"]], depth: int, *, model: str, device: str = "cpu"
) -> Prepared[Lists]:
    """Find the neighbors in each layer, -1 if a layer is refused; those of many stimuli on a GPU if
    the device is one.
    """
    n = len(layers[0])
    find: Callable[..., Int32[np.ndarray, "n k"]] = nearest
    # few are found sooner than torch is imported
    if n >= MANY and (place := find_cuda(device)):
        from core.pairs.on_torch import nearest_on

        find = partial(nearest_on, place)

    def nearest_in(layer: int) -> Int32[np.ndarray, "n k"]:
        def report(done: int) -> None:
            what = f"neighbors of all stimuli in all layers of {model}"
            tell(layer * n + done, len(layers) * n, what)

        space = normalize_rows(layers[layer])
        return find(space, k=depth, report=report if n >= MANY else None)

    return _each(nearest_in, len(layers), (n, depth))


def _each(
    nearest_in: Callable[[int], Int32[np.ndarray, "n k"]], layers: int, shape: tuple[int, int]
) -> Prepared[Lists]:
    lists = np.full((layers, *shape), -1, dtype=np.int32)
    refusals = [""] * layers
    for layer in range(layers):
        try:
            lists[layer] = nearest_in(layer)
        except (FeatureError, MetricError) as error:
            refusals[layer] = str(error)
    return Prepared(lists, tuple(refusals))


Where = Mapping[str, str | tuple[str, ...]]  # by factor, one value or several
# neighbors of each stimulus that are kept in the store, and those that are held in memory if more
# are asked for
KEPT, HELD = 16, 100
USUAL = Clamping()
DENSE = "import its first principal components, 50 say, in its place"
NO_SCORE = "no accuracy, percentage or competence of it is known; set alignment against one score"
NO_VECTORS = (
    "dissimilarities alone are known of it, no vectors: compare it by rsa, or by neighbors, such as"
    " mutual_knn"
)


class Study:
    """A dataset's models under one preprocessing: values clamped, then rows of length 1.

    where: only stimuli with these values, as text, by factor. stimuli: only those of a set, as
    `core.study.selections.encode` writes it; "" for all. device: where models are compared. only:
    the models that count if a question names none. The study shows the store as it was when it was
    opened and notes what is read (`core.store.view`). Safe to share between threads. Raise
    UnknownNameError for the dataset, a factor or a value, MetricError for q, StimuliError for a
    wrong set and if no stimulus is left.
    """

    def __init__(
        self,
        store: Store,
        dataset: str,
        clamping: Clamping = USUAL,
        *,
        where: Where | None = None,
        stimuli: str = "",
        device: str = "cpu",
        only: Collection[str] | None = None,
    ) -> None:
        check_q(clamping.q)
        view = store if isinstance(store, View) else View(store.root)
        self.store = view if only is None else view.keeping(only)
        self.dataset = self.store.dataset(dataset)
        self.clamping = clamping
        self.where = dict(where or {})
        self.stimuli = stimuli
        self.device = device
        self.rows = (
            choose_stimuli(self.store.stimuli(dataset), self.where, stimuli)
            if self.where or stimuli
            else None
        )
        self.size = self.dataset.size if self.rows is None else len(self.rows)
        self.held_scores = HeldScores()
        self._held: dict[tuple[str, bool], tuple[str, Prepared[Lists]]] = {}
        self._skills: dict[str, tuple[float, str]] = {}  # by the embedding's digest
        self._described: list[tuple[pd.DataFrame, dict[str, str]]] = []
        self.store.freeze(dataset)

    def under(self, clamping: Clamping, *, stimuli: str) -> Study:
        return Study(
            self.store,
            self.dataset.name,
            clamping,
            where=self.where,
            stimuli=stimuli,
            device=self.device,
        )

    def noting(self) -> Study:
        """Return this study with a view that has read nothing yet."""
        study = copy.copy(self)
        study.store = self.store.noting()
        return study

    def readers(self, item: Item) -> list[str]:
        models = self.models()
        return list(models.loc[reads(models, item), "model"])

    def recipe(self, kind: str, models: Sequence[str], **choices: Any) -> Recipe:
        """Return the recipe of an answer about `models`."""
        digests = {name: self.entry(name).digest for name in models}
        return Recipe.of(
            kind,
            dataset=self.dataset.name,
            revision=self.dataset.revision,
            models=digests,
            preprocessing=["clamp", "normalize"],  # in this order
            q=self.clamping.q,
            neighbors=NEIGHBORS,
            **({"clamp": self.clamping.clamp} if self.clamping.clamp != EXACT else {}),
            **({"where": self.where} if self.where else {}),
            **({"stimuli": self.stimuli} if self.stimuli else {}),
            **choices,
        )

    def spaces(self, model: str, *, concatenated: bool = False) -> list[Float32[np.ndarray, "n _"]]:
        """Return a model's layers, clamped but not normalized. concatenated: with all layers side
        by side after the last. Raise MetricError for a model of dissimilarities alone.
        """
        if self.entry(model).card.geometry == "dissimilarities":
            raise MetricError(f"{model}: {NO_VECTORS}")
        layers = self._read(model, self.store.space)
        if self.rows is not None:
            layers = [layer[self.rows] for layer in layers]
        try:
            clamped = clamp_outliers(layers, **vars(self.clamping))
        except MetricError as error:
            works = "use q = 1" if not self._why_none(layers) else DENSE
            raise MetricError(f"{model}: {error}; {works}") from error
        return [*clamped, concatenate(clamped)] if concatenated else clamped

    def repeats(self, model: str) -> list[Float32[np.ndarray, "r n _"]]:
        layers = self._read(model, self.store.repeats)
        return layers if self.rows is None else [each[:, self.rows] for each in layers]

    def matrices(self, model: str) -> list[Float32[np.ndarray, "n n"]]:
        layers = self._read(model, self.store.space)
        if self.rows is None:
            return layers
        return [layer[np.ix_(self.rows, self.rows)] for layer in layers]

    def _read(self, model: str, read: Callable[[str, str, int], np.ndarray]) -> list[np.ndarray]:
        layers = range(len(self.entry(model).dims))
        return [read(self.dataset.name, model, layer) for layer in layers]

    def neighbors(
        self, model: str, *, k: int = KEPT, concatenated: bool = False
    ) -> Int32[np.ndarray, "L n kept"]:
        """Return at least the min(k, n − 1) nearest stimuli of each stimulus in each layer, -1 if a
        layer has none; up to HELD are held in memory. Raise UnknownNameError for the model,
        MetricError if no layer has neighbors.
        """
        return self.neighbor_lists(model, k=k, concatenated=concatenated).layers

    def neighbor_lists(
        self, model: str, *, k: int = KEPT, concatenated: bool = False
    ) -> Prepared[Lists]:
        """Return `neighbors` with the reason of each layer that has none."""
        entry, depth = self.entry(model), KEPT if k <= KEPT else max(k, HELD)
        depth = min(depth, self.size - 1)
        digest, held = self._held.get((model, concatenated), ("", None))
        if held is not None and digest == entry.digest and held.layers.shape[2] >= depth:
            return held
        if concatenated:
            each, last = self.neighbor_lists(model, k=k), self.spaces(model, concatenated=True)[-1:]
            joined = search(last, depth, model=model, device=self.device)
            layers = np.concatenate([each.layers, joined.layers])
            lists = Prepared(layers, (*each.refusals, *joined.refusals))
        else:
            lists = self._kept(entry) if depth <= KEPT else self._search(entry, depth)
        lists.layers.flags.writeable = False
        if depth <= HELD:
            self._held[model, concatenated] = (entry.digest, lists)
        return lists

    def competence(self) -> pd.DataFrame:
        """Return the competence of each model that reads no images: model, value (higher is
        better), unit, reason: why a value is NaN, or how many captions it leaves out. Of each
        modality, 1 − bits per byte (`coded`) or the user's scores (`mean_scores`), whichever more
        models have.
        """
        models = self.models()
        models = models[~(reads(models, "image") | is_reality(models) | is_measured(models))]
        own = place_rows(
            imported_rows(self.store, self.dataset.name), self.store.models(self.dataset.name)
        )
        coded, tables = self.coded(), list[pd.DataFrame]()
        for _, part in models.groupby("modality", sort=False):
            scored = mean_scores(own[own["embedded"] & own["model"].isin(part["model"])])
            scored = scored.rename(columns={"solved": "value", "basis": "unit"}).set_index("model")
            scored = scored.reindex(part["model"]).reset_index()
            missing = scored["unit"].isna()
            scored["reason"] = scored["reason"].mask(missing, NO_SCORE)
            scored["unit"] = scored["unit"].ffill().bfill()
            known = [coded[coded["model"].isin(part["model"])], scored]
            tables.append(most_telling(known, "value"))
        return pd.concat([coded[:0], *tables], ignore_index=True)[list(coded)]

    def coded(self) -> pd.DataFrame:
        """Return 1 − mean over captions of bits / bytes of each language model; columns as of
        `competence`. Source: released code of Huh et al. 2024 (mean of ratios).
        """
        rows, models = [], self.models()
        for name in models.loc[codes_text(models), "model"]:
            digest = self.entry(name).digest
            if digest not in self._skills:
                self._skills[digest] = self._coded(self.store.text_costs(self.dataset.name, name))
            value, reason = self._skills[digest]
            rows.append((name, value, SKILL, reason))
        return pd.DataFrame(rows, columns=["model", "value", "unit", "reason"])

    def _coded(self, costs: pd.DataFrame | None) -> tuple[float, str]:
        if costs is None:
            return np.nan, "this model does not predict text, so it has no bits per byte"
        if self.rows is not None:
            costs = costs.set_index("index").loc[self.rows]
        ratios = (costs["bits"] / costs["bytes"]).dropna()
        if ratios.empty:
            return np.nan, "no caption is longer than one token, so none has bits per byte"
        left_out = len(costs) - len(ratios)
        why = f"{left_out} of {len(costs)} captions have one token and are left out"
        return 1 - ratios.mean(), why if left_out else ""

    def models(self) -> pd.DataFrame:
        return self._read_models()[0].copy()

    def refused(self) -> dict[str, str]:
        """Return why imported models have no neighbors; no question takes them."""
        return self._read_models()[1]

    def _read_models(self) -> tuple[pd.DataFrame, dict[str, str]]:
        cards = [entry.card for entry in self.store.models(self.dataset.name)]
        if not self._described:
            refused = self._read_refused(
                [one.name for one in cards if one.spec.startswith("import:")]
            )
            self._described.append((describe(cards, refused), refused))
        return self._described[0]

    def _read_refused(self, models: Sequence[str]) -> dict[str, str]:
        """Return why models are refused, kept by digest so that their vectors are read once."""
        recipe = self.recipe("refused", ())
        name, digests = f"refused-{recipe.digest}", [self.entry(model).digest for model in models]
        stored = self.store.result(self.dataset.name, name) if models else None
        held = dict(stored[0].itertuples(index=False)) if stored and stored[1] == recipe else {}
        new = {
            digest: self._why_refused(model)
            for model, digest in zip(models, digests, strict=True)
            if digest not in held
        }
        if new:
            table = pd.DataFrame((held | new).items(), columns=["embedding", "why"])
            with suppress(StoreWriteError, StoreBusyError):
                root = self.store.root
                write_result(root, dataset=self.dataset, name=name, table=table, recipe=recipe)
        whys = {model: (held | new)[one] for model, one in zip(models, digests, strict=True)}
        return {model: f"{model}: {why}" for model, why in whys.items() if why}

    def _why_refused(self, model: str) -> str:
        if self.size < SMALLEST or self.entry(model).card.geometry == "dissimilarities":
            return ""
        try:
            return self._why_none(self.spaces(model))
        except MetricError as error:
            return str(error).removeprefix(f"{model}: ")

    def _why_none(self, layers: Sequence[Float32[np.ndarray, "n _"]]) -> str:
        why = ""
        for layer in reversed(layers):  # which are neighbors' own checks, without the search
            lengths = np.linalg.norm(layer, axis=1)
            blank = np.flatnonzero(lengths == 0)
            try:
                check_space(layer)
                if not len(blank):
                    check_ties(sides_of(normalize_rows(layer)), min(KEPT, self.size - 1))
                    return ""
            except MetricError as error:
                why = why or str(error)
            else:
                rows = studied_indices(self)
                names = self.store.stimuli(self.dataset.name)["stimulus"]
                kept = encode(np.delete(rows, blank), self.dataset.size)
                why = why or (
                    f"{len(blank)} of {self.size} vectors have only zeros, the first that of"
                    f" {names.iloc[rows[blank[0]]]}: import others for these, or study the other"
                    f" stimuli, --stimuli {kept}"
                )
        return why

    def entry(self, model: str) -> ModelEntry:
        return self.store.model(self.dataset.name, model)

    def _kept(self, entry: ModelEntry) -> Prepared[Lists]:
        name, depth = f"neighbors-{entry.card.name}", min(KEPT, self.size - 1)
        recipe = self.recipe("neighbors", [entry.card.name], k=depth)
        stored = self.store.result(self.dataset.name, name) if self.rows is None else None
        if stored and stored[1] == recipe:
            table, layers = stored[0], len(entry.dims)
            kept = table.drop(columns=["layer", "index", "refusal"]).to_numpy(np.int32)
            refusals = table["refusal"].iloc[:: len(table) // layers]
            return Prepared(kept.reshape(layers, -1, kept.shape[1]), tuple(refusals))
        lists = self._search(entry, depth)
        # one file per model: other choices would push the default's out
        if self.clamping == USUAL and self.rows is None:
            with suppress(StoreWriteError, StoreBusyError):
                layers, n, depth = lists.layers.shape
                names = [f"rank_{rank + 1}" for rank in range(depth)]
                table = pd.DataFrame(lists.layers.reshape(layers * n, depth), columns=names)
                table.insert(0, "layer", np.repeat(np.arange(layers, dtype=np.int32), n))
                table.insert(1, "index", np.tile(np.arange(n, dtype=np.int32), layers))
                table["refusal"] = np.repeat(np.array(lists.refusals, dtype=object), n)
                root = self.store.root
                write_result(root, dataset=self.dataset, name=name, table=table, recipe=recipe)
        return lists

    def _search(self, entry: ModelEntry, depth: int) -> Prepared[Lists]:
        name = entry.card.name
        if entry.card.geometry == "dissimilarities":
            layers = self.matrices(name)
            shape = self.size, depth
            lists = _each(lambda layer: nearest_by(layers[layer], k=depth), len(layers), shape)
        else:
            lists = search(self.spaces(name), depth, model=name, device=self.device)
        if all(lists.refusals):
            raise MetricError(f"model {name} has no layer with neighbors: {lists.refusals[0]}")
        return lists


def choose_stimuli(
    stimuli: pd.DataFrame, where: Where, code: str = ""
) -> Int64[np.ndarray, " chosen"]:
    """Return the indices of the stimuli that have these values of factors, as text, and are in the
    set `code`, "" for all. Raise UnknownNameError for a factor or a value, StimuliError if no
    stimulus is left and for a wrong code.
    """
    kept = np.ones(len(stimuli), dtype=bool)
    if code:
        kept &= np.isin(np.arange(len(stimuli)), decode(code, len(stimuli)))
    choices = {
        factor: (value,) if isinstance(value, str) else value for factor, value in where.items()
    }
    for factor, wanted in choices.items():
        if factor not in stimuli:
            raise UnknownNameError("factor", factor, stimuli.columns)
        values = stimuli[factor].dropna().astype(str)
        for value in wanted:
            if value not in set(values):
                raise UnknownNameError(f"value of {factor}", value, values.unique())
        kept &= stimuli.index.isin(values.index[values.isin(wanted)])
    if not kept.any():
        named = " and ".join(f"{factor} = {' or '.join(one)}" for factor, one in choices.items())
        raise StimuliError(f"no stimulus {'of this set ' if code else ''}has {named}; ask for less")
    return np.flatnonzero(kept)


def studied_indices(study: Study) -> Int64[np.ndarray, " n"]:
    return np.arange(study.size) if study.rows is None else study.rows


def studied_stimuli(study: Study) -> pd.DataFrame:
    indices = studied_indices(study)
    names = study.store.stimuli(study.dataset.name)["stimulus"].to_numpy()[indices]
    return pd.DataFrame({"index": indices, "stimulus": names})


def finished_models(study: Study, item: Item, *, unfinished: bool = False) -> list[str]:
    """Return the usual models that read images, or captions, in the store's order. unfinished: with
    checkpoints along a training and untrained models.
    """
    models = study.models()
    models = without_variants(models) if unfinished else usual(models)
    return list(models.loc[reads(models, item), "model"])


def known_worlds(study: Study) -> list[str]:
    models = study.models()
    return [name for name in models.loc[is_reality(models), "model"] if name == REALITY]
