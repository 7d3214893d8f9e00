"""Where the pages are, what they ask there, and the answers that they hold.

What is cached here and in `pages._shared.facts` is keyed on what the store holds (its digest), ids,
parameters and numbers, never on arrays or tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import pandas as pd
import streamlit as st

from core.progress import Progress
from core.questions import asking
from core.questions.adapters import lesson as adaptation
from core.questions.question import StudyQuestion
from core.recipe import Recipe
from core.settings import store_path
from core.stimuli.dataset import DatasetCard
from core.store import Store
from core.study.parts import Scope
from core.study.study import Study

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


@st.cache_data(max_entries=32, show_spinner=False)
def count_models(at: Place) -> int:
    """Return how many models are embedded."""
    return len(Store(at.root).models(at.dataset))


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
