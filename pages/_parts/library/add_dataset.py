"""The form that adds a dataset: a preview and `platoscope dataset add` for an upload, a folder on
the server, a data set of the hub, or ids.
"""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.errors import PlatoscopeError
from core.figures import exports
from core.figures.numbers import counted
from core.jobs.queue import Job
from core.questions.words import to_words
from core.settings import store_path
from core.stimuli.addition import OF_HUB, Addition, check_addition, choices_of
from core.stimuli.hub import DEFAULTS, PRESETS, check_id
from core.stimuli.images import SUFFIXES
from core.stimuli.preview import LIMITS, Preview, Sample, preview_folder
from core.stimuli.table import TABLES, list_tables
from core.store.listing import check_title, tidy
from core.store.uploads import keep_dataset, safe_name
from core.store.writer import thumbnail
from pages._parts.library import uploads
from pages._shared import address, controls, frame, gallery, queries, runner
from pages._shared.controls import Look, pick_option

NEEDED = """Images and a table with a row per caption: `image`, a file's name, and `caption`, its
text. COCO's caption files, images alone and texts alone work, too."""
SOURCES = {
    "upload": "Upload",
    "folder": "Folder on the server",
    "hub": "Hugging Face",
    "ids": "Ids alone",
}
OPTIONS = controls.options_by_name(Addition)
FORM = ("from", *OPTIONS)  # the controls that start again once a dataset is queued
UPLOAD = "upload"  # what the address calls the folder of the upload
WIDTH = 96  # pixels of a picture, at least: all samples fit one row
MOST_HEIGHT = 240  # pixels of the table of problems
_HELD = "dataset-preview"
Seen = tuple[Preview, list[gallery.Tile]]


def offer_added(job: Job) -> None:
    """Offer to choose the dataset that a job has added, if another one is chosen."""
    if job.state != "done" or " ".join(job.words[:2]) != Addition.command:
        return
    name = job.words[2]

    def choose() -> None:
        runner.forget()
        st.session_state["dataset"] = name
        address.redraw_page()

    if name in {card.name for card in queries.store().datasets()} - {st.session_state["dataset"]}:
        st.button("Show it", icon=":material/arrow_forward:", on_click=choose)


def draw() -> None:
    """Draw the form: source, preview, command and button."""
    source = controls.pick_segment("From", SOURCES, "from", start="upload", hidden=True)
    if source == "upload":
        addition = _pick_upload()
    elif source == "folder":
        addition = _pick_folder()
    elif source == "hub":
        addition = _pick_hub()
    else:
        addition = Addition(ids=uploads.pick_path(OPTIONS["ids"], example="/data/ids.csv"))
    if not (addition.folder or addition.hub or addition.ids):
        return
    preview = None
    with frame.part():
        preview = show_preview(addition)
    if preview or addition.hub:
        _finish(addition, preview)


def _pick_upload() -> Addition:
    suffixes = [".zip", *TABLES, *SUFFIXES]
    label = "A zip, or captions and their images"
    folder = uploads.pick(
        label,
        suffixes,
        lambda files, needed: keep_dataset(store_path(), files, needed=needed),
        mark=UPLOAD,
    )
    if folder and folder.is_dir():
        return _with_table(str(folder))
    st.caption(NEEDED)
    return Addition()


def _pick_folder() -> Addition:
    folder = uploads.pick_path(OPTIONS["folder"], example="/data/photos")
    if not folder:
        st.caption(NEEDED)
    if not os.path.isdir(folder):
        return Addition(folder=folder)
    return replace(_with_table(folder), link=pick_option(OPTIONS["link"]))


def _with_table(folder: str) -> Addition:
    """Draw the choice of a folder's caption table and its columns; images alone without one."""
    tables = [str(path.relative_to(folder)) for path in list_tables(Path(folder))]
    if not tables:
        return Addition(folder=folder, images_only=pick_option(OPTIONS["images_only"]))
    table = ""
    if len(tables) > 1:
        labels = {table: table for table in tables}
        table = pick_option(OPTIONS["table"], Look(labels=labels, start=tables[0]))
    texts_only = pick_option(OPTIONS["texts_only"])
    names = ("text_column",) if texts_only else ("image_column", "text_column")
    with st.expander("Columns of other names"):
        columns: dict[str, Any] = {
            name: pick_option(OPTIONS[name], Look(start="")) for name in names
        }
    return replace(Addition(folder=folder, table=table, texts_only=texts_only), **columns)


def _pick_hub() -> Addition:
    """Draw the choice of a data set of the hub; raise InputError for an invalid id."""
    hub = pick_option(OPTIONS["hub"], Look(start="", example="wit_1024, or owner/name"))
    if hub:
        check_id(hub)
    usual = {"revision": "main", **DEFAULTS, **PRESETS.get(hub, {})}
    texts: dict[str, Any] = {}
    for name, column in zip(OF_HUB, st.columns(len(OF_HUB)), strict=True):
        with column:
            texts[name] = pick_option(OPTIONS[name], Look(start="", example=usual[name]))
    images_only = not texts["text_column"] and pick_option(OPTIONS["images_only"])
    offered = not (images_only or texts["image_column"])
    texts_only = offered and pick_option(OPTIONS["texts_only"])
    return replace(Addition(hub=hub, images_only=images_only, texts_only=texts_only), **texts)


