"""The first stimuli of a dataset and all its problems, before anything of it is added."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.figures import exports
from core.figures.numbers import counted
from core.stimuli.addition import Addition, choices_of, settled
from core.stimuli.preview import LIMITS, Preview, Sample, preview_folder, preview_hub
from core.store.writer import thumbnail
from pages._shared import frame, gallery

WIDTH = 96  # pixels of a picture, at least: all samples fit one row
MOST_HEIGHT = 240  # pixels of the table of problems
_HELD = "dataset-preview"


Seen = tuple[Preview, list[gallery.Tile]]


def show(addition: Addition) -> Preview | None:
    """Draw what a source holds, and return it; None for a data set of the hub before anybody
    looks into it, which asks the hub.

    Raises InputError, OfflineError where it cannot be read.
    """
    held: tuple[Addition, Seen] | None = st.session_state.get(_HELD)
    source = replace(addition, name="", title="", skip_broken=False)
    if held is None or held[0] != source:
        label = "Look at the first stimuli"
        if source.hub and not st.button(label, icon=":material/search:", key="look"):
            return None
        held = st.session_state[_HELD] = source, _look(source)
    _draw(*held[1])
    return held[1][0]


def _look(source: Addition) -> Seen:
    """Look at a source once; what it holds may change until someone looks again."""
    with st.spinner("Looking at the stimuli"):
        source = settled(source)
        preview = preview_hub(source) if source.hub else _look_into(source)
    return preview, [_tile(index, sample) for index, sample in enumerate(preview.samples)]


def _look_into(source: Addition) -> Preview:
    """Look at a folder, and show how far the look is."""
    bar = st.empty()

    def report(done: int, total: int, what: str) -> None:
        bar.progress(done / total, f"{what}: {done:,} of {total:,}")

    folder, choices = choices_of(source)
    preview = preview_folder(folder, report=report, **choices)
    bar.empty()
    return preview


def _draw(preview: Preview, pictures: list[gallery.Tile]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(frame.plain(_extent(preview)), width="stretch")
        st.button("Look again", icon=":material/refresh:", type="tertiary", on_click=_forget)
    for note in preview.notes:
        st.caption(frame.plain(f"{note[0].upper()}{note[1:]}."))
    if preview.problems:
        _draw_problems(preview)
    gallery.draw_tiles(pictures, key="preview", width=WIDTH, clicks=gallery.Clicks(None))


def _forget() -> None:
    st.session_state.pop(_HELD, None)


def _tile(index: int, sample: Sample) -> gallery.Tile:
    picture = ""
    if sample.image:
        picture = f"data:image/webp;base64,{b64encode(thumbnail(sample.image)).decode()}"
    (_, caption), *others = sample.captions or ((None, sample.stimulus),)
    more = counted(len(others), "more caption", "more captions") if others else ""
    return gallery.Tile(index, picture, caption, gallery.Note(more, caption), marked=False)


def _extent(preview: Preview) -> str:
    """Say how much was looked at, and what it has."""
    rows = counted(preview.rows, "row", "rows")
    images = counted(preview.images, "image", "images") if preview.images else ""
    levels = f" Caption levels: {', '.join(preview.levels)}." if len(preview.levels) > 1 else ""
    factors = f" Factors: {', '.join(preview.factors)}." if preview.factors else ""
    unopened = preview.unopened + preview.unread
    if preview.is_whole and not unopened:
        both = " and ".join(filter(None, (rows, images)))
        return f"Looked at {both}: all there is.{levels}{factors}"
    seen = rows if preview.is_whole else f"the first {rows}"
    seen = f"{seen}, with {images}" if images else seen
    some = f", of which {_depths(preview)}" if unopened else ""
    return f"Looked at {seen}{some}; the job checks everything.{levels}{factors}"


def _depths(preview: Preview) -> str:
    """Say how many images were looked at how closely, and why not more."""
    opened = preview.images - preview.unopened - preview.unread
    parts = [
        f"{counted(opened, 'was', 'were')} opened",
        f"{preview.unopened:,} only in their headers" if preview.unopened else "",
        f"{preview.unread:,} not at all" if preview.unread else "",
    ]
    return f"{', '.join(filter(None, parts))}: a look at images ends after {LIMITS.seconds:g} s"


def _draw_problems(preview: Preview) -> None:
    """Draw every problem with its row."""
    number = counted(len(preview.problems), "problem", "problems")
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.markdown(f"**{number}**, by row; the first row after a header is 1")
    texts = [str(one).partition(": ")[2] for one in preview.problems]
    table = pd.DataFrame({"row": [one.row for one in preview.problems], "problem": texts})
    right.download_button(
        "Problems",
        exports.to_csv(table),
        "problems.csv",
        icon=":material/download:",
        type="tertiary",
        help="every problem and its row, as CSV",
    )
    height = min(MOST_HEIGHT, 38 + 35 * len(table))
    st.dataframe(
        table,
        hide_index=True,
        height=height,
        key="dataset-problems",
        column_config={"row": st.column_config.NumberColumn(width="small")},
    )
