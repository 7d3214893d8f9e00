"""The only cached queries: keyed on what the store holds (its digest), ids, parameters and numbers,
never on arrays or tables.

Matrices are shared between sessions and therefore read-only.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Int32

from core.errors import MetricError, UnknownNameError
from core.figures.palette import Look, assign
from core.progress import Progress
from core.questions import asking
from core.questions.adapters import lesson as adaptation
from core.questions.captions import tellings as retold
from core.questions.dispersion.question import Spaces, StimulusDispersion
from core.questions.question import StudyQuestion
from core.questions.stimuli.findings import spread_of
from core.recipe import Recipe
from core.settings import store_path
from core.stimuli.dataset import DatasetCard
from core.store import Store
from core.study.comparison import layer_pairs
from core.study.models import groups_by_age
from core.study.parts import Scope
from core.study.study import KEPT, Study

MOST_HELD = 64  # tables of one place
PATIENCE = 0.2  # seconds of waiting between two looks whether the visitor has gone on
T = TypeVar("T")
Key = tuple[StudyQuestion, str]


@dataclass(frozen=True)
class Place:
    """One dataset of the store as it is now, and which of its stimuli are studied; a new embedding
    makes a new place, so that no cached answer is stale.
    """

    root: str
    digest: str
    scope: Scope

    @property
    def dataset(self) -> str:
        """Return the dataset's name."""
        return self.scope.dataset


def store() -> Store:
    """Return the store that this dashboard is over."""
    return Store(store_path())


def place(dataset: str) -> Place:
    """Return where the pages are: this dataset, as the store holds it now."""
    here = store()
    return Place(str(here.root), here.digest(dataset), Scope(dataset))


def count_models(dataset: str) -> int:
    """Return how many models are embedded; -1 where the dataset was removed or replaced while the
    page was open.
    """
    try:
        return len(store().models(dataset))
    except UnknownNameError:
        return -1


@st.cache_resource(max_entries=8, show_spinner=False)
def study(at: Place) -> Study:
    """Return the study of a dataset; it holds the neighbors that it has read."""
    return at.scope.open(Store(at.root), device="auto")


def ask(at: Place, question: StudyQuestion) -> pd.DataFrame:
    """Return the table that answers a question; a bar shows how far the first computation is.

    The page holds it too: in a store that cannot be written it would be made on every click.
    """
    held, key = _held(at), _key(at, question)
    if key in held:
        return held[key]
    with _alone(at, key):
        if key not in held:
            with _bar() as report:
                _hold(held, key, asking.ask(question, study(at), report))
        return held[key]


def recall(at: Place, question: StudyQuestion) -> pd.DataFrame | None:
    """Return the kept answer to a question, None where it would have to be computed."""
    held, key = _held(at), _key(at, question)
    if key not in held:
        table = asking.recall(question, study(at))
        if table is None:
            return None
        _hold(held, key, table)
    return held[key]


@contextmanager
def _alone(at: Place, key: Key) -> Iterator[None]:
    """Let one visitor at a time make a table; the others wait for it, and may leave meanwhile."""
    makers, note = _makers(at), st.empty()
    lock = makers.setdefault(key, Lock())
    while not lock.acquire(timeout=PATIENCE):
        note.caption("Another visitor has asked the same; the answer is on its way.")
    note.empty()
    try:
        yield
    finally:
        makers.pop(key, None)
        lock.release()


def recipe_of(at: Place, question: StudyQuestion) -> Recipe:
    """Return all that the answer of a question depends on."""
    held, key = _held_recipes(at), _key(at, question)
    if key not in held:
        _hold(held, key, asking.recipe_of(question, study(at)))
    return held[key]


def _key(at: Place, question: StudyQuestion) -> Key:
    """Return what is held under: files outside the store may change."""
    return question, repr(asking.stamp_of(question, study(at)))


def _hold(held: dict[Key, T], key: Key, value: T) -> None:
    held[key] = value
    if len(held) > MOST_HELD:
        held.pop(next(iter(held)))


@st.cache_data(max_entries=32, show_spinner=False)
def card(at: Place) -> DatasetCard:
    """Return the dataset's card."""
    return Store(at.root).dataset(at.dataset)


def size(at: Place) -> int:
    """Return how many stimuli are studied."""
    return study(at).size


@st.cache_data(max_entries=32, show_spinner=False)
def models(at: Place) -> pd.DataFrame:
    """Return a row per embedded model; see `core.study.models.describe`."""
    return study(at).models()


@st.cache_data(max_entries=32, show_spinner=False)
def looks(at: Place) -> dict[str, Look]:
    """Return how each group of the dataset's models is drawn; see `core.figures.palette.assign`."""
    made_at = {entry.card.name: entry.made_at for entry in Store(at.root).models(at.dataset)}
    return assign(groups_by_age(models(at), made_at))


@st.cache_data(max_entries=8, show_spinner=False)
def stimuli(at: Place) -> pd.DataFrame:
    """Return a row per stimulus with its factors."""
    return Store(at.root).stimuli(at.dataset)


@st.cache_data(max_entries=8, show_spinner=False)
def captions(at: Place) -> pd.DataFrame:
    """Return index, level, text."""
    return Store(at.root).captions(at.dataset)


