"""Uploading a dataset: the files become a folder of the store, which the address names."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.errors import PlatoscopeError
from core.files.userfile import MB
from core.files.userfile import UPLOAD as UPLOAD_BYTES
from core.jobs import queue
from core.settings import store_path
from core.stimuli.images import SUFFIXES
from core.stimuli.table import TABLES
from core.store.uploads import find_upload, keep_dataset, uploads_folder
from pages._shared import address, frame

MOST_MEGABYTES = UPLOAD_BYTES // MB
UPLOAD = "upload"  # what the address calls the folder of the upload
_FILES, _TROUBLE = "dataset-files", "upload-trouble"


def pick() -> Path | None:
    """Take a zip, or a table with images, and return the folder that it became; None before."""
    st.file_uploader(
        "A zip, or captions and their images",
        type=["zip", "tar", *(suffix.removeprefix(".") for suffix in (*TABLES, *SUFFIXES))],
        accept_multiple_files=True,
        key=_FILES,
        max_upload_size=MOST_MEGABYTES,
        on_change=_take,
    )
    if trouble := st.session_state.get(_TROUBLE):
        st.error(frame.plain(trouble), icon=":material/error:")
    folder = uploaded(UPLOAD)
    return folder if folder and folder.is_dir() else None


def needed() -> list[str]:
    """Return the commands of jobs that may still read what was uploaded."""
    return [job.command for job in queue.jobs(store_path()) if job.state != "done"]


def _take() -> None:
    """Keep what was chosen in place of what was there, and remember what is wrong with it."""
    files = st.session_state[_FILES]
    address.set_mark(UPLOAD, "")
    st.session_state[_TROUBLE] = ""
    if not files:
        return
    try:
        held = [(file.name, file.getbuffer()) for file in files]
        folder = keep_dataset(store_path(), held, needed=needed())
    except PlatoscopeError as error:
        st.session_state[_TROUBLE] = str(error)
    else:
        address.set_mark(UPLOAD, folder.relative_to(uploads_folder(store_path())).as_posix())


def uploaded(mark: str) -> Path | None:
    """Return what the address names as uploaded; None where it names nothing, or what is gone."""
    place = address.mark(mark)
    path = find_upload(store_path(), place) if place else None
    if place and path is None:
        st.warning("This upload is not there any more. Upload it again.", icon=":material/error:")
    return path
