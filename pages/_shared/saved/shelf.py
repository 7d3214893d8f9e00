"""The shelf of saved views at the head of the sidebar: save, open, compare, remove, undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.errors import PlatoscopeError
from core.settings import is_read_only, store_path
from core.store.notes.views import LONGEST, SavedView, read_views, remove_view, save_view, tidy
from pages._shared import address, frame
from pages._shared.saved import links

_KEY, _NAME = "shelf", "view-name"
STYLE = """<style>
[data-testid=stPopoverBody]:has(.st-key-shelf) { width: min(22rem, 92vw); }
.st-key-shelf-list [data-testid=stHorizontalBlock] { flex-wrap: nowrap; }
.st-key-shelf-list a { background: none; padding-left: 0; min-width: 0; }
.st-key-shelf-list a p { font-weight: 400; line-height: 1.3; }
.st-key-shelf-list a p { white-space: normal; overflow-wrap: anywhere; }
.st-key-shelf-list button { padding: 0 0.15rem; min-height: 1.6rem; }
</style>"""


@dataclass(frozen=True)
class Memory:
    """What this session remembers of its last change.

    gone: the view that was removed or replaced. instead: the view that has its name since. wanted,
    taken: a view to save and the one that has its name already. trouble: why nothing was changed.
    """

    gone: SavedView | None = None
    instead: SavedView | None = None
    wanted: SavedView | None = None
    taken: SavedView | None = None
    trouble: str = ""


@st.fragment
def show() -> None:
    """Draw a button that opens the saved views. It comes after the page, whose controls name what
    is saved.
    """
    st.html(STYLE)
    key = f"views-of-{address.page()}"  # another page closes it
    popover = st.popover("Views", icon=":material/bookmarks:", type="tertiary", key=key)
    with popover, st.container(key="shelf"), frame.part():
        _draw_form()
        _draw_memory(st.session_state.get(_KEY, Memory()))
        _draw_list(read_views(store_path()))


def _draw_form() -> None:
    if address.page() == links.SIDE_BY_SIDE:
        return
    if is_read_only():
        frame.tell_shown("views are opened here, and neither saved nor removed")
        return
    with st.form("save-view", border=False):
        st.text_input(
            "Name",
            key=_NAME,
            max_chars=LONGEST,
            placeholder=links.suggest_name(),
            help="A view without a name is called after its page and what is chosen there.",
        )
        st.form_submit_button("Save this view", icon=":material/bookmark_add:", on_click=_save)


def _draw_memory(last: Memory) -> None:
    """Say what the last change was, and offer to take it back or, where it failed, to force it."""
    if last.trouble:
        st.error(frame.plain(last.trouble), icon=":material/error:")
    if last.wanted and last.taken:
        st.warning(f"A view named “{frame.plain(last.wanted.name)}” is saved already.")
        st.button("Replace it", key="replace-view", on_click=_put, args=(last.wanted, last.taken))
    if last.gone:
        done = "Replaced" if last.instead else "Removed"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(f"{done} “{frame.plain(last.gone.name)}”.")
            st.button("Undo", icon=":material/undo:", key="undo-view", on_click=_undo, args=(last,))


def _draw_list(views: list[SavedView]) -> None:
    if address.page() != links.SIDE_BY_SIDE:
        st.page_link(
            "pages/side_by_side.py",
            label="Two side by side",
            icon=":material/splitscreen_right:",
            query_params={"left": links.this_view()},
        )
    with st.container(gap="xsmall", key="shelf-list"):
        for view in views:
            with st.container(horizontal=True, vertical_alignment="center", gap=None):
                _draw_view(view)


def _draw_view(view: SavedView) -> None:
    page, name = links.page_of(view.link), frame.plain(view.name)
    if page is None:
        st.caption(f"{name} (its page is gone)")
    else:
        st.page_link(page, label=name, width="stretch", query_params=links.query_of(view.link))
        if address.page() != links.SIDE_BY_SIDE and st.button(
            "",
            icon=":material/splitscreen_right:",
            type="tertiary",
            key=f"compare-{view.name}",
            help=f"Show beside this view: {name}",
        ):
            pair = {"left": links.this_view(), "right": view.link}
            st.switch_page("pages/side_by_side.py", query_params=pair)
    if not is_read_only():
        st.button(
            "",
            icon=":material/close:",
            type="tertiary",
            key=f"remove-{view.name}",
            help=f"Remove {name}",
            on_click=_remove,
            args=(view,),
        )


def _save() -> None:
    name = tidy(st.session_state[_NAME]) or links.suggest_name()

    def change() -> Memory:
        view = SavedView(name, links.this_view())
        taken = next((one for one in read_views(store_path()) if one.name == name), None)
        if taken:
            return Memory(wanted=view, taken=taken)
        save_view(store_path(), view)
        st.session_state[_NAME] = ""
        return Memory()

    _try(change)


def _put(view: SavedView, over: SavedView) -> None:
    """Put a view in the place of another."""

    def change() -> Memory:
        save_view(store_path(), view, over=over)
        st.session_state[_NAME] = ""
        return Memory(gone=over, instead=view)

    _try(change)


def _remove(view: SavedView) -> None:
    def change() -> Memory:
        remove_view(store_path(), view)
        return Memory(gone=view)

    _try(change)


def _undo(last: Memory) -> None:
    """Take back the last removal or replacement."""

    def change() -> Memory:
        if last.gone:
            save_view(store_path(), last.gone, over=last.instead)
        return Memory()

    _try(change)


def _try(change: Callable[[], Memory]) -> None:
    """Change the saved views in answer to a click, and remember what came of it."""
    try:
        st.session_state[_KEY] = change()
    except PlatoscopeError as error:
        st.session_state[_KEY] = Memory(trouble=str(error))
