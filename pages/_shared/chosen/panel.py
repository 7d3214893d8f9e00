"""What is known of the chosen models, at the foot of the window, wherever a page is scrolled to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import pandas as pd
import streamlit as st

from core.figures.numbers import count_text
from core.figures.theme import INK
from core.questions.competence.question import TasksSolved
from core.questions.models.points import skill_texts
from core.questions.models.question import ModelPairs
from core.questions.models.standings import groups_of, nearest_to, standings
from core.study.parts import Comparison
from pages._shared import address, facts, frame, queries
from pages._shared.address import fragment
from pages._shared.chosen import selection
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
STIMULI, CLOSED_FIRST = "stimuli", ("stimulus", "brushed")  # a page, and keys of its address
OPEN = "about"  # the chosen model of which more is shown
MOST = 4  # models that have room by name; the last ones


@fragment
def show() -> None:
    """Draw the chosen models, if any: each opens what is known of it; Escape drops all."""
    st.html(STYLE.format(ink=INK[frame.mode()]))  # always, or it takes another style's place
    chosen = selection.chosen()
    if not chosen:
        return
    with frame.part(), st.container(key="chosen-models"):
        at = queries.place(st.session_state["dataset"])
        models = queries.models(at).set_index("model")
        if st.session_state.get(OPEN) in chosen:
            _describe(at, models, st.session_state[OPEN])
        _draw_row(models, chosen)


def _draw_row(models: pd.DataFrame, chosen: Sequence[str]) -> None:
    """Draw the titles of the chosen models; a click opens or closes what is known of one."""
    opened = st.session_state.get(OPEN)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Chosen")
        for name in chosen[-MOST:]:
            st.button(
                frame.plain(models.loc[name, "title"]),
                icon=":material/expand_more:" if name == opened else ":material/expand_less:",
                type="tertiary",
                key=f"about-{name}",
                on_click=_open,
                args=(name,),
            )
        if len(chosen) > MOST:
            st.caption(f"and {len(chosen) - MOST} more")
        st.button(
            "Clear",
            icon=":material/close:",
            type="tertiary",
            shortcut=None if _something_is_open() else "Esc",
            help="Drop all chosen models",
            key="clear-chosen",
            on_click=selection.clear,
        )


def _something_is_open() -> bool:
    """Return whether Escape closes a stimulus first, or drops a set of them."""
    return address.page() == STIMULI and any(address.mark(key) for key in CLOSED_FIRST)


def _open(name: str) -> None:
    """Open what is known of a model, or close it; a popover that told the server of its closing
    would cross the click on a link, and leave the next page blank.
    """
    st.session_state[OPEN] = None if st.session_state.get(OPEN) == name else name


def _describe(at: Place, models: pd.DataFrame, name: str) -> None:
    """Say how a model is made, how aligned and how competent it is."""
    row = models.loc[[name]].to_dict("records")[0]
    pairs = queries.ask(at, ModelPairs(at.scope, comparison=COMPARISON))
    skill = skill_texts(facts.competence(at), queries.ask(at, TasksSolved(at.scope)))
    lines = {
        "Kind": f"{row['family']}, {row['objective']}",
        "Parameters": count_text(row["parameters"]),
        "Training steps": count_text(row["step"]),
        f"{len(row['layers'])} layers": ", ".join(row["layers"]),
        "Aligned with": _aligned(pairs, models.reset_index(), name),
        "Nearest": _nearest(pairs, models["title"].to_dict(), name),
        "Competence": skill.get(name, "not measured"),
    }
    with st.container(key="about-chosen"):
        st.markdown("  \n".join(f"**{head}** {frame.plain(text)}" for head, text in lines.items()))
        st.button("Drop", key=f"forget-{name}", on_click=selection.toggle, args=(name,))


def _aligned(pairs: pd.DataFrame, models: pd.DataFrame, name: str) -> str:
    scores = standings(pairs, models, groups_of(models))
    mine = scores[scores["model"] == name]
    return ", ".join(f"{row.target} {row.score:.3f}" for row in mine.itertuples()) or "nothing"


def _nearest(pairs: pd.DataFrame, titles: Mapping[Hashable, str], name: str) -> str:
    near = nearest_to(pairs, name, high=COMPARISON.spec.higher_is_more_aligned, count=3)
    return (
        ", ".join(f"{titles[row.other]} ({row.score:.3f})" for row in near.itertuples())
        or "nothing"
    )
