"""A plot with all that can be exported: the figure for a paper, HTML, CSV, the recipe, the link and
the command.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.figures import exports
from core.figures.marks import add_rings
from core.questions.asking import recipe_of
from core.questions.question import Question, StudyQuestion
from core.questions.words import to_command
from core.recipe import Recipe
from pages._shared import frame, queries
from pages._shared.chosen import selection
from pages._shared.files import images, paper
from pages._shared.queries import Place

PRINTS_PLOT = "This prints the numbers behind the plot:"
RUNS_IT = "This runs the same simulation; the plot shows its last state:"


def draw(
    at: Place,
    question: StudyQuestion,
    figure: go.Figure,
    *,
    key: str,
    table: pd.DataFrame,
    on_select: Any = "ignore",
    brush: bool = False,
) -> None:
    """Draw the figure of a question's answer with its export bar.

    Recipe and command are those of the question. on_select: called with the selection in session
    state under `key`. brush: many points may be drawn around, not only one be clicked; what is
    chosen stands beside the plot.
    """
    recipe, command = queries.recipe_of(at, question), frame.question_command(question)
    _plot(
        figure,
        key=key,
        table=table,
        recipe=recipe,
        command=(command, PRINTS_PLOT),
        on_select=on_select,
        brush=brush,
    )


def draw_models(
    at: Place, question: StudyQuestion, figure: go.Figure, *, key: str, table: pd.DataFrame
) -> None:
    """Draw a figure whose dots are models, as `draw` does: a click on one chooses it, and chosen
    ones have a ring; see `core.figures.marks.add_rings`.
    """
    add_rings(figure, selection.chosen(), frame.mode())
    draw(at, question, figure, key=key, table=table, on_select=selection.by_click(key))


def draw_table(at: Place, question: StudyQuestion, table: pd.DataFrame, *, key: str) -> None:
    """Draw what can be exported of a table that is shown by itself; key: its name, too."""
    with st.container(horizontal=True, key=f"bar-{key}", vertical_alignment="center", gap="small"):
        st.download_button(
            "CSV",
            lambda: exports.to_csv(table),
            exports.file_name(key, queries.recipe_of(at, question), "csv"),
            "text/csv",
            key=f"csv-{key}",
            type="tertiary",
            on_click="ignore",
        )
        with st.popover("Command", type="tertiary"):
            st.caption("This prints the same table:")
            st.code(frame.question_command(question), language="bash", wrap_lines=True)


def draw_alone(
    question: Question,
    figure: go.Figure,
    *,
    key: str,
    table: pd.DataFrame,
    command_note: str = PRINTS_PLOT,
) -> None:
    """Draw the figure of a question that needs no store with its export bar.

    command_note: what the command does, where it does not print the table itself.
    """
    recipe, command = recipe_of(question), to_command(question)
    _plot(figure, key=key, table=table, recipe=recipe, command=(command, command_note))


def _plot(
    figure: go.Figure,
    *,
    key: str,
    table: pd.DataFrame,
    recipe: Recipe,
    command: tuple[str, str],
    on_select: Any = "ignore",
    brush: bool = False,
) -> None:
    title = figure.layout.meta["title"]
    ways = ("points", "box", "lasso") if brush else "points"
    selection: dict[str, Any] = {"selection_mode": ways} if on_select != "ignore" else {}
    with st.container(key=f"chart-{key}"):
        st.plotly_chart(
            figure,
            theme=None,
            key=key,
            on_select=on_select,
            alt=title,
            config=_config(brush),
            **selection,
        )
    _bar(figure, title, key=key, table=table, recipe=recipe, command=command)


def _config(brush: bool) -> dict[str, Any]:
    kept = [
        ["toImage", *(("lasso2d", "select2d") if brush else ()), "zoom2d", "pan2d", "resetScale2d"]
    ]
    shown = True if brush else "hover"
    return {
        "displaylogo": False,
        "modeBarButtons": kept,
        "displayModeBar": shown,
        "doubleClick": "reset",
    }


def _bar(
    figure: go.Figure,
    title: str,
    *,
    key: str,
    table: pd.DataFrame,
    recipe: Recipe,
    command: tuple[str, str],
) -> None:
    def name(suffix: str) -> str:
        return exports.file_name(title, recipe, suffix)

    look: dict[str, Any] = {"type": "tertiary", "on_click": "ignore"}
    with st.container(horizontal=True, key=f"bar-{key}", vertical_alignment="center", gap="small"):
        paper.draw_button(figure, table, recipe, key=key)
        images.draw_link(key=key)
        st.download_button(
            "HTML",
            lambda: exports.to_html(figure, recipe, title=title),
            name("html"),
            "text/html",
            key=f"html-{key}",
            **look,
        )
        st.download_button(
            "CSV", lambda: exports.to_csv(table), name("csv"), "text/csv", key=f"csv-{key}", **look
        )
        st.download_button(
            "Recipe",
            lambda: exports.to_recipe_json(recipe),
            name("json"),
            "application/json",
            key=f"recipe-{key}",
            **look,
        )
        with st.popover("Command", type="tertiary"):
            line, note = command
            st.caption(note)
            st.code(line, language="bash", wrap_lines=True)