def _finish(addition: Addition, preview: Preview | None) -> None:
    """Draw name and title, the command, and the button that queues it."""
    own = safe_name((addition.folder or addition.hub or Path(addition.ids).stem).rstrip("/"))
    left, right = st.columns(2)
    with left:
        name = pick_option(OPTIONS["name"], Look(start=own))
    with right:
        title = tidy(pick_option(OPTIONS["title"], Look(start="", example=own)))
    seen = bool(preview and not preview.unread)
    is_sound = seen and not (preview and preview.problems)
    skips = not is_sound and pick_option(OPTIONS["skip_broken"])
    addition = replace(addition, name=name, title=title, skip_broken=skips)
    obstacle = _obstacle(addition, preview)
    cards = {card.name: card for card in queries.store().datasets()}
    if name in cards:
        models = queries.count_models(queries.place(name))
        lost = " If its stimuli differ, its models must be embedded again." if models else ""
        st.warning(
            f"{frame.plain(name)} exists, with {cards[name].size:,} stimuli and"
            f" {counted(models, 'model', 'models')}. The new dataset replaces it.{lost}",
            icon=":material/warning:",
        )
    words = to_words(addition)
    st.code(frame.command(*words), language="bash", wrap_lines=True)
    if obstacle:
        st.warning(frame.plain(obstacle), icon=":material/error:")

    def close() -> None:  # the next dataset starts again
        address.release(FORM)
        address.set_mark(frame.FORM, "")
        address.set_mark(UPLOAD, "")

    runner.offer("Add this dataset", words, disabled=bool(obstacle), after=close)


def _obstacle(addition: Addition, preview: Preview | None) -> str:
    """Return why the command would be refused; "" if it would not."""
    try:
        check_addition(addition)
        if addition.title:
            check_title(addition.title)
    except PlatoscopeError as error:
        return f"{error}."
    if preview is None:
        return ""
    if preview.problems and not addition.skip_broken:
        return (
            "A dataset with problems is refused. Correct the rows above, or skip what is broken and"
            " keep the rest."
        )
    if not preview.samples:
        return "No stimulus can be used; correct the problems above."
    return ""


def show_preview(addition: Addition) -> Preview | None:
    """Draw the first stimuli of a source and all its problems; None for the hub. Raise InputError
    if it cannot be read.
    """
    if addition.hub:
        return None
    held: tuple[Addition, Seen] | None = st.session_state.get(_HELD)
    source = replace(addition, name="", title="", skip_broken=False)
    if held is None or held[0] != source:
        held = st.session_state[_HELD] = source, _look(source)
    preview, pictures = held[1]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(frame.plain(_extent(preview)), width="stretch")
        forget = st.session_state.pop
        icon = ":material/refresh:"
        st.button("Check again", icon=icon, type="tertiary", on_click=forget, args=(_HELD, None))
    for note in preview.notes:
        st.caption(frame.plain(f"{note[0].upper()}{note[1:]}."))
    if preview.problems:
        _draw_problems(preview)
    gallery.draw_tiles(pictures, key="preview", width=WIDTH, clicks=gallery.Clicks(None))
    return preview


def _look(source: Addition) -> Seen:
    """Read the preview of a source; it is kept until someone looks again."""
    with st.spinner("Reading the stimuli"), queries.bar() as report:
        folder, choices = choices_of(source)
        preview = preview_folder(folder, report=report, **choices)
    return preview, [_tile(index, sample) for index, sample in enumerate(preview.samples)]


def _tile(index: int, sample: Sample) -> gallery.Tile:
    picture = ""
    if sample.image:
        picture = f"data:image/webp;base64,{b64encode(thumbnail(sample.image)).decode()}"
    (_, caption), *others = sample.captions or ((None, sample.stimulus),)
    more = counted(len(others), "more caption", "more captions") if others else ""
    return gallery.Tile(index, picture, caption, gallery.Note(more, caption), marked=False)


def _extent(preview: Preview) -> str:
    """Return the number of rows and images that were read, with levels and factors."""
    rows = counted(preview.rows, "row", "rows")
    images = counted(preview.images, "image", "images") if preview.images else ""
    levels = f" Caption levels: {', '.join(preview.levels)}." if len(preview.levels) > 1 else ""
    factors = f" Factors: {', '.join(preview.factors)}." if preview.factors else ""
    both = " and ".join(filter(None, (rows, images)))
    if not preview.unread:
        return f"Checked {both}, the whole source.{levels}{factors}"
    opened = counted(preview.images - preview.unread, "was", "were")
    return (
        f"Checked {both}; {opened} opened within {LIMITS.seconds:g} s. The job checks everything."
        f"{levels}{factors}"
    )


def _draw_problems(preview: Preview) -> None:
    left, right = st.columns([3, 1], vertical_alignment="center")
    count = counted(len(preview.problems), "problem", "problems")
    left.markdown(f"**{count}**, by row; the first row after a header is 1")
    texts = [str(one).partition(": ")[2] for one in preview.problems]
    table = pd.DataFrame({"row": [one.row for one in preview.problems], "problem": texts})
    right.download_button(
        "Problems",
        exports.to_csv(table),
        "problems.csv",
        icon=":material/download:",
        type="tertiary",
        help="All problems with their rows, as CSV.",
    )
    st.dataframe(
        table,
        hide_index=True,
        height=min(MOST_HEIGHT, 38 + 35 * len(table)),
        key="dataset-problems",
        column_config={"row": st.column_config.NumberColumn(width="small")},
    )
