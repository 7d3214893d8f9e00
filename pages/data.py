"""Data: the contents of the store, forms that add to it, and jobs."""

from __future__ import annotations

import streamlit as st

from core.cave.demo import under_way
from core.settings import is_read_only, store_path
from pages._parts.library import add_dataset, add_models, changes, contents, jobs
from pages._shared import address, controls, frame, gallery, queries, runner

TABS = {"models": "Models", "datasets": "Datasets", "results": "Results", "jobs": "Jobs"}
FORMS = {
    "models": ("Add models", "add_box", add_models.draw),
    "dataset": ("Add a dataset", "add_photo_alternate", add_dataset.draw),
}


@address.fragment
def show_forms() -> None:
    """Draw the buttons that open a form, the open form, and the job that was queued last."""
    if is_read_only():
        frame.draw_read_only("nothing is added, renamed or deleted here")
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
        if not queries.store().datasets() and not under_way(store_path()):
            st.button(
                "Build the demo",
                icon=":material/deployed_code:",
                key="build-demo",
                on_click=runner.submit,
                args=(("demo",),),
            )
    if opened in FORMS:
        title, _, draw = FORMS[opened]
        with st.container(border=True, key=f"{opened}-form"), frame.part():
            st.subheader(title, anchor=False)
            draw()
    with frame.part():
        job = runner.follow()
        if job:
            gallery.show_top(job.id)
        if job and job.is_finished:
            add_models.tell_added(job)
            with st.container(horizontal=True, gap="small"):
                add_dataset.offer_added(job)
                st.button("Hide", icon=":material/close:", key="hide-job", on_click=runner.forget)


def show() -> None:
    """Draw the forms, and the models, datasets, results or jobs."""
    for view in address.take("view"):  # of an old link
        address.hand("tab", [view])
    tab = controls.pick_segment("Part", TABS, "tab", start="models", hidden=True)
    if tab == "jobs":
        jobs.show()
        return
    show_forms()
    at = frame.place()
    changes.draw_outcome()
    if tab == "models":
        contents.show_models(at)
    elif tab == "datasets":
        contents.show_datasets(at)
    else:
        contents.show_results(at)
    contents.show_problems()


frame.draw_alone("What is in the store?", show)
