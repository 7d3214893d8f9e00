"""Uploading features made elsewhere: the file is kept in the store, and the address names it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.encoders.imported import READERS, read_features
from core.errors import FeatureError, PlatoscopeError
from core.settings import store_path
from core.stimuli.dataset import DatasetCard
from core.store.uploads import uploads_folder
from core.store.uploads.place import keep_file
from pages._parts.library import uploads
from pages._shared import address, frame

FILE = "features"  # what the address calls the file that was uploaded
_CHOSEN, _TROUBLE = "features-file", "features-trouble"
HELP = """One row per stimulus, in the dataset's order: (n, d), or (n, layers, d), or an array per
layer."""


def pick() -> Path | None:
    """Take a file of features and return where it is kept; None before."""
    st.file_uploader(
        "Features made elsewhere",
        type=[suffix.removeprefix(".") for suffix in READERS],
        key=_CHOSEN,
        help=HELP,
        max_upload_size=uploads.MOST_MEGABYTES,
        on_change=_take,
    )
    if trouble := st.session_state.get(_TROUBLE):
        st.error(frame.plain(trouble), icon=":material/error:")
    path = uploads.uploaded(FILE)
    return path if path and path.is_file() else None


def check(path: Path, card: DatasetCard) -> None:
    """Raise FeatureError for a file that cannot be imported over a dataset; say what is in it."""
    try:
        rows, widths = _shape(path)
    except FeatureError as error:  # where the store keeps the file is of no use here
        raise FeatureError(str(error).replace(str(path), path.name)) from error
    if rows != card.size:
        raise FeatureError(
            f"{path.name} has {rows:,} rows, but the dataset {card.size:,} stimuli; give one row"
            " per stimulus, in the dataset's order"
        )
    dims = ", ".join(map(str, dict.fromkeys(widths)))
    st.caption(f"{len(widths)} × {rows:,} × {dims}: layers, stimuli, dims.")


@st.cache_data(max_entries=8, show_spinner="Reading the features")
def _shape(path: Path) -> tuple[int, tuple[int, ...]]:
    """Return the rows of a file of features and the widths of its layers; its path names its
    content.
    """
    layers = read_features(path)
    return len(layers[0]), tuple(layer.shape[1] for layer in layers)


def _take() -> None:
    """Keep what was chosen in place of what was there, and remember what is wrong with it."""
    file = st.session_state[_CHOSEN]
    address.set_mark(FILE, "")
    st.session_state[_TROUBLE] = ""
    if file is None:
        return
    try:
        path = keep_file(store_path(), file.name, file.getvalue(), needed=uploads.needed())
    except PlatoscopeError as error:
        st.session_state[_TROUBLE] = str(error)
    else:
        address.set_mark(FILE, path.relative_to(uploads_folder(store_path())).as_posix())
