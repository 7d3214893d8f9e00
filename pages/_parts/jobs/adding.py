"""Queueing a command that was typed, or copied from below a plot."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

import streamlit as st

from core.errors import InputError, PlatoscopeError
from core.jobs.queue import PROGRAM, environment, jobs_folder
from core.jobs.worker import explain
from core.settings import store_path
from core.stimuli.hub import check_id
from pages._shared import address, frame

_NEWS = "jobs-news"
PATIENCE = 30.0  # seconds that the command's own parser may take to read it
WRITERS = ("study", "train")  # commands that write to folders of their own
OUTSIDE = ("--save",)  # options that name files to write
HUB = "--hub"  # the option that names a data set of the hub, and in a terminal a local folder
ELSEWHERE = "ray://"  # what another machine is called, which could send anything back
HELP = """Any command that takes long, as it stands under “Command” below each plot: its answer is
kept, and every page shows it at once."""


@address.fragment
def show() -> None:
    """Draw the form; what was typed stays there."""
    if news := st.session_state.pop(_NEWS, ""):
        st.toast(news, icon=":material/check:")
    with st.expander("Queue a command", icon=":material/add:"), st.form("add-job", border=False):
        text = st.text_input(
            "Command",
            placeholder="platoscope align --dataset cave --null 1000",
            help=HELP,
            key="add-command",
        )
        if st.form_submit_button("Queue", icon=":material/playlist_add:"):
            with frame.part():
                with st.spinner("Reading the command"):
                    st.session_state[_NEWS] = f"Queued as job {add(text)}."
                st.rerun()  # with the job among the others


def add(text: str) -> int:
    """Queue a command as `platoscope jobs add` does and return the job's number; raises InputError
    with what that says.
    """
    words, store = read(text), store_path().absolute()
    if not words:
        raise InputError("expected a command, such as platoscope align --null 1000; type one")
    _refuse_outside(words)
    try:
        ended = subprocess.run(
            [*PROGRAM, "jobs", "add", "--store", str(store), *words],
            env=environment(store),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise PlatoscopeError(f"the command could not be read ({error}); try again") from error
    if ended.returncode:
        log = jobs_folder(store_path()) / "worker.log"
        raise InputError(explain(ended.returncode, ended.stderr, log))
    if not ended.stdout.strip().isdigit():  # of --help, say
        raise InputError(f"{text!r} is no command that can be queued; type it in a terminal")
    return int(ended.stdout)


def _refuse_outside(words: Sequence[str]) -> None:
    """Raise InputError for words that reach beyond the store: no visitor writes to other files, or
    names a local folder as a data set of the hub.
    """
    if words and words[0].startswith("-"):
        raise InputError(f"expected a command first, such as embed; got {words[0]}")
    if words and words[0] in WRITERS:
        raise InputError(f"{words[0]} writes outside the store; type this command in a terminal")
    if any(ELSEWHERE in word for word in words):
        raise InputError(f"{ELSEWHERE}… is another machine; type this command in a terminal")
    names = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
    for name in names:
        if any(option.startswith(name) for option in OUTSIDE):  # abbreviated, too
            raise InputError(f"{name} writes outside the store; type this command in a terminal")
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if len(name) > len("--") and HUB.startswith(name):
            check_id(value if equals else following)


def read(text: str) -> list[str]:
    """Return the words of a command without `platoscope`, and without this store, over which it
    runs anyway; raises InputError for open quotation marks.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"expected a command, got {text!r} ({error})") from error
    words = words[1:] if words[:1] == ["platoscope"] else words
    store = ["--store", str(store_path())]
    for place in range(len(words)):
        if words[place : place + 2] == store:
            return words[:place] + words[place + 2 :]
    return words
