"""The bar of a page's controls, which stays in view."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.figures.theme import INK
from pages._shared import address, frame

STYLE = """<style>
[data-testid=stLayoutWrapper]:has(> .st-key-bar) {{ position: sticky; top: 0; z-index: 90; }}
.st-key-bar {{
  padding: 0.25rem 0 0.5rem; border-bottom: 1px solid {ink.grid}; background: {ink.paper};
  box-shadow: -0.5rem 0 {ink.paper}, 0.5rem 0 {ink.paper};  /* hides rings of what scrolls below */
}}
.st-key-bar-controls {{ gap: 0.75rem; }}
.st-key-bar-controls > [data-testid=stElementContainer] {{ flex: 1 1 6.4rem; max-width: 17rem; }}
.st-key-bar-controls > :has(> [data-testid=stButtonGroup]) {{ flex: 0 0 auto; max-width: none; }}
.st-key-bar-controls > :has(> [data-testid=stPopover]) {{ order: 1; flex: 0 0 auto; }}
.st-key-bar-chips button {{ border: 1px solid {ink.chance}; border-radius: 1rem; }}
.st-key-bar-chips button {{ min-height: 1.6rem; padding: 0 0.6rem; }}
@media (max-width: 640px) {{
  [data-testid=stLayoutWrapper]:has(> .st-key-bar) {{ position: static; }}
}}
</style>"""


@contextmanager
def controls_bar() -> Iterator[None]:
    """Draw the controls of a page in a bar, folded on a phone. Chips name changed controls; a
    click resets one.
    """
    before = address.shown()
    with st.container(key="bar", gap="small"):
        st.html(STYLE.format(ink=INK[frame.mode()]))
        with _controls():
            yield
        _chips(address.departures(address.shown() - before))


def _controls() -> st.delta_generator.DeltaGenerator:
    if frame.narrow():
        return st.expander("Settings", icon=":material/tune:")
    return st.container(horizontal=True, vertical_alignment="bottom", key="bar-controls")


def more() -> st.delta_generator.DeltaGenerator:
    """Return the popover of rarely used controls."""
    if frame.narrow():
        return st.container()
    return st.popover("Options", icon=":material/tune:")


def _chips(chosen: dict[str, str]) -> None:
    if not chosen:
        return
    with st.container(horizontal=True, gap="small", key="bar-chips"):
        for key, text in chosen.items():
            st.button(
                frame.plain(text),
                key=f"drop-{key}",
                icon=":material/close:",
                type="tertiary",
                help="Back to the default",
                on_click=address.drop,
                args=(key,),
            )
