"""Renaming, describing and deleting from the Library: each shows the command that does the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from core.competence.scores import tell_model, told_scores
from core.encoders.requests import Facts
from core.errors import PlatoscopeError
from core.figures.numbers import counted
from core.machine.memory import size_text
from core.options import build, options_of
from core.settings import is_read_only, store_path
from core.store import (
    Deletion,
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
_NEWS, _TROUBLE, _EDITS = "library-news", "library-trouble", "library-edits"
OPTIONS = {one.name: one for one in options_of(Facts)}
FACTS = tuple(OPTIONS)


@dataclass(frozen=True)
class Held:
    """A dataset of the store, or a model of it, with the title that is shown; model: "" for the
    dataset itself.
    """

    title: str
    dataset: str
    model: str = ""

    @property
    def kind(self) -> str:
        """Return what the commands call it."""
        return "model" if self.model else "dataset"

    def command(self, verb: str, *more: str) -> str:
        """Return the command that renames or deletes it."""
        words = [self.model, *more, "--dataset", self.dataset]
        return frame.command(self.kind, verb, *(words if self.model else [self.dataset, *more]))


def say_what_came() -> None:
    """Say once what the last change did, or why it did nothing."""
    if news := st.session_state.pop(_NEWS, ""):
        st.toast(frame.plain(news), icon=":material/check:")
    if trouble := st.session_state.pop(_TROUBLE, ""):
        st.error(frame.plain(trouble), icon=":material/error:")


def offer(what: Held) -> None:
    """Draw the buttons that rename and delete something; none where the store is only shown."""
    if is_read_only():
        return
    _offer_title(what)
    if what.model:
        _offer_facts(what)
    if st.button("Delete", icon=":material/delete:", type="tertiary", key=f"delete-{what.kind}"):
        st.dialog(f"Delete {frame.plain(what.title)}?")(_confirm)(what, _plan(what))


def read_facts(said: Mapping[str, str]) -> Facts:
    """Return what was typed of a model, by FACTS; raises InputError."""
    values = {
        name: OPTIONS[name].range.read(text) if OPTIONS[name].range else text  # type: ignore[union-attr]
        for name in FACTS
        if (text := said[name].strip())
    }
    scores = tuple(one.strip() for one in said["competence"].split(";") if one.strip())
    told_scores("MODEL", scores)
    return build(Facts, values | {"competence": scores})


def offer_results(dataset: str, made: Mapping[str, str], size: int) -> None:
    """Draw the button that deletes results. made: when each was made, by name."""
    if is_read_only():
        return
    label = f"Delete {counted(len(made), 'stale result', 'stale results')}, {size_text(size)}"
    if st.button(label, icon=":material/delete:", key="delete-results"):
        st.dialog("Delete stale results?")(_confirm_results)(dataset, made)


def _offer_title(what: Held) -> None:
    key = f"title-{what.title}"  # with its new title, the popover is a new one and closed
    with (
        st.popover("Rename", icon=":material/edit:", type="tertiary", key=f"rename-{key}"),
        st.form(f"form-{key}", border=False),
    ):
        st.text_input(
            "Title",
            what.title,
            key=key,
            max_chars=LONGEST,
            placeholder="the original title",
            help="What people call it; no number and no link depends on it. Leave it empty to"
            " restore the original title.",
        )
        st.form_submit_button("Rename", on_click=_rename, args=(what, key))
        st.code(what.command("rename", "TITLE"), language="bash", wrap_lines=True)


def _offer_facts(what: Held) -> None:
    edits = st.session_state.get(_EDITS, 0)  # after an edit, the popover is a new one and closed
    keys = {name: f"fact-{name}-{what.model}-{edits}" for name in FACTS}
    with (
        st.popover("Facts", icon=":material/fact_check:", type="tertiary", key=f"facts-{edits}"),
        st.form(f"facts-form-{edits}", border=False),
    ):
        st.caption("What is left empty stays as it is.")
        for name, key in keys.items():
            st.text_input(OPTIONS[name].label, key=key, help=f"{OPTIONS[name].help}.")
        st.form_submit_button("Keep", on_click=_set_facts, args=(what, keys))
        st.code(what.command("set", "--family", "F"), language="bash", wrap_lines=True)


def _set_facts(what: Held, keys: Mapping[str, str]) -> None:
    said = {name: st.session_state[key] for name, key in keys.items()}

    def change() -> str:
        tell_model(store_path(), what.dataset, what.model, read_facts(said), source="the Library")
        st.session_state[_EDITS] = st.session_state.get(_EDITS, 0) + 1
        return f"What is known of “{what.title}” is kept."

    _try(change)


def _confirm(what: Held, plan: Deletion) -> None:
    st.markdown(
        f"**{frame.plain(what.title)}** takes {len(plan.files)} files, {size_text(plan.size)}."
        " This cannot be undone: what is deleted has to be made again."
    )
    for sentence in plan.sentences:
        st.markdown(frame.plain(sentence))
    _end(f"Delete this {what.kind}", f"{what.command('delete')} --yes", lambda: _delete(what, plan))


def _confirm_results(dataset: str, made: Mapping[str, str]) -> None:
    st.markdown("What they rest on has changed since they were made, so that no page shows them.")
    command = frame.command("result", "delete", "--dataset", dataset, "--yes")
    _end("Delete these results", command, lambda: _delete_results(dataset, made))


def _end(label: str, command: str, delete: Callable[[], None]) -> None:
    """Draw the command that deletes, the button that does the same, and one that does not."""
    st.code(command, language="bash", wrap_lines=True)
    with st.container(horizontal=True):
        deleted = st.button(label, type="primary", key="confirm-deletion", on_click=delete)
        if st.button("Cancel", key="cancel-deletion") or deleted:
            st.rerun()  # without the dialog


def _plan(what: Held) -> Deletion:
    if what.model:
        return plan_model_deletion(store_path(), what.dataset, what.model)
    return plan_dataset_deletion(store_path(), what.dataset)


def _rename(what: Held, key: str) -> None:
    title = tidy(st.session_state[key])
    if title == what.title:
        return

    def change() -> str:
        if what.model:
            rename_model(store_path(), what.dataset, what.model, title)
        else:
            rename_dataset(store_path(), what.dataset, title)
        renamed = f"“{what.title}” is called “{title}” now."
        return renamed if title else "The original title is back."

    _try(change)


def _delete(what: Held, plan: Deletion) -> None:
    def change() -> str:
        size = plan.size
        carry_out(store_path(), plan)
        if what.model:
            close_model()
        return f"Deleted “{what.title}”: {len(plan.files)} files, {size_text(size)}."

    _try(change)


def _delete_results(dataset: str, made: Mapping[str, str]) -> None:
    def change() -> str:
        size = delete_results(store_path(), dataset, made)
        return f"Deleted {counted(len(made), 'result', 'results')}, {size_text(size)}."

    _try(change)


def close_model() -> None:
    """Go back from the open model to the table of all."""
    st.session_state[OPEN] = ""


def _try(change: Callable[[], str]) -> None:
    """Change the store in answer to a click, and remember what to say of it."""
    try:
        st.session_state[_NEWS] = change()
    except PlatoscopeError as error:
        st.session_state[_TROUBLE] = str(error)
