"""Where models come from: timm's list, the hub, the Cave, or a folder on the server. Each control
returns the specs of the models that are chosen.
"""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import streamlit as st

from core.cave.demo import shipped_specs
from core.competence.scores import published_models
from core.encoders.catalog import spec_of_folder
from core.encoders.requests import EmbedRequest
from pages._parts.library import folders
from pages._shared import controls, queries
from pages._shared.address import bind

MODELS = controls.option_named(EmbedRequest, "model")
FOLDER = replace(
    MODELS,
    name="embed_folder",
    label="Folder on the server",
    help="one model in the format of timm or transformers: config.json beside model.safetensors",
)
CONTROLS = ("embed_timm", "embed_hub", "embed_cave", "embed_folder")
MOST = 20  # models of one job


@st.cache_resource(show_spinner=False)
def _timm_names() -> Future[list[str]]:
    """Begin to read timm's list, which takes seconds; the page is drawn meanwhile."""
    return ThreadPoolExecutor(max_workers=1).submit(_read_timm)


def _read_timm() -> list[str]:
    import timm  # seconds that a page without it must not pay

    return [str(name) for name in timm.list_pretrained()]


@st.fragment(run_every="0.5s")
def _await_timm() -> None:
    if _timm_names().done():
        st.rerun(scope="app")
    st.caption("Reading timm's list of models …")


def pick_timm() -> tuple[str, ...]:
    """Choose among the models of which timm knows published weights."""
    reading = _timm_names()
    if not reading.done():
        _await_timm()
        return ()
    names = reading.result()
    chosen = st.multiselect(
        MODELS.label,
        names,
        placeholder=f"type to search {len(names):,} models",
        max_selections=MOST,
        select_all=False,  # it would stand first, where Enter takes it
        **_bind("embed_timm", names, kind="timm model"),
    )
    return tuple(f"timm:{name}" for name in chosen)


def pick_hub() -> tuple[str, ...]:
    """Choose among the language models of which figures are published, or type any id."""
    models = published_models()["model"]
    bound = _bind("embed_hub")
    chosen: list[str] = st.session_state["embed_hub"]
    published = [spec.removeprefix("hf:") for spec in models if spec.startswith("hf:")]
    ids = st.multiselect(
        MODELS.label,
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
    """Bind a control of models to the address, of which the first few count."""
    bound = bind(key, [], among, kind=kind)
    st.session_state[key] = st.session_state[key][:MOST]
    return bound


def _id_of(text: str) -> str:
    """Return the id in what was typed: itself, with `hf:`, or the address of its page."""
    for start in ("https://", "huggingface.co/", "hf:"):
        text = text.strip().removeprefix(start)
    return text.strip("/")


def pick_cave(dataset: str) -> tuple[str, ...]:
    """Choose among the models trained in the Cave that are not embedded over this dataset."""
    held = {entry.card.name for entry in queries.store().models(dataset)}
    specs = {name: spec for name, spec in shipped_specs().items() if name not in held}
    if not specs:
        st.info("All models of the Cave are embedded over this dataset.", icon=":material/check:")
        return ()
    chosen = st.multiselect(
        MODELS.label,
        list(specs),
        placeholder=f"{len(specs)} models trained in the Cave",
        max_selections=MOST,
        **_bind("embed_cave", specs, kind="model of the Cave"),
    )
    return tuple(specs[name] for name in chosen)


def pick_folder() -> tuple[str, ...]:
    """Name a folder on the server that holds a model."""
    folder = folders.pick(FOLDER, example="/models/mine")
    return (spec_of_folder(Path(folder)),) if folder else ()
