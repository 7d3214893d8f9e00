"""Vision models of timm, read out at every block or stage before the final norm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import timm
import torch
from huggingface_hub import try_to_load_from_cache
from PIL import Image
from timm.data import create_transform, resolve_data_config
from torch import Tensor, nn

from core.encoders import naming
from core.encoders.checkpoint import FORMATS, digest_files, digest_state, read_json, read_notes, read_weights, store_name
from core.encoders.encoder import Encoding, ModelCard
from core.encoders.hub import hub_errors
from core.encoders.precision import forward_on, precision
from core.errors import EncoderError, UnknownNameError

FORM = "timm:NAME or timm:NAME@CHECKPOINT"


@dataclass(frozen=True)
class VisionEncoder:
    """A timm model that turns RGB images into one vector per block or stage."""

    card: ModelCard
    recipe: Mapping[str, Any]
    model: nn.Module
    device: torch.device
    transform: Callable[[Image.Image], Tensor]

    @torch.inference_mode()
    def encode(self, items: Sequence[Image.Image]) -> Encoding:
        """Encode RGB images with the model's own preprocessing."""
        pixels = torch.stack([self.transform(image) for image in items]).to(self.device)
        return Encoding(tuple(layer.cpu().numpy() for layer in read_layers(self.model, pixels)))


@dataclass(frozen=True)
class Loaded:
    """A model with its weights in, what its maker wrote, and the digest of the weights."""

    model: nn.Module
    name: str
    title: str
    notes: Mapping[str, Any]
    weights: str


def open_vision(spec: str, *, device: torch.device) -> VisionEncoder:
    """Open `timm:NAME` (published weights, from the hub or its cache) or `timm:NAME@CHECKPOINT`.

    CHECKPOINT is a weights file (.safetensors, .pt, .pth) or a folder in timm's hub format: config.json with architecture,
    model_args and pretrained_cfg, beside model.safetensors. A card.json there gives title, family, objective and training.
    Raises UnknownNameError, EncoderError or OfflineError.
    """
    name, _, place = spec.removeprefix("timm:").partition("@")
    _check_name(name, published=not place)
    loaded = _load_checkpoint(name, Path(place).expanduser()) if place else _load_published(name)
    model = loaded.model.float().eval().requires_grad_(False).to(device)
    if not hasattr(model, "forward_intermediates"):
        raise EncoderError(f"{name} cannot be read out layer by layer; expected a timm model that has forward_intermediates")
    data = resolve_data_config({}, model=model)
    return VisionEncoder(
        card=_describe(spec, name, loaded, layers=_layer_names(model, torch.zeros(1, *data["input_size"], device=device))),
        recipe=_choices(model, data, device),
        model=model,
        device=device,
        transform=create_transform(**data, is_training=False),
    )


def read_layers(model: nn.Module, pixels: Tensor) -> list[Tensor]:
    """Return one (batch, width) float32 tensor per block or stage.

    Models with a class token: that token after each block, before the final norm. All others: the mean over places (patch
    tokens of a transformer, the feature map of a convolutional net) after each block or stage.
    """
    with forward_on(pixels.device):
        if has_class_token(model):
            outputs = model.forward_intermediates(
                pixels, norm=False, return_prefix_tokens=True, output_fmt="NLC", intermediates_only=True
            )
            return [prefix[:, 0].float() for _, prefix in outputs]
        outputs = model.forward_intermediates(pixels, norm=False, output_fmt="NCHW", intermediates_only=True)
    return [output.float().mean(dim=(2, 3)) for output in outputs]


def has_class_token(model: nn.Module) -> bool:
    """Tell whether the first prefix token of the model's intermediate outputs is a class token."""
    token = getattr(model, "cls_token", None)
    token = getattr(getattr(model, "embeds", None), "cls_token", None) if token is None else token
    return token is not None and "return_prefix_tokens" in inspect.signature(model.forward_intermediates).parameters


def _check_name(name: str, *, published: bool) -> None:
    if not name:
        raise EncoderError(f"a vision model's spec is {FORM}; NAME is missing")
    with_tags = timm.list_models(pretrained=True)
    names = {*timm.list_models(), *with_tags}
    if name not in names:
        raise UnknownNameError("timm model", name, names)
    if published and name not in with_tags and not any(tagged.startswith(f"{name}.") for tagged in with_tags):
        raise EncoderError(f"timm publishes no weights for {name}; give your own as timm:{name}@CHECKPOINT")


def _load_published(name: str) -> Loaded:
    with hub_errors(f"timm:{name}", instead=f"timm:{name}@CHECKPOINT with a weights file"):
        model = timm.create_model(name, pretrained=True)
    source = model.pretrained_cfg
    cached = source.get("hf_hub_id") and try_to_load_from_cache(
        source["hf_hub_id"], source.get("hf_hub_filename") or "model.safetensors"
    )
    digest = digest_files([Path(cached)]) if isinstance(cached, str) else digest_state(model.state_dict())
    tagged = f"{source['architecture']}.{source['tag']}" if source.get("tag") else name
    return Loaded(model, tagged, store_name(name), {}, digest)


