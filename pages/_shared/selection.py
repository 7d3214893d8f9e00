"""The selected models: marked on every plot, kept by every link, and the start of pages that
compare two. A panel at the bottom of the window describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.figures.numbers import count_text
from core.figures.theme import INK
from core.questions.competence.question import TasksSolved
from core.questions.models.pairs import ModelPairs
from core.questions.models.question import groups_of, nearest_to, skill_texts, standings
from core.study.parts import Comparison
from pages._shared import address, facts, frame, queries
from pages._shared.address import fragment, named_by
from pages._shared.queries import Place

COMPARISON = Comparison()  # as the map of models has it at first
STYLE = """<style>
.st-key-chosen-models {{
  position: fixed; bottom: 0.6rem; right: 1.2rem; z-index: 95; width: auto; max-width: 92vw;
  padding: 0.3rem 0.6rem; border: 1px solid {ink.chance}; border-radius: 0.6rem;
  background: {ink.paper}; box-shadow: 0 1px 8px rgb(0 0 0 / 0.18);
}}
.st-key-about-chosen {{ max-width: 26rem; max-height: 60vh; overflow-y: auto; }}
:has(> .st-key-chosen-models) {{ position: absolute; }}
[data-testid=stMainBlockContainer]:has(.st-key-chosen-models) {{ padding-bottom: 5rem; }}
</style>"""
IMAGES, CLOSED_FIRST = "images", ("stimulus", "brushed")  # a page, and keys of its address
OPEN = "about"  # the model whose description is open
MOST = 4  # models that the panel names, the latest
KEY = "chosen"
PAIRS = ("pair_x", "pair_y", "a", "b")  # controls of pages that compare two models
HELP = """Selected models have a ring on every plot. Click a point to select its model, and again to
deselect it; or tick rows of the table of models, or search here. Pages that compare two models
start from the last two. Escape clears the selection."""


def pick(dataset: str) -> None:
    """Draw the control of the selected models."""
    titles = queries.models(queries.here(dataset)).set_index("model")["title"].to_dict()
    st.multiselect(
        "Selected models",
        list(titles),
        format_func=named_by(titles),
        placeholder="click a point, or search",
        select_all=False,  # Enter takes the best match
        help=HELP,
        on_change=_follow,
        **address.bind(KEY, [], titles, kind="model"),
    )


def chosen() -> tuple[str, ...]:
    """Return the selected models, the latest last."""
    return tuple(st.session_state.get(KEY, ()))


def choose(names: Sequence[str]) -> None:
    """Select these models and no others."""
    st.session_state[KEY] = list(names)
    _follow()


def toggle(name: str) -> None:
    """Select a model, or drop it."""
    left = [one for one in chosen() if one != name]
    choose(left if name in chosen() else [*left, name])


def clear() -> None:
    """Drop all selected models."""
    choose([])


def by_click(chart: str) -> Callable[[], None]:
    """Return the callback of a click on a dot: a model is toggled, a pair replaces the selection
    or clears it.
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
    """Return the models that a page compares at first, one of x and one of y: the latest selected
    ones, else the best.
    """
    latest = list(reversed(chosen()))
    second = next((name for name in latest if name in set(y["model"])), "")
    first = next((name for name in latest if name in set(x["model"]) - {second}), "")
    if not first:
        first = best[1] if second == best[0] else best[0]
    return first, second or best[1]


def _follow() -> None:
    """Let controls of pairs follow the selection, and redraw the page."""
    address.release(PAIRS)
    address.redraw_page()


def picked_dots(chart: str, *, around: bool = False) -> list[list[Any]]:
    """Return the custom data of a chart's selected dots. around: of a lasso or box only."""
    try:
        picked = st.session_state[chart]["selection"]
        if around and not (picked.get("lasso") or picked.get("box")):
            return []
        return [list(dot["customdata"]) for dot in picked["points"] if dot.get("customdata")]
    except (AttributeError, KeyError, TypeError):
        return []


@fragment
def show_chosen() -> None:
    """Draw the panel of selected models; each button opens a description."""
    st.html(STYLE.format(ink=INK[frame.mode()]))  # always, or it would replace another style
    names = chosen()
    if not names:
        return
    with frame.part(), st.container(key="chosen-models"):
        at = queries.here(st.session_state["dataset"])
        models = queries.models(at).set_index("model")
        opened = st.session_state.get(OPEN)
        if opened in names:
            _describe(at, models, opened)
        # Escape closes a stimulus first, or drops a set of them
        first = address.page() == IMAGES and any(address.mark(key) for key in CLOSED_FIRST)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("Selected")
            for name in names[-MOST:]:
                st.button(
                    frame.plain(models.loc[name, "title"]),
                    icon=":material/expand_more:" if name == opened else ":material/expand_less:",
                    type="tertiary",
                    key=f"about-{name}",
                    on_click=st.session_state.__setitem__,
                    args=(OPEN, None if name == opened else name),
                )
            if len(names) > MOST:
                st.caption(f"and {len(names) - MOST} more")
            st.button(
                "Clear",
                icon=":material/close:",
                type="tertiary",
                shortcut=None if first else "Esc",
                help="Deselect all models",
                key="clear-chosen",
                on_click=clear,
            )


def _describe(at: Place, models: pd.DataFrame, name: str) -> None:
    row = models.loc[[name]].to_dict("records")[0]
    pairs = queries.ask(at, ModelPairs(at.scope, comparison=COMPARISON))
    every = models.reset_index()
    scores = standings(pairs, every, groups_of(every))
    mine = scores[scores["model"] == name]
    near = nearest_to(pairs, name, high=COMPARISON.spec.higher_is_more_aligned, count=3)
    titles = models["title"]
    skill = skill_texts(facts.competence(at), queries.ask(at, TasksSolved(at.scope)))
    lines = {
        "Kind": f"{row['family']}, {row['objective']}",
        "Parameters": count_text(row["parameters"]),
        "Training steps": count_text(row["step"]),
        f"{len(row['layers'])} layers": ", ".join(row["layers"]),
        "Aligned with": ", ".join(f"{one.target} {one.score:.3f}" for one in mine.itertuples()),
        "Nearest": ", ".join(f"{titles[one.other]} ({one.score:.3f})" for one in near.itertuples()),
        "Competence": skill.get(name, "not measured"),
    }
    with st.container(key="about-chosen"):
        said = [f"**{head}** {frame.plain(text or 'nothing')}" for head, text in lines.items()]
        st.markdown("  \n".join(said))
        st.button("Deselect", key=f"forget-{name}", on_click=toggle, args=(name,))
