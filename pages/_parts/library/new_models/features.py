"""Uploading features made elsewhere, or a table of models with its files: they are kept in the
store, and the address names the file that `platoscope import` takes.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.embedding.features import check_ready
from core.encoders.arrays import ENDINGS
from core.encoders.imported import NAMES
from core.encoders.measured import read_content
from core.encoders.requests import ImportRequest
from core.encoders.zoo import read_zoo
from core.errors import FeatureError, InputError, PlatoscopeError
from core.settings import store_path
from core.stimuli.dataset import DatasetCard
from core.store import Store
from core.store.uploads import keep_dataset, keep_file, uploads_folder
from pages._parts.library import uploads
from pages._shared import address, frame

FILE = "features"  # what the address calls the file that was uploaded
_CHOSEN, _TROUBLE = "features-file", "features-trouble"
HELP = """One row per stimulus: (n, d), or (n, layers, d), or an array per layer, or a table. Ids of
the rows match them to stimuli; without any, rows are in the dataset's order. Repeated measurements
are (repeats, n, units), dissimilarities (n, n) or a table of pairs. Many models at once: a table
with a row and a `file` for each, with these files, or all in a zip."""


def pick() -> Path | None:
    """Take files and return where the one that is imported is kept; None before."""
    st.file_uploader(
        "Features made elsewhere",
        type=["zip", *(suffix.removeprefix(".") for suffix in ENDINGS)],
        accept_multiple_files=True,
        key=_CHOSEN,
        help=HELP,
        max_upload_size=uploads.MOST_MEGABYTES,
        on_change=_take,
    )
    if trouble := st.session_state.get(_TROUBLE):
        st.error(frame.plain(trouble), icon=":material/error:")
    path = uploads.uploaded(FILE)
    return path if path and path.is_file() else None


def look(request: ImportRequest, store: Store, card: DatasetCard) -> str:
    """Return what is in a file; raises FeatureError if it cannot be imported over a dataset."""
    path = Path(request.file)
    try:
        rows, widths, notes = _shape(request, _stimuli(store, card))
    except FeatureError as error:  # where the store keeps the file is of no use here
        raise FeatureError(str(error).replace(str(path), path.name)) from error
    dims = ", ".join(map(str, dict.fromkeys(widths)))
    return f"{len(widths)} × {rows:,} × {dims}: layers, stimuli, dims. {' '.join(notes)}"


def _stimuli(store: Store, card: DatasetCard) -> tuple[str, ...]:
    return tuple(store.stimuli(card.name)["stimulus"])


@st.cache_data(max_entries=256, show_spinner="Reading the features")
def _shape(
    request: ImportRequest, stimuli: tuple[str, ...]
) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    """Return the rows of a file, the widths of its layers, and how it was read; its path names its
    content.

    Raises FeatureError for a file that cannot be read, and for values that are not finite.
    """
    content = read_content(request, stimuli)
    layers = content.layers
    if content.covers is not None:
        stimuli = tuple(stimuli[place] for place in content.covers)
    check_ready(layers, stimuli, Path(request.file).name)
    return len(layers[0]), tuple(layer.shape[1] for layer in layers), content.notes


def _take() -> None:
    """Keep what was chosen in place of what was there, and remember what is wrong with it."""
    files = st.session_state[_CHOSEN]
    address.set_mark(FILE, "")
    st.session_state[_TROUBLE] = ""
    if not files:
        return
    held, root = [(file.name, file.getbuffer()) for file in files], store_path()
    try:
        if len(held) > 1 or held[0][0].lower().endswith(".zip"):
            path = _head(keep_dataset(root, held, needed=uploads.needed()))
        else:
            path = keep_file(root, held[0][0], bytes(held[0][1]), needed=uploads.needed())
    except PlatoscopeError as error:
        st.session_state[_TROUBLE] = str(error)
    else:
        address.set_mark(FILE, path.relative_to(uploads_folder(root)).as_posix())


def _head(folder: Path) -> Path:
    """Return the table of models in a folder, else its only file of features."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in ENDINGS]
    found = [path for path in found if path.name != NAMES]
    heads = [path for path in found if read_zoo(ImportRequest(str(path)))] or found
    if len(heads) != 1:
        raise InputError(
            f"{len(heads)} of these files may be what is imported; upload one file of features, or"
            " several with one table of models, whose column file names them"
        )
    return heads[0]
