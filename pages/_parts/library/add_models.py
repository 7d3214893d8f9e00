"""The form that adds models: `platoscope embed` for models of timm, the hub or a folder,
`platoscope import` for features made elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.competence.scores import published_models
from core.embedding.features import check_ready
from core.embedding.history import room_for
from core.encoders.arrays import ENDINGS
from core.encoders.catalog import spec_of_folder
from core.encoders.measured import read_content
from core.encoders.outlines import Download, Shape, shape_of, weights_of
from core.encoders.requests import EmbedRequest, ImportRequest, Pooling, Prompt
from core.encoders.zoo import name_of, read_zoo, safe
from core.errors import FeatureError, InputError, OfflineError, PlatoscopeError
from core.figures.numbers import count_text, counted
from core.jobs.queue import Job
from core.machine.memory import size_text
from core.modalities import VISION, check_modality
from core.plans.sizes import known_shape
from core.questions.words import to_words
from core.settings import choose_device, store_path
from core.stimuli.dataset import DatasetCard
from core.store import ModelEntry, Store
from core.store.editing import widths_of
from core.store.schema import embedding_file
from core.store.uploads import keep_dataset, keep_file
from pages._parts.library import changes, uploads
from pages._shared import address, controls, frame, queries, runner, selection
from pages._shared.address import bind
from pages._shared.controls import Look, pick_option
from pages._shared.queries import Place

SOURCES = {
    "timm": "timm",
    "hub": "Hugging Face",
    "folder": "Folder on the server",
    "features": "Feature files",
}
EMBED = {
    name: replace(one, name=f"embed_{name}")
    for name, one in controls.options_by_name(EmbedRequest).items()
}
IMPORT = {  # all are typed
    name: replace(one, name=f"import_{name}", kind="text", range=None, many=False)
    for name, one in controls.options_by_name(ImportRequest).items()
}
FOLDER = replace(
    EMBED["model"],
    name="embed_folder",
    many=False,
    label="Folder on the server",
    help="one model in the format of timm or transformers: config.json next to model.safetensors",
)
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
KNOWN = ("title", "level", *changes.FACTS)
WAY = "import_way"  # the control of WAYS
FEATURES = "features"  # what the address calls the file that was uploaded
FORM = (  # the controls that start again once models are queued
    *("embed_timm", "embed_hub", "embed_folder", WAY),
    *(one.name for one in (*EMBED.values(), *IMPORT.values())),
)
MOST = 20  # models of one job
SAID = 3  # models that are described once they were added
ROOM = "Space in the store: estimated from the vectors, in float32."
DASH = "A dash: unknown until the job runs."
FORMAT = """An array of n × d or n × layers × d, or a table: a row per stimulus, in the dataset's
order unless ids or file names say otherwise."""
HELP = """Also one array per layer, repeated measurements (repeats × n × units) or dissimilarities
(n × n). For many models, upload a table with one row and a `file` per model together with these
files, or all of them in a zip."""


def tell_added(job: Job) -> None:
    """Say what a job has added, what it can be used for, and link to the map."""
    dataset, added = added_by(job)
    if not added:
        return
    rows = counted(queries.store().dataset(dataset).size, "row", "rows")
    models = "; ".join(
        f"{one.card.title}: {rows}, {counted(len(one.dims), 'layer', 'layers')} of"
        f" {widths_of(one)} dimensions"
        for one in added[:SAID]
    )
    more = f"; {len(added) - SAID} more" if len(added) > SAID else ""
    weights = "; stitching and soft prompts need weights" if job.words[0] == "import" else ""
    st.success(
        frame.plain(f"Added {models}{more}. Pages that compare models show it now{weights}."),
        icon=":material/check_circle:",
    )
    query = {"dataset": [dataset], selection.KEY: [one.card.name for one in added]}
    icon = ":material/arrow_forward:"
    st.page_link("models.py", label="Show on the map", icon=icon, query_params=query)


def added_by(job: Job) -> tuple[str, list[ModelEntry]]:
    """Return the dataset and the models that a finished job has added and that are still there."""
    words, store = job.words, queries.store()
    if job.state != "done" or words[0] not in (EmbedRequest.command, ImportRequest.command):
        return "", []
    given = dict(pairwise(words))
    dataset = given.get("--subset") or given.get("--dataset", "")
    if dataset not in {card.name for card in store.datasets()}:
        return "", []
    begun, ended = (job.started_at or job.queued_at)[:19], job.ended_at or ""
    return dataset, [one for one in store.models(dataset) if begun <= one.made_at <= ended]


def draw() -> None:
    """Draw the form: source, models, sizes, command and button."""
    if not queries.store().datasets():
        raise frame.NeededError("Models are embedded over a dataset: add a dataset first.")
    at = queries.place(st.session_state["dataset"])
    card = queries.card(at)
    stimuli = counted(card.size, "stimulus", "stimuli")
    st.caption(f"For {frame.plain(card.title)} ({stimuli}), the dataset selected in the sidebar.")
    source = controls.pick_segment("From", SOURCES, "models_from", start="timm", hidden=True)
    if source == "features":
        _draw_import(at)
        return
    if source == "timm":
        specs = _pick_timm()
    elif source == "hub":
        specs = _pick_hub()
    else:
        folder = uploads.pick_path(FOLDER, example="/models/mine")
        specs = (spec_of_folder(Path(folder)),) if folder else ()
    if not specs:
        return
    request = _pick_options(at, EmbedRequest(dataset=at.dataset, model=specs))
    obstacles = _show_costs(at, request)
    if request.name:
        obstacles += _name_obstacle(at, request.name)
    titles = {entry.card.spec: entry.card.title for entry in queries.store().models(at.dataset)}
    if held := ", ".join(titles[spec] for spec in specs if spec in titles):
        done = f"Embedded already: {frame.plain(held)}. The job adds only what is missing."
        st.info(done, icon=":material/check:")
    _finish("Embed", to_words(request), obstacles)


@st.cache_resource(show_spinner="Reading timm’s list of models")
def _timm_names() -> list[str]:
    """Return the models with weights; the first call takes seconds."""
    import timm

    return [str(name) for name in timm.list_pretrained()]


def _pick_timm() -> tuple[str, ...]:
    names = _timm_names()
    chosen = st.multiselect(
        EMBED["model"].label,
        names,
        placeholder=f"type to search {len(names):,} models",
        max_selections=MOST,
        select_all=False,  # it would be first, and Enter would take it
        **_bind("embed_timm", names, kind="timm model"),
    )
    return tuple(f"timm:{name}" for name in chosen)


def _pick_hub() -> tuple[str, ...]:
    """Draw a list of language models with published competence, or of any typed id."""
    models = published_models()["model"]
    bound = _bind("embed_hub")
    chosen: list[str] = st.session_state["embed_hub"]
    published = [spec.removeprefix("hf:") for spec in models if spec.startswith("hf:")]
    ids = st.multiselect(
        EMBED["model"].label,
        list(dict.fromkeys([*published, *chosen])),
        placeholder="type to search, or any id: owner/name",
        max_selections=MOST,
        accept_new_options=True,
        select_all=False,
        filter_mode="contains",  # a typed id is that, not one of the list that resembles it
        **bound,
    )
    return tuple(f"hf:{_id_of(name)}" for name in ids)


def _bind(key: str, among: Collection[str] | None = None, *, kind: str = "") -> dict[str, str]:
    """Bind a list of models to the address, with at most MOST."""
    bound = bind(key, [], among, kind=kind)
    st.session_state[key] = st.session_state[key][:MOST]
    return bound


def _id_of(text: str) -> str:
    """Return the id in a typed id, `hf:` spec or address of its page."""
    for start in ("https://", "huggingface.co/", "hf:"):
        text = text.strip().removeprefix(start)
    return text.strip("/")


def _pick_options(at: Place, request: EmbedRequest) -> EmbedRequest:
    """Draw the options of the command; captions, pooling and prompt for language models only."""
    is_language = any(spec.startswith("hf:") for spec in request.model)
    left, middle, right = st.columns(3)
    if is_language:
        levels = [*queries.card(at).levels, *queries.store().summaries(at.dataset)]
        labels = {level: level for level in levels}
        with left:
            look = Look(labels=labels, empty=levels[0] if levels else "")
            chosen = pick_option(EMBED["caption_level"], look)
        with middle:
            pooling = pick_option(EMBED["pooling"], Look(labels=POOLINGS))
            prompt = pick_option(EMBED["prompt"], Look(labels=READ))
        request = replace(request, caption_level=chosen, pooling=pooling, prompt=prompt)
    with right if is_language else left:
        device = pick_option(EMBED["device"], Look(start="auto")) or "auto"
    name = ""
    if len(request.model) == 1 and len(request.caption_level) < 2:
        with left if is_language else middle:
            name = pick_option(EMBED["name"], Look(start="", example="its own"))
    return replace(request, device=device, name=name)


def _show_costs(at: Place, request: EmbedRequest) -> list[str]:
    """Draw size and download of each model; return why some cannot be embedded."""
    downloads: dict[str, Download] = {}
    refused: list[str] = []
    for spec in request.model:
        try:
            downloads[spec] = _ask(spec)
        except PlatoscopeError as error:
            refused.append(f"{error}.")
    try:
        choose_device(request.device)
    except PlatoscopeError as error:
        return [*refused, f"{error}."]
    if downloads:
        rows = [_cost(at, request, spec, download) for spec, download in downloads.items()]
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        reasons = dict.fromkeys(download.why for download in downloads.values())
        st.caption(frame.plain(" ".join([ROOM, DASH, *filter(None, reasons)])))
    return refused


def _cost(at: Place, request: EmbedRequest, spec: str, download: Download) -> dict[str, str]:
    times = max(1, len(request.caption_level)) if spec.startswith("hf:") else 1
    parameters, widths = _model_shape(spec)
    room = room_for(widths, queries.card(at).size)
    return {
        "model": spec,
        "parameters": count_text(parameters),
        "layers": str(len(widths) or "—"),
        "download": "none" if download.size == 0 else size_text(download.size),
        "in the store": size_text(None if room is None else room * times),
    }


@st.cache_data(max_entries=256, ttl=600, show_spinner="Checking the model")
def _ask(spec: str) -> Download:
    return weights_of(spec)


@st.cache_data(max_entries=256, ttl=600, show_spinner="Checking the model")
def _model_shape(spec: str) -> Shape:
    shape = known_shape(spec)
    with suppress(OfflineError):  # the reason is that of the download
        shape = shape_of(spec) if shape[0] is None else shape
    return shape


def _draw_import(at: Place) -> None:
    st.caption(FORMAT)
    label = "Features computed elsewhere"
    path = uploads.pick(label, [".zip", *ENDINGS], _keep, mark=FEATURES, help=HELP)
    if path is None or not path.is_file():
        return
    if read_zoo(ImportRequest(str(path), at.dataset)):
        _draw_table(at, path)
        return
    left, middle, right = st.columns(3)
    with left:
        typed = pick_option(IMPORT["name"], Look(start=name_of(path.name)))
        name = safe(typed)
    with right:
        subset = pick_option(IMPORT["subset"], Look(start=""))
    with middle:
        modality = pick_option(IMPORT["modality"], Look(start=VISION.name))
    holds = {way: way for way in WAYS}
    way = controls.pick_segment("The file holds", holds, WAY, start="features")
    request = ImportRequest(str(path), at.dataset, name, modality, subset=subset, **WAYS[way])
    obstacles = _name_obstacle(at, name)
    try:
        with st.expander("About the model: family, size, scores"):
            said = {one: pick_option(IMPORT[one], Look(start="")) for one in KNOWN}
        known = changes.read_facts(said)
        title = said["title"] or (typed if name != typed else "")
        request = replace(request, title=title, level=said["level"], facts=known)
        check_modality(modality)
        st.caption(frame.plain(_look(request, queries.store(), queries.card(at))))
    except PlatoscopeError as error:
        obstacles.append(f"{error}.")
    _finish("Import", to_words(request), obstacles)


def _keep(files: uploads.Files, needed: list[str]) -> Path:
    """Keep uploaded files and return the one to import: the table of models, or the only file of
    features.
    """
    if len(files) == 1 and not files[0][0].lower().endswith(".zip"):
        return keep_file(store_path(), files[0][0], bytes(files[0][1]), needed=needed)
    folder = keep_dataset(store_path(), files, needed=needed)
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in ENDINGS]
    heads = [path for path in found if read_zoo(ImportRequest(str(path)))] or found
    if len(heads) != 1:
        raise InputError(
            f"expected one file of features, or several with one table of models whose column file"
            f" names them; got {len(heads)} files of features or tables: leave out the others"
        )
    return heads[0]


def _look(request: ImportRequest, store: Store, card: DatasetCard) -> str:
    """Return the shape of a file as a text; raise FeatureError if it cannot be imported."""
    path = Path(request.file)
    try:
        rows, widths, notes = _shape(request, tuple(store.stimuli(card.name)["stimulus"]))
    except FeatureError as error:  # without the path in the store
        raise FeatureError(str(error).replace(str(path), path.name)) from error
    dims = ", ".join(map(str, dict.fromkeys(widths)))
    return f"{len(widths)} × {rows:,} × {dims}: layers, stimuli, dims. {' '.join(notes)}"


@st.cache_data(max_entries=256, show_spinner="Reading the features")
def _shape(
    request: ImportRequest, stimuli: tuple[str, ...]
) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    """Return the rows of a file, the widths of its layers, and notes on how it was read; raise
    FeatureError for unreadable or non-finite values. The path identifies the content.
    """
    content = read_content(request, stimuli)
    layers = content.layers
    if content.covers is not None:
        stimuli = tuple(stimuli[place] for place in content.covers)
    check_ready(layers, stimuli, Path(request.file).name)
    return len(layers[0]), tuple(layer.shape[1] for layer in layers), content.notes


def _draw_table(at: Place, path: Path) -> None:
    """Draw the shape of each file of a table of models, or its error."""
    modality = pick_option(IMPORT["modality"], Look(start=VISION.name))
    request = ImportRequest(str(path), at.dataset, modality=modality)
    zoo = read_zoo(request)
    held, wrong = dict[str, str](), list[str]()
    for line, row in zoo.rows.items() if zoo else ():
        try:
            if isinstance(row, InputError):
                raise row
            check_modality(row.modality)
            held[row.name] = _look(row, queries.store(), queries.card(at))
            wrong += _name_obstacle(at, row.name)
        except PlatoscopeError as error:
            wrong.append(f"Line {line}: {error}.")
    st.dataframe(pd.DataFrame({"model": [*held], "file": [*held.values()]}), hide_index=True)
    _finish("Import", to_words(request), wrong)


def _name_obstacle(at: Place, name: str) -> list[str]:
    """Return why a name cannot be used for a new model, if so."""
    try:
        embedding_file(store_path(), at.dataset, name)
    except PlatoscopeError as error:
        return [f"{error}."]
    if name in {entry.card.name for entry in queries.store().models(at.dataset)}:
        return [f"This dataset already has a model named {name}. Choose another name."]
    return []


def _finish(label: str, words: list[str], obstacles: list[str]) -> None:
    """Draw what prevents a command, the button that queues it, and the command."""
    for obstacle in obstacles:
        st.warning(frame.plain(obstacle), icon=":material/error:")

    def close() -> None:  # the next form starts again
        address.release(FORM)
        address.set_mark(FEATURES, "")
        address.set_mark(frame.FORM, "")

    runner.offer(label, words, disabled=bool(obstacles), after=close)
    st.code(frame.command(*words), language="bash", wrap_lines=True)
