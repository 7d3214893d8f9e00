"""What is known of a model before its weights are read: what is still to be fetched, its parameters
and the widths of its layers. Models are made on torch's `meta` device, which computes shapes alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import HfApi, constants

from core.encoders.fields import FORMS, PICKLED, SINGLE, WEIGHTS, check_index
from core.encoders.requests import HUB, PATCHES, UNTRAINED, split_marks
from core.errors import OfflineError
from core.hub.fetch import asking, cached, fetch_file
from core.hub.repository import Repository
from core.settings import expand

TIMEOUT = 5.0  # seconds that the hub may keep a page waiting
Shape = tuple[int | None, tuple[int, ...]]  # parameters, and the width of each layer
UNMADE = "expected a model that the library can make: check its config.json"


@dataclass(frozen=True)
class Download:
    """How many bytes are still to be fetched; None if that is unknown, and why. is_hub_down:
    whether it is no use to ask for more.
    """

    size: int | None
    why: str = ""
    is_hub_down: bool = False


ON_THIS_MACHINE = Download(0)


def weights_of(spec: str) -> Download:
    """Return what is still to be fetched of a spec's weights. Raise EncoderError for a model that
    the hub does not have or keeps closed.
    """
    kind, _, place = split_marks(spec)[0].partition(":")
    if place.startswith(HUB):
        return files_left(repository_of(place.removeprefix(HUB)), (SINGLE,))
    if kind == "hf" and not os.path.exists(os.path.expanduser(place)):
        return files_left(repository_of(place), WEIGHTS)
    if kind == "hf" or "@" in place:
        return ON_THIS_MACHINE
    import timm  # seconds that a page without it must not pay

    from core.encoders.vision import check_name

    published = timm.models.get_pretrained_cfg(check_name(place), allow_unregistered=True)
    if published is None or not published.hf_hub_id:
        return Download(None, f"timm does not say how large the weights of {place} are.")
    file = published.hf_hub_filename or PICKLED  # timm prefers safetensors to it
    safe = f"{Path(file).stem}.safetensors" if published.hf_hub_filename else SINGLE
    return files_left(repository_of(published.hf_hub_id), (safe, file))


def repository_of(place: str) -> Repository:
    name, _, revision = place.partition("@")
    return Repository(name, place, "a folder with a copy of it", revision=revision or None)


def files_left(wanted: Repository, patterns: Sequence[str]) -> Download:
    """Return what is still to be fetched of a repository: the files of the first pattern that the
    hub has files of, less those on this machine. Raise EncoderError or StimuliError for one that
    the hub does not have or keeps closed, OfflineError if the hub is not to be asked.
    """
    try:
        with asking(wanted, downloading=True):
            forms = [(single, index) for single, index, form in FORMS if form in patterns]
            singles = [single for single, _ in forms]
            parts = (check_index(path) for _, index in forms if (path := cached(wanted, index)))
            if any(cached(wanted, name) for name in (SINGLE, *singles, *patterns)) or any(
                all(cached(wanted, one) for one in each) for each in parts
            ):
                return ON_THIS_MACHINE
            ask = HfApi().model_info if wanted.kind == "model" else HfApi().dataset_info
            how = {"files_metadata": True, "timeout": TIMEOUT}
            info = ask(wanted.id, revision=wanted.revision, **how)
    except OfflineError as error:
        if constants.is_offline_mode():
            raise
        return Download(None, f"{error}", is_hub_down=True)
    for pattern in patterns:
        files = [each for each in info.siblings or () if fnmatch(each.rfilename, pattern)]
        if files:
            left = [each for each in files if not cached(wanted, each.rfilename)]
            return Download(sum(each.size or 0 for each in left))
    return Download(None, f"The hub lists no {' or '.join(patterns)} of {wanted.id}.")


def shape_of(spec: str) -> Shape:
    """Return a model's parameters (those of a timm checkpoint without its head) and the width of
    each layer; None and () if neither is known. Raise EncoderError, and OfflineError.
    """
    bare, marks = split_marks(spec)
    kind, _, place = bare.partition(":")
    if place.startswith(HUB):
        return None, ()
    if kind == "timm":
        name, _, folder = place.partition("@")
        return _of_timm(name, expand(folder) if folder not in ("", UNTRAINED) else None)
    part, folder = marks.removesuffix(PATCHES), os.path.expanduser(place)
    if os.path.isdir(folder):  # a very long id is no path, and no error
        return _of_transformers(Path(folder), part)
    return _of_transformers(fetch_file(repository_of(place), "config.json").parent, part)


def _of_timm(name: str, folder: Path | None) -> Shape:
    import timm  # as above
    import torch
    from timm.data import resolve_data_config

    from core.encoders.checkpoint import MAKING, refusing
    from core.encoders.vision import check_name, read_config, read_layers

    name = check_name(name)
    config = read_config(folder, name) if folder else {}
    published = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    classes = published.num_classes if published and not folder else 0
    arguments = {**config.get("model_args", {}), "num_classes": classes}
    meta = torch.device("meta")
    with MAKING, refusing(f"{folder or name} cannot be made", UNMADE), meta, torch.no_grad():
        model = timm.create_model(name, pretrained=False, **arguments).eval()
        size = resolve_data_config(config.get("pretrained_cfg", {}), model=model)["input_size"]
        widths = tuple(layer.shape[1] for layer in read_layers(model, torch.zeros(1, *size)))
    return sum(each.numel() for each in model.parameters()), widths


def _of_transformers(root: Path, part: str) -> Shape:
    import torch  # as above

    from core.encoders.checkpoint import MAKING, refusing
    from core.encoders.images import read_hidden
    from core.encoders.language import folder

    said = folder.read_sentences(root).folder
    config, sees = folder.read_config(said), folder.check_part(said, part)
    meta = torch.device("meta")
    with refusing(f"{root} cannot be made", UNMADE), MAKING, folder.quiet(), meta, torch.no_grad():
        whole = folder.class_of(config).from_config(config, trust_remote_code=False)
        model = folder.part_of(whole, part).eval()
        own = model.config.get_text_config()
        if not sees:
            widths = (int(own.hidden_size),) * (1 + int(own.num_hidden_layers))
        else:
            side = getattr(own, "image_size", None) or 224
            sides = (side, side) if isinstance(side, int) else tuple(side)
            layers = read_hidden(model, torch.zeros(1, own.num_channels, *sides))
            widths = tuple(layer.shape[1] for layer in layers)
    return folder.count_parameters(model), widths