@st.cache_data(max_entries=8, show_spinner=False)
def default_captions(at: Place) -> list[str]:
    """Return the default caption of every stimulus, its id where there are none."""
    if not card(at).levels:  # images alone
        return stimuli(at)["stimulus"].tolist()
    every = captions(at)
    return every[every["level"] == card(at).levels[0]].sort_values("index")["text"].tolist()


@st.cache_data(max_entries=8, show_spinner=False)
def factor_values(at: Place) -> dict[str, list[str]]:
    """Return each factor's values as text, short ones first."""
    factors = stimuli(at).drop(columns="stimulus")
    return {
        name: sorted(factors[name].dropna().astype(str).unique(), key=lambda one: (len(one), one))
        for name in factors
    }


@st.cache_data(max_entries=32, show_spinner=False)
def spread_findings(at: Place, spaces: tuple[str, ...]) -> list[str]:
    """Return what is said of the dispersion of all stimuli; see
    `core.questions.stimuli.findings.spread_of`.
    """
    values = ask(at, StimulusDispersion(at.scope, Spaces(spaces))).set_index("index")["mean"]
    return spread_of(values, stimuli(at).drop(columns="stimulus").loc[values.index])


@st.cache_data(max_entries=32, show_spinner=False)
def best_models(at: Place, names: tuple[str, ...], *, k: int) -> tuple[str, str]:
    """Return the two of these models that agree most; see
    `core.study.comparison.layer_pairs.best_models`.
    """
    every = models(at)
    return layer_pairs.best_models(study(at), every[every["model"].isin(names)], k=k)


@st.cache_data(max_entries=8, show_spinner=False)
def tellings(at: Place) -> pd.DataFrame:
    """Return model, level, name of every embedding of captions; see
    `core.questions.captions.tellings.tellings`.
    """
    return retold.tellings(study(at))


@st.cache_data(max_entries=32, show_spinner=False)
def texts(at: Place, level: str) -> list[tuple[str, ...]]:
    """Return what a model reads of each stimulus at a caption level; see
    `core.questions.captions.tellings.texts_at`.
    """
    return retold.texts_at(study(at), level)


@st.cache_resource(max_entries=8, show_spinner="Reading the encoders")
def lesson(at: Place, spaces: tuple[str, ...], *, pairs: int, seed: int) -> adaptation.Lesson:
    """Return what adapters are trained and measured on; see
    `core.questions.adapters.lesson.prepare`.
    """
    return adaptation.prepare(study(at), spaces, pairs=pairs, seed=seed)


@st.cache_resource(max_entries=8, show_spinner="Reading the reference")
def reference(at: Place, space: str, *, seed: int) -> adaptation.Space:
    """Return what adapted vectors are compared with; see
    `core.questions.adapters.lesson.read_reference`.
    """
    return adaptation.read_reference(study(at), space, seed=seed)


@st.cache_data(max_entries=256, show_spinner=False)
def thumbnails(at: Place, indices: tuple[int, ...]) -> list[str]:
    """Return WebP images in the order asked for, each as an address that holds the image itself.

    A file that the server keeps for a session may be gone before a busy browser asks for it:
    another session's run cleans up.
    """
    return [
        f"data:image/webp;base64,{b64encode(webp).decode()}"
        for webp in Store(at.root).thumbnails(at.dataset, indices)
    ]


@st.cache_data(max_entries=32, show_spinner=False)
def competence(at: Place) -> pd.DataFrame:
    """Return model, value, unit, reason for each language model."""
    return study(at).competence()


@contextmanager
def _bar() -> Iterator[Progress]:
    bar = st.empty()

    def report(done: int, total: int, what: str) -> None:
        bar.progress(done / total, f"{what[:1].upper()}{what[1:]}: {done} of {total}")

    try:
        yield report
    finally:
        bar.empty()


@st.cache_resource(max_entries=8, show_spinner=False)
def _makers(at: Place) -> dict[Key, Lock]:  # noqa: ARG001 - the cache's key
    """Return what is held by those who make a table of a place."""
    return {}


@st.cache_resource(max_entries=8, show_spinner=False)
def _held_recipes(at: Place) -> dict[Key, Recipe]:  # noqa: ARG001 - the cache's key
    """Return the recipes that were made of a place."""
    return {}


@st.cache_resource(max_entries=8, show_spinner=False)
def _held(at: Place) -> dict[Key, pd.DataFrame]:  # noqa: ARG001 - the cache's key
    """Return the tables that were made of a place: in a store that cannot be written they would be
    made on every click.
    """
    return {}


def without_neighbors(at: Place, names: Sequence[str], *, k: int) -> dict[str, str]:
    """Find every model's neighbors, and return why some have none.

    The first time this may take seconds: a bar then shows how far it is, and the page can be left.
    """
    began, bar, refused = time.monotonic(), None, {}
    for done, name in enumerate(dict.fromkeys(names)):
        try:
            study(at).neighbors(
                name, k=min(k, KEPT)
            )  # more are not held: every click would find them anew
        except MetricError as error:
            refused[name] = str(error)
        if time.monotonic() - began > 0.5:
            bar = bar or st.empty()
            bar.progress(
                (done + 1) / len(names), f"Finding neighbors: {done + 1} of {len(names)} models"
            )
    if bar:
        bar.empty()
    return refused


def neighbors(at: Place, model: str, layer: int, *, k: int) -> Int32[np.ndarray, "n k"]:
    """Return the k nearest stimuli of every stimulus in one layer, most similar first."""
    return study(at).neighbors(model, k=k)[layer, :, :k]
