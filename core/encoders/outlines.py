"""What is known of a model before its weights are read: its parameters, the widths of its layers,
and what is still to be fetched.

Architectures are built on torch's `meta` device, which computes shapes alone: a model of any size
takes a moment and no memory. Files of the hub are counted there, not fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError

from core.encoders.hub import UNREACHABLE, hub_errors
from core.errors import EncoderError

HUB_PATIENCE = 5.0  # seconds that the hub may take to answer
WEIGHTS = "model*.safetensors"
NO_ANSWER = (*UNREACHABLE, httpx2.HTTPError, HfHubHTTPError)


@dataclass(frozen=True)
class Outline:
    """What is known of a model before its weights are read.

    parameters: None where unknown. widths: of its layers in order, empty where unknown. download:
    bytes that are still to be fetched, 0 where the weights are on this machine, None where the hub
    does not answer.
    """

    parameters: int | None = None
    widths: tuple[int, ...] = ()
    download: int | None = None


def outline(spec: str) -> Outline:
    """Return the outline of `timm:NAME`, `timm:NAME@FOLDER`, `hf:ID` or `hf:FOLDER`.

    Raises EncoderError for a model that the hub does not have or keeps closed, and for a folder
    that holds none.
    """
    kind, _, place = spec.partition(":")
    if kind == "timm":
        name, _, folder = place.partition("@")
        return _of_timm(name, Path(folder).expanduser() if folder else None)
    folder_or_id = Path(place).expanduser()
    return _of_transformers(folder_or_id, 0) if folder_or_id.is_dir() else _of_hub(place)


def _of_timm(name: str, folder: Path | None) -> Outline:
    import timm  # seconds that a page without it must not pay
    import torch
    from timm.data import resolve_data_config

    from core.encoders.timm_weights import check_name, read_config
    from core.encoders.vision import read_layers

    check_name(name)
    config = read_config(folder, name) if folder else {}
    published = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    classes = _count_classes(folder) if folder else published.num_classes if published else 0
    arguments = {**config.get("model_args", {}), "num_classes": classes}
    try:
        with torch.device("meta"), torch.inference_mode():
            model = timm.create_model(name, pretrained=False, **arguments).eval()
            size = resolve_data_config(config.get("pretrained_cfg", {}), model=model)["input_size"]
            widths = tuple(layer.shape[1] for layer in read_layers(model, torch.zeros(1, *size)))
    except (RuntimeError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise EncoderError(
            f"{folder or name} is no model of timm's that can be made"
            f" ({' '.join(str(error).split())[:200]}); check its config.json"
        ) from error
    repository = published.hf_hub_id if published else None
    fetched = 0 if folder else _download(repository, "model.safetensors") if repository else None
    return Outline(sum(each.numel() for each in model.parameters()), widths, fetched)


def _count_classes(folder: Path) -> int:
    """Return how many outputs the head of a checkpoint of timm's has."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / "model.safetensors", "pt") as file:
            heads = [name for name in ("head.weight", "fc.weight") if name in file.keys()]  # noqa: SIM118
            return int(file.get_slice(heads[0]).get_shape()[0]) if heads else 0
    except (OSError, SafetensorError) as error:
        raise EncoderError(
            f"{folder / 'model.safetensors'} cannot be read"
            f" ({' '.join(str(error).split())[:200]}); copy it again, or embed weights of another"
            " format in a terminal"
        ) from error


def _of_transformers(folder: Path, download: int | None) -> Outline:
    import torch  # as above
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

    from core.encoders.transformers_folder import is_causal, quiet

    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        kind = AutoModelForCausalLM if is_causal(config) else AutoModel
        with quiet(), torch.device("meta"):
            model = kind.from_config(config, trust_remote_code=False)
        widths = (int(config.hidden_size),) * (1 + int(config.num_hidden_layers))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise EncoderError(
            f"{folder} cannot be opened as a language model"
            f" ({str(error).splitlines()[0][:200]}); expected an encoder of text or a causal model"
            " that transformers knows"
        ) from error
    parameters = sum(each.numel() for each in model.parameters())
    return Outline(parameters, widths, download)


def _of_hub(name: str) -> Outline:
    download = _download(name, WEIGHTS)
    config = try_to_load_from_cache(name, "config.json")
    try:
        if not isinstance(config, str) and download is not None:
            config = hf_hub_download(name, "config.json", etag_timeout=HUB_PATIENCE)
    except NO_ANSWER:
        return Outline(download=download)
    return _of_transformers(Path(config).parent, download) if isinstance(config, str) else Outline()


def _download(repository: str, pattern: str) -> int | None:
    """Return how many bytes of weights are still to be fetched, None where the hub does not
    answer.
    """
    if isinstance(try_to_load_from_cache(repository, "model.safetensors"), str):
        return 0
    try:
        with hub_errors(repository, instead="a folder with a copy of it"):
            info = HfApi().model_info(repository, files_metadata=True, timeout=HUB_PATIENCE)
    except EncoderError:
        raise
    except NO_ANSWER:
        return None
    files = [each for each in info.siblings or () if fnmatch(each.rfilename, pattern)]
    return sum(each.size or 0 for each in files) if files else None
