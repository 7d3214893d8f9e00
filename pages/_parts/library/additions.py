"""What the Library can add to the store: each form is opened by a button, and by the address."""

from __future__ import annotations

import streamlit as st

from pages._parts.library import add_dataset, queued
from pages._parts.library.new_models import form as add_models
from pages._parts.library.queued import OPEN
from pages._shared import address, frame

FORMS = {
    "models": ("Add models", "add_box", add_models.draw),
    "dataset": ("Add a dataset", "add_photo_alternate", add_dataset.draw),
}


@address.fragment
def show() -> None:
    """Draw the buttons that open a form, the form that is open, and the job queued last."""
    opened = address.mark(OPEN)
    with st.container(horizontal=True, gap="small"):
        for name, (title, icon, _) in FORMS.items():
            is_open = name == opened
            st.button(
                "Close" if is_open else title,
                icon=":material/close:" if is_open else f":material/{icon}:",
                key=f"add-{name}",
                on_click=address.set_mark,
                args=(OPEN, "" if is_open else name),
            )
    if opened in FORMS:
        title, _, draw = FORMS[opened]
        with st.container(border=True, key=f"{opened}-form"), frame.part():
            st.subheader(title, anchor=False)
            draw()
    with frame.part():
        add_dataset.offer_added(queued.follow())
