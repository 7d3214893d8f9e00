"""Uploading features made elsewhere: the file is kept in the store, and the address names it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.embedding.features import check_ready
from core.encoders.imported import READERS
from core.encoders.measured.content import read_content
from core.encoders.requests import ImportRequest
from core.errors import FeatureError, PlatoscopeError
from core.settings import store_path
from core.stimuli.dataset import DatasetCard
from core.store import Store
from core.store.uploads import uploads_folder
from core.store.uploads.place import keep_file
from pages._parts.library import uploads
from pages._shared import address, frame

FILE = "features"  # what the address calls the file that was uploaded
_CHOSEN, _TROUBLE = "features-file", "features-trouble"
HELP = """One row per stimulus: (n, d), or (n, layers, d), or an array per layer, or a table. Ids of
the rows match them to stimuli; without any, rows are in the dataset's order. Repeated measurements
are (repeats, n, units), dissimilarities (n, n) or a table of pairs."""


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


def check(request: ImportRequest, store: Store, card: DatasetCard) -> None:
    """Raise FeatureError for a file that cannot be imported over a dataset; say what is in it."""
    path = Path(request.file)
    try:
        rows, widths, notes = _shape(request, _stimuli(store, card))
    except FeatureError as error:  # where the store keeps the file is of no use here
        raise FeatureError(str(error).replace(str(path), path.name)) from error
    dims = ", ".join(map(str, dict.fromkeys(widths)))
    said = frame.plain(" ".join(notes))
    st.caption(f"{len(widths)} × {rows:,} × {dims}: layers, stimuli, dims. {said}")


def _stimuli(store: Store, card: DatasetCard) -> tuple[str, ...]:
    return tuple(store.stimuli(card.name)["stimulus"])


@st.cache_data(max_entries=8, show_spinner="Reading the features")
def _shape(
    request: ImportRequest, stimuli: tuple[str, ...]
) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    """Return the rows of a file, the widths of its layers, and how it was read; its path names its
    content.

    Raises FeatureError for a file that cannot be read, and for values that are not finite.
    """
    content = read_content(request, stimuli)
    layers = content.layers
    check_ready(layers, stimuli, Path(request.file).name)
    return len(layers[0]), tuple(layer.shape[1] for layer in layers), content.notes


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
