"""What the Library can add to the store: each form is opened by a button, and by the address."""

from __future__ import annotations

import streamlit as st

from core.cave.demo import under_way
from core.settings import is_read_only, store_path
from pages._parts.library import add_dataset
from pages._parts.library.new_models import form as add_models
from pages._shared import address, frame, queries, runner

FORMS = {
    "models": ("Add models", "add_box", add_models.draw),
    "dataset": ("Add a dataset", "add_photo_alternate", add_dataset.draw),
}


@address.fragment
def show() -> None:
    """Draw the buttons that open a form, the form that is open, and the job queued last."""
    if is_read_only():
        frame.tell_shown("nothing is added, renamed or deleted here")
        return
    opened = address.mark(frame.FORM)
    with st.container(horizontal=True, gap="small"):
        for name, (title, icon, _) in FORMS.items():
            is_open = name == opened
            st.button(
                "Close" if is_open else title,
                icon=":material/close:" if is_open else f":material/{icon}:",
                key=f"add-{name}",
                on_click=address.set_mark,
                args=(frame.FORM, "" if is_open else name),
            )
        _offer_demo()
    if opened in FORMS:
        title, _, draw = FORMS[opened]
        with st.container(border=True, key=f"{opened}-form"), frame.part():
            st.subheader(title, anchor=False)
            draw()
    with frame.part():
        _follow()


def _offer_demo() -> None:
    """Offer to build the demo in a store that has nothing yet."""
    if not queries.store().datasets() and not under_way(store_path()):
        st.button(
            "Build the demo",
            icon=":material/deployed_code:",
            key="build-demo",
            on_click=runner.submit,
            args=(("demo",),),
        )


def _follow() -> None:
    """Draw the job queued last; once it has ended, what comes next, and a button that hides it."""
    job = runner.follow()
    if job and job.is_finished:
        with st.container(horizontal=True, gap="small"):
            add_dataset.offer_added(job)
            st.button("Hide", icon=":material/close:", key="hide-job", on_click=runner.forget)
