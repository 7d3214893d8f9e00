"""Adding a dataset: a folder on the server, an upload, or a data set of the hub becomes one
`platoscope dataset add`, which is previewed, shown and queued.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import PlatoscopeError
from core.figures.numbers import counted
from core.jobs.job import Job
from core.questions.words import to_words
from core.stimuli.addition import OF_HUB, Addition, check_addition, settled
from core.stimuli.hub import DEFAULTS, PRESETS, check_id
from core.stimuli.preview import Preview
from core.stimuli.table import list_tables
from core.store.listing import check_title, tidy
from core.store.uploads import safe_name
from pages._parts.library import folders, previews, uploads
from pages._shared import address, controls, frame, queries, runner

NEEDED = """Images and a table with a row per caption: `image`, a file's name, and `caption`, its
text. Also the captions of COCO and Flickr, texts named as the images are, tars, and Parquet files
with images. Images alone and texts alone are taken, too."""
SOURCES = {
    "upload": "Upload",
    "folder": "Folder on the server",
    "hub": "Hugging Face",
    "ids": "Ids alone",
}
OPTIONS = controls.options_by_name(Addition)
FORM = ("from", *OPTIONS)  # the controls that start anew once a dataset is queued


def offer_added(job: Job) -> None:
    """Offer to choose the dataset that a job has added, where another one is chosen."""
    if job.state != "done" or " ".join(job.words[:2]) != Addition.command:
        return
    name = job.words[2]
    others = {card.name for card in queries.store().datasets()} - {st.session_state["dataset"]}
    if name in others:
        st.button("Show it", icon=":material/arrow_forward:", on_click=_choose, args=(name,))


def _choose(name: str) -> None:
    """Choose a dataset for all pages; its job has had its say."""
    runner.forget()
    st.session_state["dataset"] = name
    address.redraw_page()


def draw() -> None:
    """Draw the form: from where, a preview, the command and its button."""
    source = controls.pick_segment("From", SOURCES, "from", start="upload", hidden=True)
    addition = PICKERS[source]()
    if not (addition.folder or addition.hub or addition.ids):
        return
    preview = None
    with frame.part():  # a hub that does not answer now may answer the job
        preview = previews.show(addition)
    if preview or addition.hub:
        _finish(addition, preview)


def _pick_upload() -> Addition:
    folder = uploads.pick()
    if folder is None:
        st.caption(NEEDED)
        return Addition()
    return _with_table(str(folder))


def _pick_folder() -> Addition:
    """Choose a folder that the server can read."""
    folder = folders.pick(OPTIONS["folder"], example="/data/photos")
    if not folder:
        st.caption(NEEDED)
    if not os.path.isdir(folder):
        return Addition(folder=folder)
    return replace(_with_table(folder), link=controls.pick_switch(OPTIONS["link"]))


def _pick_ids() -> Addition:
    """Choose a file of ids that the server can read."""
    return Addition(ids=folders.pick(OPTIONS["ids"], example="/data/ids.csv"))


def _with_table(folder: str) -> Addition:
    """Choose the caption table of a folder that holds several and its columns, and whether it is
    all that is read; or images alone where the folder holds none.
    """
    tables = [str(path.relative_to(folder)) for path in list_tables(Path(folder))]
    if not tables:
        return Addition(folder=folder, images_only=controls.pick_switch(OPTIONS["images_only"]))
    table = ""
    if len(tables) > 1 and not settled(Addition(folder=folder)).hub:
        table = controls.pick_choice(OPTIONS["table"], tables, usual=tables[0])
    texts_only = controls.pick_switch(OPTIONS["texts_only"])
    names = ("text_column",) if texts_only else ("image_column", "text_column")
    with st.expander("Columns of other names"):
        columns: dict[str, Any] = {name: controls.pick_text(OPTIONS[name]) for name in names}
    return replace(Addition(folder=folder, table=table, texts_only=texts_only), **columns)


def _pick_hub() -> Addition:
    """Choose a data set of the hub; raises InputError for what can be none."""
    hub = controls.pick_text(OPTIONS["hub"], example="wit_1024, or owner/name")
    if hub:
        check_id(hub)
    usual = {"revision": "main", **DEFAULTS, **PRESETS.get(hub, {})}
    texts = []
    for name, column in zip(OF_HUB, st.columns(len(OF_HUB)), strict=True):
        with column:
            texts.append(controls.pick_text(OPTIONS[name], example=usual[name]))
    revision, split, image_column, text_column = texts
    images_only = not text_column and controls.pick_switch(OPTIONS["images_only"])
    offered = not (images_only or image_column)
    texts_only = offered and controls.pick_switch(OPTIONS["texts_only"])
    return Addition(
        hub=hub,
        revision=revision,
        split=split,
        image_column=image_column,
        text_column=text_column,
        images_only=images_only,
        texts_only=texts_only,
    )


PICKERS = {"upload": _pick_upload, "folder": _pick_folder, "hub": _pick_hub, "ids": _pick_ids}


def _finish(addition: Addition, preview: Preview | None) -> None:
    """Draw what is asked of any source, the command, and the button that queues it."""
    own = safe_name((addition.folder or addition.hub or Path(addition.ids).stem).rstrip("/"))
    left, right = st.columns(2)
    with left:
        name = controls.pick_text(OPTIONS["name"], start=own)
    with right:
        title = tidy(controls.pick_text(OPTIONS["title"], example=own))
    skips = not _is_sound(preview) and controls.pick_switch(OPTIONS["skip_broken"])
    addition = replace(addition, name=name, title=title, skip_broken=skips)
    obstacle = _obstacle(addition, preview)
    _tell_replaced(name)
    words = to_words(addition)
    st.code(frame.command(*words), language="bash", wrap_lines=True)
    if obstacle:
        st.warning(frame.plain(obstacle), icon=":material/error:")
    runner.offer("Add this dataset", words, disabled=bool(obstacle), after=_close)


def _is_sound(preview: Preview | None) -> bool:
    """Return whether everything was looked at and nothing is broken."""
    return bool(preview and preview.is_whole and not preview.unopened and not preview.problems)


def _close() -> None:
    """Close the form of a dataset that is queued; the next one starts anew."""
    address.release(FORM)
    address.set_mark(frame.FORM, "")
    address.set_mark(uploads.UPLOAD, "")


def _obstacle(addition: Addition, preview: Preview | None) -> str:
    """Say what the command would refuse; "" for nothing."""
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


def _tell_replaced(name: str) -> None:
    """Say what a dataset of the same name loses."""
    cards = {card.name: card for card in queries.store().datasets()}
    if name in cards:
        models = queries.count_models(queries.place(name))
        lost = " Unless it is the same, its models must be embedded again." if models else ""
        st.warning(
            f"{frame.plain(name)} exists, with {cards[name].size:,} stimuli and"
            f" {counted(models, 'model', 'models')}. What is added takes its place.{lost}",
            icon=":material/warning:",
        )
