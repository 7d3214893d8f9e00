"""Vision models of timm, read out at every block or stage before the final norm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import timm
import torch
from PIL import Image, ImageOps
from torch import Tensor

from core.encoders import naming
from core.encoders.building import refusing
from core.encoders.encoder import Encoding, ModelCard
from core.encoders.precision import Arithmetic, choose_arithmetic
from core.encoders.requests import HUB, PATCHES, UNTRAINED, Precision
from core.encoders.timm_weights import (
    Loaded,
    check_name,
    load_checkpoint,
    load_from_hub,
    load_published,
    load_untrained,
)
from core.errors import EncoderError
from core.machine.memory import bounded
from core.modalities import VISION
from core.settings import expand

LONGEST = 8  # times the short side, of an image that is to be cropped to its middle


@dataclass(frozen=True)
class Preparation:
    """A model's own preprocessing of an RGB image, without the model: it goes to other processes.

    cropped: whether the transform takes the middle of an image whose short side fits.
    """

    transform: Callable[[Image.Image], Tensor]
    cropped: bool

    def __call__(self, image: Image.Image) -> Tensor:
        return self.transform(cut_ends(image) if self.cropped else image)


@dataclass(frozen=True)
class VisionEncoder:
    """A model that turns RGB images into one vector per block or stage.

    of_patches: whether the class token, which the model has, is passed over. read: from a model
    and pixels to the vector of each layer.
    """

    card: ModelCard
    recipe: Mapping[str, Any]
    device: str
    arithmetic: Arithmetic
    model: Any
    prepare: Callable[[Image.Image], Tensor]
    read: Callable[..., list[Tensor]]
    of_patches: bool = False

    @torch.inference_mode()
    def encode(self, items: Sequence[Image.Image | Tensor]) -> Encoding:
        """Encode RGB images, or what `prepare` made of them. Pinned ones are on their way to a GPU
        while others are still being fetched.
        """
        ready = [each if isinstance(each, Tensor) else self.prepare(each) for each in items]
        is_pinned = self.device.startswith("cuda")
        pixels = torch.stack([each.to(self.device, non_blocking=is_pinned) for each in ready])
        pixels = pixels.to(self.arithmetic.weights)
        with bounded(self.device), self.arithmetic.forward_on(self.device):
            layers = self.read(self.model, pixels, of_patches=self.of_patches)
        return Encoding(tuple(layer.cpu().numpy() for layer in layers))


def open_vision(spec: str, *, device: torch.device, precision: Precision = "auto") -> VisionEncoder:
    """Open `timm:NAME` (published weights, from the hub or its cache), `timm:hf-hub:ID` (any model
    on the hub in timm's format, `timm:hf-hub:ID@REVISION` at a commit) or `timm:NAME@CHECKPOINT`.

    CHECKPOINT is a weights file (.safetensors, .pt, .pth) or a folder in timm's hub format:
    config.json with architecture, model_args and pretrained_cfg, beside model.safetensors. A
    card.json there gives title, family, objective and training. `untrained` in its place means the
    weights before any training. `#patches` at the end reads out the mean of the patch tokens in
    place of the class token. Raises UnknownNameError, EncoderError or OfflineError.
    """
    loaded, of_patches = _load(spec.removesuffix(PATCHES)), spec.endswith(PATCHES)
    if of_patches and not has_class_token(loaded.model):
        names = [name for name, _ in loaded.model.named_parameters()]
        kept = any(name.rpartition(".")[2].startswith("cls_token") for name in names)
        why = "has a class token that timm does not give after each layer" if kept else ""
        raise EncoderError(
            f"{loaded.name} {why or 'has no class token'}, so the mean over its places is read out"
            f" already; leave {PATCHES} out"
        )
    arithmetic = choose_arithmetic(precision, device)
    model = loaded.model.eval().requires_grad_(False).to(device, arithmetic.weights)
    with refusing(f"{spec} cannot be read out", "expected a model of RGB images: check its config"):
        data = timm.data.resolve_data_config({}, model=model)
        picture = torch.zeros(1, *data["input_size"], device=device, dtype=arithmetic.weights)
        layers = _name_layers(model, picture)
        prepare = Preparation(
            timm.data.create_transform(**data, is_training=False),
            cropped=data.get("crop_mode", "center") == "center",
        )
        prepare(Image.new("RGB", (64, 64)))  # what the config says of images works
    return VisionEncoder(
        card=_describe(spec, loaded, layers=layers),
        recipe=_recipe(model, data, arithmetic, of_patches=of_patches),
        device=str(device),
        arithmetic=arithmetic,
        model=model,
        prepare=prepare,
        read=read_layers,
        of_patches=of_patches,
    )


def _load(spec: str) -> Loaded:
    name, at, place = spec.removeprefix("timm:").partition("@")
    if name in ("", HUB) or (at and not place):
        raise EncoderError(f"{spec!r} is not whole; expected timm:NAME or timm:NAME@CHECKPOINT")
    if name.startswith(HUB):
        return load_from_hub(spec.removeprefix("timm:").removeprefix(HUB))
    name = check_name(name)
    if place == UNTRAINED:
        return load_untrained(name)
    return load_checkpoint(name, expand(place)) if place else load_published(name)


def _recipe(
    model: Any, data: Mapping[str, Any], arithmetic: Arithmetic, *, of_patches: bool
) -> dict[str, Any]:
    return {
        "library": "timm",
        "pooling": "mean of patch tokens" if of_patches else _pooling(model),
        "norm": "before the final norm",
        "preprocessing": {
            key: list(value) if isinstance(value, tuple) else value for key, value in data.items()
        },
        "arguments": getattr(model, "_model_args", {}),
        "precision": arithmetic.name,
    }


def cut_ends(image: Image.Image) -> Image.Image:
    """Cut a very long image to its middle, 8 times as long as wide: a 30,000 × 1 one would be
    enlarged to gigabytes first.

    A center crop sees no more of it than that, so its pixels stay the same but for rounding.
    """
    short, long = sorted(image.size)
    spare = (long - LONGEST * short) // 2
    if spare <= 0:
        return image
    return ImageOps.crop(
        image, (spare, 0, spare, 0) if image.width > image.height else (0, spare, 0, spare)
    )


def read_layers(model: Any, pixels: Tensor, *, of_patches: bool = False) -> list[Tensor]:
    """Return one (batch, width) float32 tensor per block or stage.

    Models with a class token: that token after each block, before the final norm. All others, and
    where `of_patches`: the mean over places (patch tokens of a transformer, the feature map of a
    convolutional net) after each block or stage.
    """
    if has_class_token(model) and not of_patches:
        outputs = model.forward_intermediates(
            pixels,
            norm=False,
            return_prefix_tokens=True,
            output_fmt="NLC",
            intermediates_only=True,
        )
        return [prefix[:, 0].float() for _, prefix in outputs]
    outputs = model.forward_intermediates(
        pixels, norm=False, output_fmt="NCHW", intermediates_only=True
    )
    return [output.float().mean(dim=(2, 3)) for output in outputs]


def has_class_token(model: Any) -> bool:
    """Return whether the model's intermediate outputs begin with a class token."""
    token = getattr(model, "cls_token", None)
    token = getattr(getattr(model, "embeds", None), "cls_token", None) if token is None else token
    return (
        token is not None
        and "return_prefix_tokens" in inspect.signature(model.forward_intermediates).parameters
    )


def _pooling(model: Any) -> str:
    if has_class_token(model):
        return "class token"
    patches = hasattr(model, "patch_embed") or hasattr(model, "embeds")
    return "mean of patch tokens" if patches else "mean over the feature map"


@torch.inference_mode()
def _name_layers(model: Any, pixels: Tensor) -> tuple[str, ...]:
    count, branches = len(read_layers(model, pixels)), getattr(model, "num_branches", 1)
    blocks = len(getattr(model, "blocks", ()))
    if blocks * branches == count:
        heads = [f"branch {i + 1} " for i in range(branches)] if branches > 1 else [""]
        return tuple(f"{head}block {i + 1}" for head in heads for i in range(blocks))
    info = model.feature_info
    stem = len(info) == count and str(info[0]["module"]).startswith(("act", "stem", "conv", "bn"))
    return (*(["stem"] if stem else []), *(f"stage {i + 1}" for i in range(count - stem)))


def _describe(spec: str, loaded: Loaded, *, layers: tuple[str, ...]) -> ModelCard:
    notes, published = loaded.notes, loaded.published
    title = notes.get("title") or (naming.vision_title(published) if published else loaded.name)
    place, readout = spec.removesuffix(PATCHES), PATCHES * spec.endswith(PATCHES)
    return ModelCard(
        name=loaded.name + readout.replace("#", "-"),
        title=title + readout.replace("#", ", "),
        modality=VISION.name,
        spec=place.partition("@")[0] + readout if loaded.revision else spec,
        family=notes.get("family") or naming.vision_family(type(loaded.model).__name__),
        objective=notes.get("objective")
        or (naming.vision_objective(published) if published else "unknown"),
        parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        weights=loaded.weights,
        layers=layers,
        training=notes.get("training") or {},
        revision=loaded.revision,
    )
