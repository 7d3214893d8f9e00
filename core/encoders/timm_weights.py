"""A timm model with its weights in: published ones from the hub, or a checkpoint of one's own,
strictly matched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import timm
import torch
from safetensors import SafetensorError

from core.encoders.building import MAKING, outlining, refusing
from core.encoders.checkpoint import (
    FORMATS,
    digest_files,
    digest_state,
    read_notes,
    read_weights,
    store_name,
)
from core.encoders.fields import check_vision, read_json
from core.encoders.requests import HUB, UNTRAINED
from core.errors import EncoderError, OfflineError, UnknownNameError
from core.hub.fetch import asking, cached, fetch_snapshot
from core.hub.repository import Repository
from core.machine.memory import check_memory, is_out_of_memory
from core.settings import check_readable
from core.unexpected import summarize

UNREADABLE = (  # what damaged weights end in
    SafetensorError,
    UnpicklingError,
    RuntimeError,
    EOFError,
    LookupError,
    ValueError,
)
FETCHED = ("config.json", "card.json", "model.safetensors")
FITTING = (
    "expected exactly this architecture's weights (a folder's config.json can give its model_args)"
)
SOURCES = (
    "url",
    "file",
    "hf_hub_id",
    "hf_hub_filename",
    "source",
    "custom_load",
)  # where published weights would come from

# arguments of timm's factory that decide what is loaded and how strictly, not what the model is
CONTROLS = (
    "pretrained",
    "pretrained_cfg",
    "pretrained_cfg_overlay",
    "pretrained_strict",
    "pretrained_model_args",
    "pretrained_filter_fn",
    "checkpoint_path",
    "cache_dir",
)


@dataclass(frozen=True)
class Loaded:
    """A model with its weights in. published: `architecture.tag` of published weights, None for a
    checkpoint. revision: the commit of the hub's repository that was named, else empty.
    """

    model: Any
    name: str
    published: str | None
    notes: Mapping[str, Any]
    weights: str
    revision: str = ""


def check_name(name: str) -> str:
    """Return a name that timm has, with or without a tag, of a former one the present; raises
    UnknownNameError.
    """
    names = {*timm.list_models(), *timm.list_models(pretrained=True)}
    if name in names:
        return name
    if now := timm.models.get_deprecated_models().get(name):
        return str(now)
    raise UnknownNameError("timm model", name, names)


def load_published(name: str) -> Loaded:
    """Load the weights that timm publishes for `name`; raise EncoderError where it has none,
    OfflineError where none is here.
    """
    published = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    if published is None or not published.has_weights:
        raise EncoderError(
            f"timm publishes no weights for {name}; give your own as timm:{name}@CHECKPOINT"
        )
    spec, instead = f"timm:{name}", f"timm:{name}@CHECKPOINT with a weights file"
    if not published.hf_hub_id:
        check_readable(spec)
        try:
            model = _create_published(name, instead, f"{torch.hub.get_dir()}/checkpoints")
        except OSError as error:
            raise OfflineError(
                f"{spec} cannot be fetched: {published.url}: {summarize(error)}; try again later,"
                f" or use {instead}"
            ) from error
        return _loaded(name, model, digest_state(model.state_dict()))
    wanted = Repository(published.hf_hub_id, spec, instead)
    with asking(wanted):
        model = _create_published(name, instead, f"{wanted.cache}")
    here = cached(wanted, published.hf_hub_filename or "model.safetensors")
    return _loaded(name, model, digest_files([here]) if here else digest_state(model.state_dict()))


def _create_published(name: str, instead: str, place: str) -> Any:
    """Make a model with the weights that timm publishes for it and keeps in a place; raise
    EncoderError if they do not fit. Too little memory stays what it is.
    """
    try:
        return timm.create_model(name, pretrained=True)
    except UNREADABLE as error:
        if is_out_of_memory(error):
            raise
        raise EncoderError(
            f"the weights that timm publishes for {name} cannot be read"
            f" ({' '.join(str(error).split())[:200]}); delete them in {place} to fetch them again,"
            f" or use {instead}"
        ) from error


def load_untrained(name: str) -> Loaded:
    """Return a model with the weights that timm draws for it before any training, from seed 0."""
    with MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False)
    notes = {"title": f"{name} {UNTRAINED}", "objective": UNTRAINED}
    weights = digest_state(model.state_dict())
    return Loaded(model, f"{store_name(name)}-{UNTRAINED}", None, notes, weights)


def _loaded(name: str, model: Any, weights: str) -> Loaded:
    source = model.pretrained_cfg
    published = f"{source['architecture']}.{source.get('tag') or ''}"
    return Loaded(model, store_name(name), published, {}, weights)


def load_from_hub(place: str) -> Loaded:
    """Load a model of the hub's in timm's format, `ID` or `ID@REVISION`; raise EncoderError, or
    OfflineError where none is here.
    """
    repository, _, revision = place.partition("@")
    instead = "timm:NAME@FOLDER with a copy of it"
    wanted = Repository(repository, f"timm:{HUB}{place}", instead, revision=revision or None)
    folder = fetch_snapshot(wanted, FETCHED)
    config = read_json(folder / "config.json") if (folder / "config.json").exists() else {}
    name = str(config.get("architecture"))
    if not timm.is_model(name):
        raise EncoderError(
            f"timm:{HUB}{repository} is not a model of timm's: its config.json names the"
            f" architecture {config.get('architecture')!r}"
        )
    loaded = load_checkpoint(name, folder)
    tag = loaded.model.pretrained_cfg.get("tag")
    published = f"{name}.{tag}" if tag else None
    return replace(loaded, name=store_name(repository), published=published, revision=folder.name)


def load_checkpoint(name: str, place: Path) -> Loaded:
    """Load timm's `name` with the weights of a file, or of a folder in timm's hub format; raise
    EncoderError.

    Every tensor of the state dict must find its place: timm alone would leave what is missing at
    random.
    """
    file = find_weights(place)
    config = read_config(place, name) if place.is_dir() else {}
    check_memory(
        2 * file.stat().st_size,  # as they are read, and in the model that takes them
        f"the weights in {file}",
        "free some, or choose a smaller model",
    )
    state = read_weights(file)
    settings = read_settings(name, config)
    shapes = {name: tensor.shape for name, tensor in state.items()}
    classes = count_classes(shapes, settings.get("classifier"))
    settings = {key: value for key, value in settings.items() if key not in SOURCES}
    settings.update(
        architecture=name.partition(".")[0], state_dict=state, num_classes=classes, label_offset=0
    )
    arguments = {**config.get("model_args", {}), "num_classes": classes}
    with MAKING, refusing(f"{file} does not fit {name}", FITTING):
        with outlining(place, list(shapes.values())):
            timm.create_model(settings["architecture"], pretrained=False, **arguments)
        model = timm.create_model(
            settings["architecture"], pretrained=True, pretrained_cfg=settings, **arguments
        )
    model.pretrained_cfg.pop("state_dict", None)  # a second copy of the weights
    notes = read_notes(place if place.is_dir() else place.parent)
    return Loaded(model, store_name(str(place)), None, notes, digest_files([file]))


def find_weights(place: Path) -> Path:
    """Return the weights file that a checkpoint names: itself, or the one in a folder; EncoderError
    where there is none.
    """
    if place.is_file():
        return place
    forms = ", ".join(FORMATS)
    if not place.is_dir():
        raise EncoderError(
            f"there is no checkpoint at {place}; expected a weights file ({forms}) or a folder"
            " with one"
        )
    preferred = place / "model.safetensors"
    files = (
        [preferred]
        if preferred.exists()
        else [path for form in FORMATS for path in sorted(place.glob(f"*{form}"))]
    )
    if len(files) != 1:
        has = ", ".join(path.name for path in files) or "none"
        raise EncoderError(
            f"{place} must hold model.safetensors or one weights file ({forms}); it has {has}"
        )
    return files[0]


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """Read a folder's config.json in timm's hub format and check that it is of architecture `name`;
    raise EncoderError.
    """
    path = folder / "config.json"
    if not path.exists():
        raise EncoderError(
            f"{folder} has no config.json; expected timm's, with architecture, model_args and"
            " pretrained_cfg"
        )
    config = read_json(path)
    architecture = config.get("architecture")
    if architecture != name.partition(".")[0]:
        raise EncoderError(
            f"{path} is of architecture {architecture!r}, the spec says {name!r}; use"
            f" timm:{architecture}@{folder}"
        )
    if not all(
        isinstance(config.setdefault(key, {}), dict) for key in ("model_args", "pretrained_cfg")
    ):
        raise EncoderError(f"{path} must hold objects under model_args and pretrained_cfg")
    check_vision(path, config["pretrained_cfg"])
    if foreign := sorted(config["model_args"].keys() & set(CONTROLS)):
        raise EncoderError(
            f"{path} has model_args that would load other weights: {', '.join(foreign)}; take"
            " them out"
        )
    return config


def read_settings(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what timm knows of the weights that it publishes for `name`, and what a checkpoint's
    own config says in its place.
    """
    published = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    return {**(published.to_dict() if published else {}), **config.get("pretrained_cfg", {})}


def count_classes(
    shapes: Mapping[str, Sequence[int]], classifier: str | Sequence[str] | None
) -> int:
    """Return how many outputs the head of a checkpoint has, 0 where it has none.

    shapes: of its tensors by name. classifier: what timm calls the head.
    """
    head = classifier if isinstance(classifier, str) else (classifier or ("head",))[0]
    weight = shapes.get(f"{head}.weight")
    return weight[0] if weight else 0
