"""Retrieval by adapters, stimulus by stimulus: some that are found, and some that are missed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
import streamlit as st

from core.figures.numbers import share_text
from core.questions.adapters.lesson import Lesson
from core.questions.adapters.maps.model import Adapters
from core.questions.adapters.measures import views_after
from core.questions.adapters.question import Adaptation
from core.questions.adapters.retrieval import closest, median_rank, rank_own, recall
from pages._parts.adapters import lessons
from pages._shared import facts, gallery, prose
from pages._shared.address import bind, fragment
from pages._shared.gallery import Clicks, Note
from pages._shared.queries import Place

LONGEST = 160  # characters of a caption beneath a picture
EACH, NEAR = 3, 5  # examples of hits and of misses, and how many candidates of each are drawn
READING = """Left is the query, right the {near} test stimuli nearest to it in
the common space, the nearest first; its own is framed. Of {n:,} test stimuli, the first of each
kind in a random order are shown; none was picked by hand."""


class Answer(NamedTuple):
    """A query, its nearest candidates, nearest first, and at which place its own one came; see
    `Ranks.places`.
    """

    query: int
    nearest: list[int]
    place: float


@fragment
def show(at: Place, question: Adaptation, lesson: Lesson, adapters: Adapters) -> None:
    """Draw hits and misses of one direction; a fragment, so that another direction draws nothing
    else again.
    """
    st.header("Does one encoder find what the other saw?", anchor=False)
    test = lesson.parts.test
    query, candidates = _pick_direction(at, question.spaces)
    views = views_after(adapters, lesson.spaces, lesson.parts)
    ranks, near = (
        rank_own(views[query], views[candidates]),
        closest(views[query], views[candidates], k=NEAR),
    )
    places = ranks.places
    picked = [
        ("Found at once", np.flatnonzero(places == 1)),
        (f"Not among the first {NEAR}", np.flatnonzero(places > NEAR)),
    ]
    first, among, chance = (
        share_text(share, 1)
        for share in (recall(ranks, 1), recall(ranks, 10), min(1, 10 / len(test)))
    )
    st.markdown(
        f"The right stimulus comes first for {first} of the {len(test):,} test"
        f" stimuli and is among the first 10 for {among} (chance {chance}); its median place is"
        f" {median_rank(ranks):g}."
    )
    for kind, (title, rows) in enumerate(picked):
        st.caption(f"**{title}**: {len(rows):,} of {len(test):,}")
        for number, row in enumerate(rows[:EACH]):
            answer = Answer(int(test[row]), test[near[row]].tolist(), float(places[row]))
            _draw(at, query, candidates, answer, key=f"{kind}-{number}")
    prose.explain(READING.format(near=NEAR, n=len(test)))


def _pick_direction(at: Place, spaces: Sequence[str]) -> tuple[str, str]:
    """Choose the encoder that asks, and the one that is searched."""
    titles = lessons.about(at, tuple(spaces), "title")
    names = {f"{a} > {b}": f"{titles[a]} → {titles[b]}" for a, b in permutations(spaces, 2)}
    direction = st.selectbox(
        "From one encoder to another",
        list(names),
        format_func=names.get,
        **bind("lookup", next(iter(names)), names),
    )
    query, candidates = direction.split(" > ")
    return query, candidates


def _draw(at: Place, query: str, candidates: str, answer: Answer, *, key: str) -> None:
    """Draw one query with its nearest candidates, each as its encoder sees it: as a picture, or as
    the caption that it reads.
    """
    left, right = st.columns([2, 5])
    texts = _read(at, query)
    with left:
        if texts:
            st.text(texts[answer.query])
        else:
            gallery.draw_one(at, answer.query, width=108)
        st.caption(f"stimulus {answer.query}, at place {answer.place:,g}")
    captions = _read(at, candidates)
    with right:
        gallery.grid(
            at,
            answer.nearest,
            key=f"answer-{key}",
            width=92,
            marked={answer.query},
            note=lambda index: Note(text=captions[index][:LONGEST] if captions else ""),
            clicks=Clicks(None),
        )


def _read(at: Place, space: str) -> list[str] | None:
    """Return the captions that a space's model reads, None for one that reads none."""
    embedded = facts.tellings(at)
    levels = embedded.loc[embedded["name"] == space.rpartition(":")[0], "level"]
    return (
        [" / ".join(several) for several in facts.texts(at, levels.iloc[0])]
        if len(levels)
        else None
    )
