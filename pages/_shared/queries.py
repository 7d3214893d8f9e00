"""The dataset that pages show, the questions they ask of it, and the answers they hold.

Caches here and in `pages._shared.facts` have keys of digests, ids and numbers, never of arrays.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import pandas as pd
import streamlit as st

from core.progress import Progress, heard_by
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
_HERE = "here"
WAIT = 0.2  # seconds between two checks whether the visitor has left


@dataclass(frozen=True)
class Place:
    """A dataset with its digest and the studied stimuli; a new embedding changes the digest, so no
    cached answer is stale.
    """

    root: str
    digest: str
    scope: Scope

    @property
    def dataset(self) -> str:
        """Return the dataset's name."""
        return self.scope.dataset


# repr names all fields; Streamlit's own hash of a dataclass copies it deeply
HASHES = {Place: repr}


class Held(dict[Any, Any]):
    """The latest MOST_HELD results."""

    def __setitem__(self, key: Hashable, value: object) -> None:
        """Add one, and remove the oldest if there are too many."""
        super().__setitem__(key, value)
        if len(self) > MOST_HELD:
            self.pop(next(iter(self)))


@st.cache_resource(max_entries=1, show_spinner=False)
def computed() -> Held:
    """Return results of all visitors that need no store, such as simulations."""
    return Held()


def store() -> Store:
    """Return the dashboard's store."""
    return Store(store_path())


def place(dataset: str) -> Place:
    """Return the place of a dataset as it is now."""
    here = View(store_path())  # which lists each folder once
    return Place(str(here.root), here.digest(dataset), Scope(dataset))


def here(dataset: str) -> Place:
    """Return the place of a dataset as it was when the page was last drawn, which lists hundreds of
    files once; see `begin`.
    """
    found: Place | None = st.session_state.get(_HERE)
    if found is None or found.dataset != dataset:
        found = st.session_state[_HERE] = place(dataset)
    return found


def begin() -> None:
    """Forget the place of the last drawing."""
    st.session_state.pop(_HERE, None)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=HASHES)
def view(at: Place) -> View:
    """Return the store as it was at the start of the redraw."""
    seen = View(at.root)
    seen.freeze(at.dataset)
    if Store(at.root).digest(at.dataset) != at.digest:
        st.rerun()  # the store has changed since
    return seen


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=HASHES)
def study(at: Place) -> Study:
    """Return the study of a dataset, which caches neighbors."""
    return at.scope.open(view(at).noting(), device="auto")


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=HASHES)
def count_models(at: Place) -> int:
    """Return the number of embedded models."""
    return len(view(at).models(at.dataset))


def ask(at: Place, question: StudyQuestion) -> pd.DataFrame:
    """Return the table of a question's answer; see `answer`."""
    return answer(at, question).table


def answer(at: Place, question: StudyQuestion) -> Answered:
    """Return a question's answer, held or computed under a progress bar."""
    held = _held(at)
    if found := _find(at, question):
        return found
    with _alone(at, question):
        if not (found := _find(at, question)):
            with bar() as report, heard_by(report):
                found = asking.answer(question, study(at))
            held[question] = found
        return found


def recall(at: Place, question: StudyQuestion) -> pd.DataFrame | None:
    """Return the table of a kept answer, or None."""
    found = _find(at, question)
    if not found:
        found = asking.recall(question, study(at))
        if found is None:
            return None
        _held(at)[question] = found
    return found.table


def recall_earlier(at: Place, question: StudyQuestion) -> tuple[Answered, list[str]] | None:
    """Return what `core.questions.asking.recall_earlier` does, if there is no fresh answer."""
    if recall(at, question) is not None:
        return None
    return asking.recall_earlier(question, study(at))


def _find(at: Place, question: StudyQuestion) -> Answered | None:
    """Return the held answer, unless files outside the store have changed."""
    found = _held(at).get(question)
    outside = {} if found is None else found.outside
    return found if not outside or study(at).store.is_fresh(outside) else None


@contextmanager
def _alone(at: Place, key: StudyQuestion) -> Iterator[None]:
    """Let one visitor at a time compute an answer; others wait, and may leave."""
    makers, note = _makers(at), st.empty()
    lock = makers.setdefault(key, Lock())
    while not lock.acquire(timeout=WAIT):
        note.caption("Another visitor asked the same question; the answer appears here.")
    note.empty()
    try:
        yield
    finally:
        makers.pop(key, None)
        lock.release()


def recipe_of(at: Place, question: StudyQuestion) -> Recipe:
    """Return the recipe of a question's answer."""
    return answer(at, question).recipe


def question_recipe(at: Place, question: StudyQuestion) -> Recipe:
    """Return the recipe of a question without computing its answer."""
    return asking.question_recipe(question, study(at))


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=HASHES)
def card(at: Place) -> DatasetCard:
    """Return the dataset's card."""
    return view(at).dataset(at.dataset)


def size(at: Place) -> int:
    """Return the number of studied stimuli."""
    return study(at).size


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=HASHES)
def models(at: Place) -> pd.DataFrame:
    """Return a row per embedded model; see `core.study.models.describe`."""
    return study(at).models()


@contextmanager
def bar() -> Iterator[Progress]:
    """Draw a progress bar while work goes on."""
    shown = st.empty()

    def report(done: int, total: int, what: str) -> None:
        shown.progress(done / total, f"{what[:1].upper()}{what[1:]}: {done} of {total}")

    try:
        yield report
    finally:
        shown.empty()


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=HASHES)
def _makers(at: Place) -> dict[StudyQuestion, Lock]:  # noqa: ARG001 - the cache's key
    """Return the locks of answers that are being computed."""
    return {}


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=HASHES)
def _held(at: Place) -> Held:  # noqa: ARG001 - the cache's key
    """Return the held answers; a read-only store would compute them at every click."""
    return Held()
