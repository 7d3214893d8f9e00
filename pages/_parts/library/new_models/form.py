"""Adding models: those of timm, of the hub, of the Cave or of a folder become one `platoscope
embed`, features made elsewhere one `platoscope import`; what they take is said before they are
queued.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.encoders.requests import EmbedRequest, ImportRequest, Pooling, Prompt
from core.encoders.zoo import name_of, read_zoo
from core.errors import InputError, PlatoscopeError
from core.figures.numbers import counted
from core.modalities import VISION, check_modality
from core.questions.words import to_words
from core.settings import store_path
from core.store.schema import embedding_file
from pages._parts.library import changes
from pages._parts.library.new_models import facts, features, sources
from pages._shared import address, controls, frame, queries, runner
from pages._shared.queries import Place

SOURCES = {
    "timm": "timm",
    "hub": "Hugging Face",
    "cave": "The Cave",
    "folder": "Folder on the server",
    "features": "Feature files",
}
EMBED = {
    name: replace(one, name=f"embed_{name}")
    for name, one in controls.options_by_name(EmbedRequest).items()
}
IMPORT = {
    name: replace(one, name=f"import_{name}")
    for name, one in controls.options_by_name(ImportRequest).items()
}
POOLINGS: dict[Pooling, str] = {
    "auto": "as its folder says, or mean",
    "mean": "mean of tokens",
    "last": "last token",
    "first": "first token",
    "max": "maximum over tokens",
}
READ: dict[Prompt, str] = {"none": "the caption", "paper": "the paper's sentence around it"}
WAYS: Mapping[str, Mapping[str, Any]] = {  # what a file holds, in the words of the command
    "features": {},
    "trials": {"repeats": "trials"},
    "subjects": {"repeats": "subjects"},
    "dissimilarities": {"dissimilarities": True},
}
HOLDS = {
    "features": "features",
    "trials": "trials",
    "subjects": "subjects",
    "dissimilarities": "dissimilarities",
}
KNOWN = ("title", "level", *changes.FACTS)
WAY = "import_way"  # the control of HOLDS
FORM = (  # the controls that start anew once models are queued
    *sources.CONTROLS,
    WAY,
    *(one.name for one in (*EMBED.values(), *IMPORT.values())),
)


def draw() -> None:
    """Draw the form: from where, which models, what they take, the command and its button."""
    if not queries.store().datasets():
        raise frame.NeededError("Models are embedded over a dataset: add a dataset first.")
    at = queries.place(st.session_state["dataset"])
    card = queries.card(at)
    stimuli = counted(card.size, "stimulus", "stimuli")
    st.caption(f"Over {frame.plain(card.title)}, with {stimuli}: the dataset in the sidebar.")
    source = controls.pick_segment("From", SOURCES, "models_from", start="timm", hidden=True)
    if source == "features":
        _draw_import(at)
        return
    if specs := _pick(source, at):
        _draw_embed(at, specs)


def _pick(source: str, at: Place) -> tuple[str, ...]:
    if source == "timm":
        return sources.pick_timm()
    if source == "hub":
        return sources.pick_hub()
    return sources.pick_cave(at.dataset) if source == "cave" else sources.pick_folder()


def _draw_embed(at: Place, specs: tuple[str, ...]) -> None:
    request = _pick_options(at, EmbedRequest(dataset=at.dataset, model=specs))
    obstacles = facts.show(at, request)
    if request.name:
        obstacles += _name_obstacle(at, request.name)
    _tell_held(at, specs)
    _finish("Embed", to_words(request), obstacles)


def _pick_options(at: Place, request: EmbedRequest) -> EmbedRequest:
    """Choose what the command leaves open; captions and how they are read concern language
    models.
    """
    levels, pooling, prompt = [], request.pooling, request.prompt
    is_language = any(spec.startswith("hf:") for spec in request.model)
    left, middle, right = st.columns(3)
    if is_language:
        with left:
            levels = _pick_levels(at)
        with middle:
            pooling = controls.pick_labeled(EMBED["pooling"], POOLINGS)
            prompt = controls.pick_labeled(EMBED["prompt"], READ)
    with right if is_language else left:
        device = controls.pick_text(EMBED["device"], start="auto") or "auto"
    name = ""
    if len(request.model) == 1 and len(levels) < 2:
        with middle if not is_language else left:
            name = controls.pick_text(EMBED["name"], example="its own")
    read = replace(request, caption_level=tuple(levels), pooling=pooling, prompt=prompt)
    return replace(read, device=device, name=name)


def _pick_levels(at: Place) -> list[str]:
    one, store = EMBED["caption_level"], queries.store()
    levels = [*queries.card(at).levels, *store.summaries(at.dataset)]
    return st.multiselect(
        one.label,
        levels,
        placeholder=levels[0] if levels else "",
        help=controls.sentence(one.help),
        **address.bind(one.name, [], levels, kind="caption level"),
    )


def _tell_held(at: Place, specs: tuple[str, ...]) -> None:
    """Say which models are embedded already: a job that finds its work done ends at once."""
    titles = {entry.card.spec: entry.card.title for entry in queries.store().models(at.dataset)}
    held = [titles[spec] for spec in specs if spec in titles]
    if held:
        names = frame.plain(", ".join(held))
        st.info(
            f"Embedded already: {names}. The job adds only what is missing.",
            icon=":material/check:",
        )


def _draw_import(at: Place) -> None:
    path = features.pick()
    if path is None:
        return
    if read_zoo(ImportRequest(str(path), at.dataset)):
        _draw_table(at, path)
        return
    left, middle, right = st.columns(3)
    with left:
        name = controls.pick_text(IMPORT["name"], start=name_of(path.name))
    with right:
        subset = controls.pick_text(IMPORT["subset"])
    with middle:
        modality = controls.pick_text(IMPORT["modality"], start=VISION.name)
    way = controls.pick_segment("The file holds", HOLDS, WAY, start="features")
    request = ImportRequest(str(path), at.dataset, name, modality, subset=subset, **WAYS[way])
    obstacles = _name_obstacle(at, name)
    try:
        with st.expander("What is known of it"):
            said = {one: controls.pick_text(IMPORT[one]) for one in KNOWN}
        request = replace(
            request, title=said["title"], level=said["level"], facts=changes.read_facts(said)
        )
        check_modality(modality)
        st.caption(frame.plain(features.look(request, queries.store(), queries.card(at))))
    except PlatoscopeError as error:
        obstacles.append(f"{error}.")
    _finish("Import", to_words(request), obstacles)


def _draw_table(at: Place, path: Path) -> None:
    """Say what is in the file of each row of a table of models, or what is wrong with it."""
    modality = controls.pick_text(IMPORT["modality"], start=VISION.name)
    request = ImportRequest(str(path), at.dataset, modality=modality)
    zoo = read_zoo(request)
    held, wrong = dict[str, str](), list[str]()
    for line, row in zoo.rows.items() if zoo else ():
        try:
            if isinstance(row, InputError):
                raise row
            check_modality(row.modality)
            held[row.name] = features.look(row, queries.store(), queries.card(at))
            wrong += _name_obstacle(at, row.name)
        except PlatoscopeError as error:
            wrong.append(f"Line {line}: {error}.")
    st.dataframe(pd.DataFrame({"model": [*held], "file": [*held.values()]}), hide_index=True)
    _finish("Import", to_words(request), wrong)


def _name_obstacle(at: Place, name: str) -> list[str]:
    """Say why a name cannot be that of a new model; nothing where it can."""
    try:
        embedding_file(store_path(), at.dataset, name)
    except PlatoscopeError as error:
        return [f"{error}."]
    if name in {entry.card.name for entry in queries.store().models(at.dataset)}:
        return [f"{name} is a model over this dataset already. Choose another name."]
    return []


def _finish(label: str, words: list[str], obstacles: list[str]) -> None:
    """Draw the command, what stands in its way, and the button that queues it."""
    st.code(frame.command(*words), language="bash", wrap_lines=True)
    for obstacle in obstacles:
        st.warning(frame.plain(obstacle), icon=":material/error:")
    runner.offer(label, words, disabled=bool(obstacles), after=_close)


def _close() -> None:
    """Close the form of models that are queued; the next one starts anew."""
    address.release(FORM)
    address.set_mark(features.FILE, "")
    address.set_mark(frame.FORM, "")