def _load_checkpoint(name: str, place: Path) -> Loaded:
    file = find_weights(place)
    config = _read_config(place, name) if place.is_dir() else {}
    state = read_weights(file)
    settings = {**_published_settings(name), **config.get("pretrained_cfg", {})}
    classes = _count_classes(state, settings.get("classifier"))
    settings = {key: value for key, value in settings.items() if key not in SOURCES}
    settings.update(architecture=name.partition(".")[0], state_dict=state, num_classes=classes, label_offset=0)
    arguments = {**config.get("model_args", {}), "num_classes": classes}
    try:
        model = timm.create_model(settings["architecture"], pretrained=True, pretrained_cfg=settings, **arguments)
    except (RuntimeError, TypeError, ValueError, KeyError, AssertionError) as error:
        raise EncoderError(
            f"{file} does not fit {name}: {_short(error)}; expected a state dict of exactly this architecture"
            " (a folder's config.json can give its model_args)"
        ) from error
    model.pretrained_cfg.pop("state_dict", None)
    notes = read_notes(place if place.is_dir() else place.parent)
    return Loaded(model, name, store_name(str(place)), notes, digest_files([file]))


SOURCES = ("url", "file", "hf_hub_id", "hf_hub_filename", "source", "custom_load")  # where published weights would come from


def find_weights(place: Path) -> Path:
    """Return the weights file that a checkpoint names: itself, or the one in a folder; EncoderError where there is none."""
    if place.is_file():
        return place
    if not place.is_dir():
        raise EncoderError(
            f"there is no checkpoint at {place}; expected a weights file ({', '.join(FORMATS)}) or a folder with one"
        )
    preferred = place / "model.safetensors"
    files = [preferred] if preferred.exists() else [path for form in FORMATS for path in sorted(place.glob(f"*{form}"))]
    if len(files) != 1:
        has = ", ".join(path.name for path in files) or "none"
        raise EncoderError(
            f"the folder {place} must hold model.safetensors or one weights file ({', '.join(FORMATS)}); it has {has}"
        )
    return files[0]


def _read_config(folder: Path, name: str) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.exists():
        raise EncoderError(
            f"the folder {folder} has no config.json; expected timm's with architecture, model_args and pretrained_cfg"
        )
    config = read_json(path)
    architecture = config.get("architecture")
    if architecture != name.partition(".")[0]:
        raise EncoderError(f"{path} is of architecture {architecture!r}, the spec says {name!r}; use timm:{architecture}@{folder}")
    if not all(isinstance(config.setdefault(key, {}), dict) for key in ("model_args", "pretrained_cfg")):
        raise EncoderError(f"{path} must hold objects under model_args and pretrained_cfg")
    return config


def _published_settings(name: str) -> dict[str, Any]:
    found = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    return found.to_dict() if found else {}


def _count_classes(state: Mapping[str, Tensor], classifier: str | Sequence[str] | None) -> int:
    head = classifier if isinstance(classifier, str) else (classifier or ("head",))[0]
    weight = state.get(f"{head}.weight")
    return 0 if weight is None else weight.shape[0]


def _layer_names(model: nn.Module, pixels: Tensor) -> tuple[str, ...]:
    with torch.inference_mode():
        count = len(read_layers(model, pixels))
    blocks = getattr(model, "blocks", ())
    if hasattr(model, "patch_embed") and len(blocks) == count:
        return tuple(f"block {i + 1}" for i in range(count))
    stem = str(model.feature_info[0]["module"]).startswith(("act", "stem", "conv", "bn")) and len(model.feature_info) == count
    return (*(["stem"] if stem else []), *(f"stage {i + 1}" for i in range(count - stem)))


def _describe(spec: str, name: str, loaded: Loaded, *, layers: tuple[str, ...]) -> ModelCard:
    notes = loaded.notes
    from_file = "@" in spec
    return ModelCard(
        name=loaded.title,
        title=notes.get("title") or (loaded.title if from_file else naming.vision_title(loaded.name)),
        modality="vision",
        spec=spec,
        family=notes.get("family") or naming.vision_family(type(loaded.model).__name__),
        objective=notes.get("objective") or naming.vision_objective(loaded.name),
        parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        weights=loaded.weights,
        layers=layers,
        training=notes.get("training") or {},
    )


def _choices(model: nn.Module, data: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    pooling = "class token" if has_class_token(model) else "mean of places"
    if hasattr(model, "patch_embed") and not has_class_token(model):
        pooling = "mean of patch tokens"
    return {
        "library": "timm",
        "pooling": pooling,
        "norm": "before the final norm",
        "preprocessing": {key: list(value) if isinstance(value, tuple) else value for key, value in data.items()},
        "precision": precision(device),
    }


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
