"""Kernels of the encoders, of the reference and, once there are adapters, of the common space, over
the same test stimuli.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from core.questions.adapters import figures as figures
from core.questions.adapters import measures as measures
from core.questions.adapters.answer import Lesson
from core.questions.adapters.figures import Kernel
from core.questions.adapters.kernel_order import order_alike
from core.spaces.preprocess import normalize_rows
from pages._parts.adapters import lessons, trainings
from pages._parts.adapters.lessons import Asked
from pages._parts.adapters.trainings import Training
from pages._shared import exportbar, frame, queries
from pages._shared.queries import Place

DRAWN = 96  # stimuli
READING = """**How to read it.** Each square is one space: rows and columns are {n} of the
{test:,} test stimuli, in one order that puts together what is alike for the
reference; the more a cell stands out, the more alike the space finds the two, each
square in colors of its own range. A space near to the reference shows its blocks.
Alignment is that with the reference over all test stimuli{chance}."""


def show(at: Place, asked: Asked, lesson: Lesson, training: Training | None) -> None:
    """Draw the kernels, and say what this one training changed."""
    adapters, stopped = (training.adapters, training.stopped) if training else (None, None)
    st.subheader("Kernels before and after" if adapters else "Kernels before", anchor=False)
    parts, titles = lesson.parts, lessons.about(at, asked.spaces, "title")
    truth = normalize_rows(queries.reference(at, asked.reference, seed=asked.seed)[parts.test])
    before = measures.views_before(lesson.spaces, parts, centered=False)
    after = measures.views_after(adapters, lesson.spaces, parts) if adapters else {}
    scores = [measures.score_views(views, truth, **asked.compared) for views in (before, after)]
    order = order_alike((truth @ truth.T)[:DRAWN, :DRAWN])
    shown = [
        Kernel(f"Reference: {lessons.reference_title(at, asked)}", "", _cosines(truth, order)),
        *_kernels(before, scores[0], titles, order),
        *_kernels(
            {what: after[what] for what in (measures.MEAN, *titles) if after},
            scores[1],
            _adapted(titles),
            order,
        ),
    ]
    columns = 2 if frame.narrow() else 1 + len(asked.spaces)
    exportbar.plot(
        figures.kernels(shown, columns=columns, mode=frame.mode()),
        key="kernels",
        table=_as_table(shown, parts.test[order]),
        command=trainings.once(at, asked, stopped),
        recipe=lessons.recipe(
            at, "adapted-kernels", asked, adapted=bool(adapters), stopped=stopped
        ),
    )
    known = asked.chance(len(truth))
    st.markdown(
        READING.format(
            n=len(order),
            test=len(truth),
            chance="" if np.isnan(known) else f"; chance is {known:.3f}",
        )
    )
    if adapters:
        average = float(np.mean(list(scores[0].values())))
        st.markdown(
            "**What is seen.** On average the encoders are aligned with the reference by"
            f" {average:.3f}, the common space by {scores[1][measures.MEAN]:.3f} (mean of all)."
            f" This is one training{trainings.tell_stopped(stopped)}; the verdict over several,"
            " with its interval, is below."
        )


def _adapted(titles: Mapping[str, str]) -> dict[str, str]:
    return {what: f"{title}, adapted" for what, title in titles.items()} | {
        measures.MEAN: "Common space: mean of all"
    }


def _kernels(
    views: Mapping[str, np.ndarray],
    scores: Mapping[str, float],
    titles: Mapping[str, str],
    order: np.ndarray,
) -> list[Kernel]:
    return [
        Kernel(titles[what], f"alignment {scores[what]:.3f}", _cosines(view, order))
        for what, view in views.items()
    ]


def _cosines(view: np.ndarray, order: np.ndarray) -> np.ndarray:
    return view[order] @ view[order].T


def _as_table(shown: list[Kernel], stimuli: np.ndarray) -> pd.DataFrame:
    """Return a row per kernel and pair of stimuli, by their indices."""
    x, y = (side.ravel() for side in np.meshgrid(stimuli, stimuli, indexing="ij"))
    tables = [
        pd.DataFrame({"kernel": one.title, "x": x, "y": y, "cosine": one.cosines.ravel()})
        for one in shown
    ]
    return pd.concat(tables, ignore_index=True)
