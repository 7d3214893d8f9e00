"""The models that a person has chosen: marked on every plot, taken along by every link, and where
a page compares two models, those it starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from pages._shared import address, queries
from pages._shared.charts.picked import picked_dots
from pages._shared.texts import named_by

KEY = "chosen"
PAIRS = ("pair_x", "pair_y", "a", "b")  # controls of pages that compare two models
HELP = """Chosen models have a ring on every plot. Click a dot to choose its model, click it again
to drop it, tick rows of the table of models, or search here. Pages that compare two models start
from the last two. Escape drops all."""


def pick(dataset: str) -> None:
    """Draw the control of the chosen models, beside the links that take them along."""
    titles = queries.models(queries.place(dataset)).set_index("model")["title"].to_dict()
    st.multiselect(
        "Chosen models",
        list(titles),
        format_func=named_by(titles),
        placeholder="click a dot, or search",
        select_all=False,  # Enter takes the best match
        help=HELP,
        on_change=_follow,
        **address.bind(KEY, [], titles, kind="model"),
    )


def chosen() -> tuple[str, ...]:
    """Return the chosen models, the last one last."""
    return tuple(st.session_state.get(KEY, ()))


def choose(names: Sequence[str]) -> None:
    """Choose these models and no others."""
    st.session_state[KEY] = list(names)
    _follow()


def toggle(name: str) -> None:
    """Choose one more model, or drop it."""
    left = [one for one in chosen() if one != name]
    choose(left if name in chosen() else [*left, name])


def clear() -> None:
    """Drop all chosen models."""
    choose([])


def by_click(chart: str) -> Callable[[], None]:
    """Return what takes a click on a dot of a chart: one model is chosen too or dropped, a pair is
    chosen in place of all others or dropped.

    A chart forgets its own selection when it is drawn anew.
    """

    def take() -> None:
        first = next(iter(picked_dots(chart)), [])
        names = [name for name in first if isinstance(name, str)]
        if len(names) == 1:
            toggle(names[0])
        elif names:
            choose([] if chosen() == tuple(names) else names)

    return take


def pair(x: pd.DataFrame, y: pd.DataFrame, best: tuple[str, str]) -> tuple[str, str]:
    """Return the two models that a page compares at first, one of x and one of y: those that were
    chosen last, the best where fewer were.
    """
    latest = list(reversed(chosen()))
    second = next((name for name in latest if name in set(y["model"])), "")
    first = next((name for name in latest if name in set(x["model"]) - {second}), "")
    if not first:
        first = best[1] if second == best[0] else best[0]
    return first, second or best[1]


def _follow() -> None:
    """Let controls of pairs follow the choice, which concerns the whole page."""
    address.release(PAIRS)
    address.redraw_page()
