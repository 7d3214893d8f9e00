"""Where the pages are, what they ask there, and the answers that they hold.

What is cached here and in `pages._shared.facts` is keyed on what the store holds (its digest), ids,
parameters and numbers, never on arrays or tables.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import pandas as pd
import streamlit as st

from core.progress import Progress
from core.questions import asking
from core.questions.asking import Answered
from core.questions.question import StudyQuestion
from core.recipe import Recipe
from core.settings import store_path
from core.stimuli.dataset import DatasetCard
from core.store import Store, View
from core.study.parts import Scope
from core.study.study import Study

MOST_HELD = 64
PATIENCE = 0.2  # seconds of waiting between two looks whether the visitor has gone on


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


class Held(dict[Any, Any]):
    """The last results of their kind."""

    def __setitem__(self, key: Hashable, value: object) -> None:
        """Hold one more, and let the oldest go if there are too many."""
        super().__setitem__(key, value)
        if len(self) > MOST_HELD:
            self.pop(next(iter(self)))


@st.cache_resource(max_entries=1, show_spinner=False)
def computed() -> Held:
    """Return what pages have computed without the store, such as simulations, for all visitors."""
    return Held()


def store() -> Store:
    """Return the store that this dashboard is over."""
    return Store(store_path())


def place(dataset: str) -> Place:
    """Return where the pages are: this dataset, as the store holds it now."""
    here = store()
    return Place(str(here.root), here.digest(dataset), Scope(dataset))


@st.cache_resource(max_entries=8, show_spinner=False)
def view(at: Place) -> View:
    """Return the store as it was when the page began."""
    seen = View(at.root)
    seen.freeze(at.dataset)
    if Store(at.root).digest(at.dataset) != at.digest:
        st.rerun()  # the store has changed since: nothing of then and now is mixed
    return seen


@st.cache_resource(max_entries=8, show_spinner=False)
def study(at: Place) -> Study:
    """Return the study of a dataset; it holds the neighbors that it has read."""
    return at.scope.open(view(at).noting(), device="auto")


@st.cache_data(max_entries=32, show_spinner=False)
def count_models(at: Place) -> int:
    """Return how many models are embedded."""
    return len(view(at).models(at.dataset))


def ask(at: Place, question: StudyQuestion) -> pd.DataFrame:
    """Return the table that answers a question; a bar shows how far the first computation is.

    The page holds it too: in a store that cannot be written it would be made on every click.
    """
    return answer(at, question).table


def answer(at: Place, question: StudyQuestion) -> Answered:
    """Return `ask` with what the table depends on."""
    held = _held(at)
    if found := _find(at, question):
        return found
    with _alone(at, question):
        if not (found := _find(at, question)):
            with bar() as report:
                found = asking.answer(question, study(at), report)
            held[question] = found
        return found


def recall(at: Place, question: StudyQuestion) -> pd.DataFrame | None:
    """Return the kept answer to a question, None where it would have to be computed."""
    found = _find(at, question)
    if not found:
        found = asking.recall(question, study(at))
        if found is None:
            return None
        _held(at)[question] = found
    return found.table


def _find(at: Place, question: StudyQuestion) -> Answered | None:
    """Return the answer that is held; a place stays as it is, but files outside the store may
    change.
    """
    found = _held(at).get(question)
    outside = {} if found is None else found.outside
    return found if not outside or study(at).store.is_fresh(outside) else None


@contextmanager
def _alone(at: Place, key: StudyQuestion) -> Iterator[None]:
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
    return answer(at, question).recipe


def question_recipe(at: Place, question: StudyQuestion) -> Recipe:
    """Return a question in full, whether or not it is answered."""
    return asking.question_recipe(question, study(at))


@st.cache_data(max_entries=32, show_spinner=False)
def card(at: Place) -> DatasetCard:
    """Return the dataset's card."""
    return view(at).dataset(at.dataset)


def size(at: Place) -> int:
    """Return how many stimuli are studied."""
    return study(at).size


@st.cache_data(max_entries=32, show_spinner=False)
def models(at: Place) -> pd.DataFrame:
    """Return a row per embedded model; see `core.study.models.describe`."""
    return study(at).models()


@contextmanager
def bar() -> Iterator[Progress]:
    """Draw how far some work is, while it goes on."""
    shown = st.empty()

    def report(done: int, total: int, what: str) -> None:
        shown.progress(done / total, f"{what[:1].upper()}{what[1:]}: {done} of {total}")

    try:
        yield report
    finally:
        shown.empty()


@st.cache_resource(max_entries=8, show_spinner=False)
def _makers(at: Place) -> dict[StudyQuestion, Lock]:  # noqa: ARG001 - the cache's key
    """Return what is held by those who make a table of a place."""
    return {}


@st.cache_resource(max_entries=8, show_spinner=False)
def _held(at: Place) -> Held:  # noqa: ARG001 - the cache's key
    """Return the tables that were made of a place: in a store that cannot be written they would be
    made on every click.
    """
    return Held()
