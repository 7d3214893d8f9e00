"""Renaming, describing and deleting on the page Data, each with its command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.competence.scores import scores_table, set_model_facts
from core.encoders.requests import Facts
from core.errors import PlatoscopeError, UnknownNameError
from core.figures.numbers import counted
from core.machine.memory import size_text
from core.options import build, options_of
from core.settings import is_read_only, store_path
from core.store import (
    carry_out,
    delete_results,
    plan_dataset_deletion,
    plan_model_deletion,
    rename_dataset,
    rename_model,
)
from core.store.listing import LONGEST, tidy
from pages._shared import frame

OPEN = "model"  # the control that says which model is open
_NEWS, _ERROR, _EDITS = "library-news", "library-error", "library-edits"
OPTIONS = {one.name: one for one in options_of(Facts)}
FACTS = tuple(OPTIONS)


@dataclass(frozen=True)
class Held:
    """A dataset, or a model of it, with its title. model: "" for the dataset itself."""

    title: str
    dataset: str
    model: str = ""

    @property
    def kind(self) -> str:
        """Return its word in commands."""
        return "model" if self.model else "dataset"

    def command(self, verb: str, *more: str) -> str:
        """Return the command that renames or deletes it."""
        words = [self.model, *more, "--dataset", self.dataset]
        return frame.command(self.kind, verb, *(words if self.model else [self.dataset, *more]))


def draw_outcome() -> None:
    """Draw once what the last change did, or its error."""
    if news := st.session_state.pop(_NEWS, ""):
        st.toast(frame.plain(news), icon=":material/check:")
    if error := st.session_state.pop(_ERROR, ""):
        st.error(frame.plain(error), icon=":material/error:")


def offer(what: Held) -> None:
    """Draw the buttons that change a dataset or model; none if the store is read-only."""
    if is_read_only():
        return
    _offer_title(what)
    if what.model:
        _offer_facts(what)
    if st.button("Delete", icon=":material/delete:", type="tertiary", key=f"delete-{what.kind}"):
        st.dialog(f"Delete {frame.plain(what.title)}?")(_confirm)(what)


def _offer_title(what: Held) -> None:
    key = f"title-{what.title}"  # with its new title, the popover is a new one and closed

    def rename() -> str:
        title = tidy(st.session_state[key])
        if title == what.title:
            return ""
        if what.model:
            rename_model(store_path(), what.dataset, what.model, title)
        else:
            rename_dataset(store_path(), what.dataset, title)
        return f"Renamed “{what.title}” to “{title}”."

    with (
        st.popover("Rename", icon=":material/edit:", type="tertiary", key=f"rename-{key}"),
        st.form(f"form-{key}", border=False),
    ):
        st.text_input(
            "Title",
            what.title,
            key=key,
            max_chars=LONGEST,
            help="The displayed name. Results and links do not depend on it.",
        )
        st.form_submit_button("Rename", on_click=_try, args=(rename,))
        st.code(what.command("rename", "TITLE"), language="bash", wrap_lines=True)


def _offer_facts(what: Held) -> None:
    edits = st.session_state.get(_EDITS, 0)  # after an edit, the popover is a new one and closed
    keys = {name: f"fact-{name}-{what.model}-{edits}" for name in FACTS}

    def keep() -> str:
        facts = read_facts({name: st.session_state[key] for name, key in keys.items()})
        set_model_facts(store_path(), what.dataset, what.model, facts, source="the Library")
        st.session_state[_EDITS] = edits + 1
        return f"Saved the facts about “{what.title}”."

    with (
        st.popover("Facts", icon=":material/fact_check:", type="tertiary", key=f"facts-{edits}"),
        st.form(f"facts-form-{edits}", border=False),
    ):
        st.caption("Empty fields stay as they are.")
        for name, key in keys.items():
            st.text_input(OPTIONS[name].label, key=key, help=f"{OPTIONS[name].help}.")
        st.form_submit_button("Keep", on_click=_try, args=(keep,))
        st.code(what.command("set", "--family", "F"), language="bash", wrap_lines=True)


def read_facts(said: Mapping[str, str]) -> Facts:
    """Return what was typed of a model, by FACTS; raises InputError."""
    values = {
        name: OPTIONS[name].range.read(text) if OPTIONS[name].range else text  # type: ignore[union-attr]
        for name in FACTS
        if (text := said[name].strip())
    }
    scores = tuple(one.strip() for one in said["competence"].split(";") if one.strip())
    scores_table("MODEL", scores)
    return build(Facts, values | {"competence": scores})


def _confirm(what: Held) -> None:
    try:
        if what.model:
            plan = plan_model_deletion(store_path(), what.dataset, what.model)
        else:
            plan = plan_dataset_deletion(store_path(), what.dataset)
    except UnknownNameError:  # the click that drew this again has deleted it
        st.rerun()
    size = size_text(plan.size)
    st.markdown(
        f"**{frame.plain(what.title)}** has {len(plan.files)} files, {size}."
        " Deletion cannot be undone."
    )
    for sentence in plan.sentences:
        st.markdown(frame.plain(sentence))

    def delete() -> str:
        carry_out(store_path(), plan)
        if what.model:
            close_model()
        return f"Deleted “{what.title}”: {len(plan.files)} files, {size}."

    st.code(f"{what.command('delete')} --yes", language="bash", wrap_lines=True)
    _offer_end(f"Delete this {what.kind}", delete)


def offer_results(dataset: str, names: Sequence[str], size: int) -> None:
    """Draw the button that deletes results."""
    if is_read_only():
        return

    def delete() -> str:
        freed = delete_results(store_path(), dataset, names)
        return f"Deleted {counted(len(names), 'result', 'results')}, {size_text(freed)}."

    def confirm() -> None:
        st.markdown("Their models or their computation have changed, so no page shows them.")
        _offer_end("Delete these results", delete)

    label = f"Delete {counted(len(names), 'stale result', 'stale results')}, {size_text(size)}"
    if st.button(label, icon=":material/delete:", key="delete-results"):
        st.dialog("Delete stale results?")(confirm)()


def _offer_end(label: str, delete: Callable[[], str]) -> None:
    """Draw the buttons that delete and cancel."""
    with st.container(horizontal=True):
        key = "confirm-deletion"
        deleted = st.button(label, type="primary", key=key, on_click=_try, args=(delete,))
        if st.button("Cancel", key="cancel-deletion") or deleted:
            st.rerun()  # without the dialog


def close_model() -> None:
    """Go back from the open model to the table of all."""
    st.session_state[OPEN] = ""


def _try(change: Callable[[], str]) -> None:
    """Change the store after a click, and keep the sentence or error for the next redraw."""
    try:
        st.session_state[_NEWS] = change()
    except PlatoscopeError as error:
        st.session_state[_ERROR] = str(error)
