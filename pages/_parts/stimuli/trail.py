"""The way from stimulus to stimulus: the last few that were opened one from another lie in the
address.
"""

from __future__ import annotations

import streamlit as st

from pages._shared import address, gallery

LONGEST = 5  # steps
_TRAIL = "trail"  # of the address: indices joined by dots


def steps(size: int) -> list[int]:
    """Return the stimuli that led to the opened one, the first first."""
    texts = address.mark(_TRAIL).split(".")
    numbers = [int(text) for text in texts if text.isdecimal() and len(text) < 10]
    return [number for number in numbers if number < size][-LONGEST:]


def follow(size: int, index: int) -> None:
    """Open a stimulus from the opened one, if there is one."""
    last = gallery.chosen(size)
    if last is not None and last != index:
        _keep([*steps(size), last][-LONGEST:])
    gallery.choose(index)


def cut(size: int, place: int) -> None:
    """Go back to a step: -1 is the last one; to all stimuli where there is none."""
    way = steps(size)
    if not way:
        leave()
        return
    gallery.choose(way[place])
    _keep(way[:place])


def leave() -> None:
    """Go back to all stimuli."""
    _keep([])
    gallery.choose(None)


def _keep(way: list[int]) -> None:
    address.set_mark(_TRAIL, ".".join(map(str, way)))


def draw(size: int, index: int) -> None:
    """Draw the way here, and the buttons that go on and back, which have keys of their own."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="trail", wrap=True
    ):
        st.button("Stimuli", icon=":material/apps:", on_click=leave, type="tertiary")
        for place, step in enumerate(steps(size)):
            st.text("›", width="content")
            st.button(
                f"stimulus {step}",
                key=f"step-{place}",
                on_click=cut,
                args=(size, place),
                type="tertiary",
            )
        st.text("›", width="content")
        st.markdown(f"**stimulus {index}** of {size:,}", width="content")
        st.space("stretch")
        st.button("Back", shortcut="Esc", on_click=cut, args=(size, -1), type="tertiary")
        for label, key, step in (("Previous", "Left", -1), ("Next", "Right", 1)):
            turn = ((index + step) % size,)
            st.button(label, shortcut=key, on_click=gallery.choose, args=turn, type="tertiary")
