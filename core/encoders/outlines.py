"""What is known of a model before its weights are read: its parameters, the widths of its layers,
and what is still to be fetched.

Architectures are built on torch's `meta` device, which computes shapes alone: a model of any size
takes a moment and no memory. Files of the hub are counted there, not fetched.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.encoders.building import MAKING, outlining, read_shapes, refusing
from core.encoders.downloads import (
    SINGLE,
    WEIGHTS,
    Download,
    download_of,
    repository_of,
)
from core.encoders.requests import HUB, PATCHES, UNTRAINED, split_marks
from core.errors import OfflineError
from core.hub.fetch import cached, fetch_file
from core.settings import expand

if TYPE_CHECKING:
    from timm.models import PretrainedCfg

CHECK = "check its config.json"
PLAIN = ("vit_", "deit", "beit", "eva")  # begin names of transformers over patches of one size
ON_THIS_MACHINE = Download(0)


@dataclass(frozen=True)
class Outline:
    """What is known of a model before its weights are read.

    parameters: None where unknown. widths: of its layers in order, empty where unknown. download:
    what is still to be fetched, nothing where the weights are on this machine. sees: whether
    a model of transformers reads images.
    """

    parameters: int | None = None
    widths: tuple[int, ...] = ()
    download: Download = ON_THIS_MACHINE
    sees: bool = False


def outline(spec: str) -> Outline:
    """Return the outline of `timm:NAME`, `timm:NAME@FOLDER`, `timm:NAME@untrained`,
    `timm:hf-hub:ID`, `hf:ID` or `hf:FOLDER`.

    Raises EncoderError for a model that the hub does not have or keeps closed, and for a folder
    that holds none.
    """
    bare, marks = split_marks(spec)
    kind, _, place = bare.partition(":")
    if place.startswith(HUB):
        return Outline(download=weights_of(spec))
    if kind == "timm":
        name, _, folder = place.partition("@")
        is_kept = folder not in ("", UNTRAINED)
        made = _of_timm(name, expand(folder) if is_kept else None)
        return replace(made, download=weights_of(spec))
    folder = os.path.expanduser(place)
    is_here = os.path.isdir(folder)  # a very long id is no path, and no error
    part = marks.removesuffix(PATCHES)
    if is_here:
        return _of_transformers(Path(folder), part, ON_THIS_MACHINE)
    return _of_hub(place, part)


def weights_of(spec: str) -> Download:
    """Return what is still to be fetched of a spec's weights, without building the model;
    nothing of a checkpoint or folder on this machine. Raises as `outline`.
    """
    kind, _, place = split_marks(spec)[0].partition(":")
    if place.startswith(HUB):
        return download_of(place.removeprefix(HUB), (SINGLE,))
    if kind == "hf" and not os.path.exists(os.path.expanduser(place)):
        return download_of(place, WEIGHTS)
    if kind == "hf" or "@" in place:
        return ON_THIS_MACHINE
    return _download_of_timm(place, _published(place))


def patches_of(spec: str) -> int | None:
    """Return how many patches a Vision Transformer that timm publishes sees of an image; None for
    any other model.
    """
    kind, _, place = split_marks(spec)[0].partition(":")
    name = place.partition("@")[0]
    patch = re.search(r"_patch(\d+)", name)
    if kind != "timm" or not name.startswith(PLAIN) or not patch:
        return None
    published = _published(name)
    return (published.input_size[-1] // int(patch[1])) ** 2 if published else None


def _published(name: str) -> PretrainedCfg | None:
    """Return what timm says of the weights that it publishes; raises UnknownNameError."""
    import timm  # as below

    from core.encoders.timm_weights import check_name

    name = check_name(name)
    return timm.models.get_pretrained_cfg(name, allow_unregistered=True)


def _of_timm(name: str, folder: Path | None) -> Outline:
    import timm  # seconds that a page without it must not pay
    import torch
    from timm.data import resolve_data_config

    from core.encoders.timm_weights import check_name, count_classes, read_config, read_settings
    from core.encoders.vision import read_layers

    name = check_name(name)
    config = read_config(folder, name) if folder else {}
    published = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    shapes = read_shapes([folder / SINGLE]) if folder else None
    if shapes is None:
        classes = published.num_classes if published else 0
    else:
        classes = count_classes(shapes, read_settings(name, config).get("classifier"))
    arguments = {**config.get("model_args", {}), "num_classes": classes}
    bounds = None if shapes is None else list(shapes.values())
    with (
        MAKING,
        refusing(f"{folder or name} is no model of timm's that can be made", CHECK),
        outlining(folder or name, bounds),
        torch.inference_mode(),
    ):
        model = timm.create_model(name, pretrained=False, **arguments).eval()
        size = resolve_data_config(config.get("pretrained_cfg", {}), model=model)["input_size"]
        widths = tuple(layer.shape[1] for layer in read_layers(model, torch.zeros(1, *size)))
    return Outline(sum(each.numel() for each in model.parameters()), widths)


def _download_of_timm(name: str, published: PretrainedCfg | None) -> Download:
    """Return what is to be fetched of the weights that timm publishes, wherever they lie."""
    if published is None or not published.hf_hub_id:
        return Download(None, f"timm does not say how large the weights of {name} are.")
    file = published.hf_hub_filename or "pytorch_model.bin"  # timm prefers safetensors to it
    safe = f"{Path(file).stem}.safetensors" if published.hf_hub_filename else "model.safetensors"
    return download_of(published.hf_hub_id, (safe, file))


def _of_transformers(root: Path, part: str, download: Download) -> Outline:
    import torch  # as above

    from core.encoders.images import read_hidden
    from core.encoders.language.folder import (
        check_part,
        class_of,
        count_parameters,
        part_of,
        quiet,
        read_config,
    )
    from core.encoders.language.sentences import read_sentences, width_after

    said = read_sentences(root)
    config, sees = read_config(said.folder), check_part(said.folder, part)
    expected = "expected a model of texts or images that transformers knows"
    with refusing(f"{root} cannot be opened", expected), MAKING, quiet(), outlining(root):
        whole = class_of(config).from_config(config, trust_remote_code=False)
        model = part_of(whole, part).eval()
        own = model.config.get_text_config()
        if sees:
            side = getattr(own, "image_size", None) or 224
            sides = (side, side) if isinstance(side, int) else tuple(side)
            with torch.inference_mode():
                layers = read_hidden(model, torch.zeros(1, own.num_channels, *sides))
            widths = tuple(layer.shape[1] for layer in layers)
        else:
            widths = (int(own.hidden_size),) * (1 + int(own.num_hidden_layers))
            if said.pooling and said.steps and not said.unread:
                widths += (width_after(said, widths[-1]),)
    return Outline(count_parameters(model), widths, download, sees)


def _of_hub(name: str, part: str) -> Outline:
    download = download_of(name, WEIGHTS)
    config = cached(repository_of(name), "config.json")
    try:
        if config is None and download.size is not None:
            config = fetch_file(repository_of(name), "config.json")
    except OfflineError:
        return Outline(download=download)
    if config is None:
        return Outline(download=download)
    return _of_transformers(config.parent, part, download)
