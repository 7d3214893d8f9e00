"""Uploads, which become a folder of the store that the address names, and paths on the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

import streamlit as st

from core.errors import InputError, PlatoscopeError, quoted
from core.files.userfile import MB, UPLOAD
from core.jobs import queue
from core.options import Option
from core.settings import store_path
from core.store.uploads import find_upload, uploads_folder
from pages._shared import address, controls, frame

MOST_MEGABYTES = UPLOAD // MB
QUOTES = "'\""  # around a path that was copied from a terminal
LONGEST = 4_000  # characters of a path
Files = list[tuple[str, memoryview]]  # names and contents


def pick(
    label: str,
    suffixes: Collection[str],
    keep: Callable[[Files, list[str]], Path],
    *,
    mark: str,
    help: str = "",
) -> Path | None:
    """Draw an uploader and return where its files are kept; None if there are none.

    keep: writes files into the store; its second argument are commands that need earlier files.
    mark: key of the address.
    """
    chosen, failed = f"{mark}-files", f"{mark}-error"

    def take() -> None:
        files = st.session_state[chosen]
        address.set_mark(mark, "")
        st.session_state[failed] = ""
        if not files:
            return
        needed = [job.command for job in queue.jobs(store_path()) if job.state != "done"]
        try:
            path = keep([(file.name, file.getbuffer()) for file in files], needed)
        except PlatoscopeError as error:
            st.session_state[failed] = str(error)
        else:
            address.set_mark(mark, path.relative_to(uploads_folder(store_path())).as_posix())

    st.file_uploader(
        label,
        type=[suffix.removeprefix(".") for suffix in suffixes],
        accept_multiple_files=True,
        key=chosen,
        help=help or None,
        max_upload_size=MOST_MEGABYTES,
        on_change=take,
    )
    if said := st.session_state.get(failed):
        st.error(frame.plain(said), icon=":material/error:")
    place = address.mark(mark)
    path = find_upload(store_path(), place) if place else None
    if place and path is None:
        st.warning("This upload no longer exists. Upload it again.", icon=":material/error:")
    return path


def pick_path(one: Option, *, example: str) -> str:
    """Draw a path on the server and return it, absolute; "" for none. Raise InputError for a text
    that cannot be a path.
    """
    text = controls.pick_option(one, controls.Look(start="", example=example)).strip(QUOTES)
    if not text.isprintable() or len(text) > LONGEST:
        raise InputError(f"{quoted(text)} names no folder; expected a path such as {example}")
    return os.path.abspath(os.path.expanduser(text)) if text else ""
