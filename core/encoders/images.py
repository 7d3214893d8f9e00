"""Vision models in folders of transformers, read out at every hidden state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

import torch
from PIL import Image
from torch import Tensor
from transformers import AutoImageProcessor, BaseImageProcessor, PreTrainedModel

from core.encoders import naming
from core.encoders.checkpoint import digest_files, read_notes, refusing
from core.encoders.encoder import ModelCard
from core.encoders.language.folder import (
    check_part,
    find_source,
    find_weights,
    load_model,
    quiet,
    read_sentences,
    source_name,
)
from core.encoders.requests import PATCHES, Precision, split_marks
from core.encoders.vision import WIDEST, Preparation, VisionEncoder
from core.errors import EncoderError
from core.files.texts import Json
from core.modalities import VISION

EXPECTED = (
    "expected a model that reads images of one size and nothing else, with its"
    " preprocessor_config.json; timm has most of these models: timm:NAME"
)
_PROBED = ((64, 64), (96, 48))  # sizes of two images that show what a model takes


@dataclass(frozen=True)
class Processed:
    processor: BaseImageProcessor

    def __call__(self, image: Image.Image) -> Tensor:
        pixels: Tensor = self.processor(images=image, return_tensors="pt")["pixel_values"][0]
        return pixels


def open_images(spec: str, *, device: torch.device, precision: Precision = "auto") -> VisionEncoder:
    """Open `hf:ID` or `hf:FOLDER` of a vision model, or with `#vision` the part of a model that
    reads images; `#patches` reads out the mean of the patch tokens in place of the class token.
    Raise EncoderError or OfflineError.
    """
    place, marks = split_marks(spec.removeprefix("hf:"))
    of_patches, part = marks.endswith(PATCHES), marks.removesuffix(PATCHES)
    source = find_source(place)
    folder = read_sentences(source.folder).folder
    files = find_weights(folder)
    if not check_part(folder, part):
        raise EncoderError(f"{spec} reads texts; expected a vision model")
    model, arithmetic = load_model(folder, precision=precision, device=device, part=part)
    if hasattr(model.config, "mask_ratio"):
        model.config.mask_ratio = 0.0  # of MAE, which is to see the whole image
    with refusing(f"{spec} cannot be read out", EXPECTED), torch.inference_mode():
        with quiet():
            processor = AutoImageProcessor.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
        said = json.loads(processor.to_json_string())
        _check_sizes(spec, said)
        prepare = Preparation(Processed(processor), cropped=bool(said.get("do_center_crop")))
        noise = [Image.effect_noise(size, 90).convert("RGB") for size in _PROBED]
        pixels = torch.stack([prepare(image) for image in noise])
        pixels = pixels.to(device, arithmetic.weights)
        with arithmetic.forward_on(device):
            prefix = count_prefix(model, pixels)
            read = partial(read_hidden, prefix=prefix)
            count = len(read(model, pixels))
    if of_patches and not prefix:
        raise EncoderError(
            f"{spec} has no class token, so the mean over its places is read out already; leave"
            f" {PATCHES} out"
        )
    recipe = {
        "library": "transformers",
        "pooling": "class token" if prefix and not of_patches else "mean over places",
        "norm": "as the model returns its hidden states",
        "preprocessing": said,
        "config": digest_files([folder / "config.json"]),
        "precision": arithmetic.name,
    } | ({"part": part[1:]} if part else {})
    config, notes, name = model.config, read_notes(source.folder), source_name(source, folder)
    layers = tuple(f"block {i}" for i in range(1, count + 1))
    if count != getattr(config, "num_hidden_layers", None):
        stem = ["stem"] * (count == 1 + len(getattr(config, "depths", None) or ()))
        layers = (*stem, *(f"stage {i}" for i in range(1, count + 1 - len(stem))))
    objective = naming.folder_objective(config.model_type, name, config.architectures or ())
    card = ModelCard(
        name=name + marks.replace("#", "-"),
        title=(notes.get("title") or name) + marks.replace("#", ", "),
        modality=VISION.name,
        spec=f"hf:{source.place}{marks}",
        family=notes.get("family") or naming.vision_family(config.model_type),
        objective=notes.get("objective") or objective,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        weights=digest_files(files),
        layers=layers,
        training=notes.get("training") or {},
        revision=source.revision,
    )
    return VisionEncoder(card, recipe, str(device), arithmetic, model, prepare, read, of_patches)


def read_hidden(
    model: PreTrainedModel, pixels: Tensor, *, of_patches: bool = False, prefix: int = 0
) -> list[Tensor]:
    """Return one (batch, width) float32 tensor per block or stage: the class token, which is the
    first of `prefix` tokens, or the mean over the others if there is none or `of_patches`; of
    feature maps the mean over places. The embedding of tokens is left out, where the class token is
    constant.
    """
    states = model(pixel_values=pixels, output_hidden_states=True).hidden_states
    states = states[1:] if states[0].dim() == 3 else states
    is_class = prefix and not of_patches
    return [
        state.float().mean((2, 3))
        if state.dim() == 4
        else (state[:, 0] if is_class else state[:, prefix:].mean(1)).float()
        for state in states
    ]


def count_prefix(model: PreTrainedModel, pixels: Tensor) -> int:
    """Return how many tokens come before the patches: those that are equal for different images
    before the first block.
    """
    first = model(pixel_values=pixels, output_hidden_states=True).hidden_states[0]
    if first.dim() != 3:
        return 0
    differ = (first[0] != first[1]).any(-1).int()
    return int(differ.argmax())


def _check_sizes(spec: str, said: Json) -> None:
    if said.get("max_num_patches"):
        raise EncoderError(
            f"{spec} reads images of any shape as {said['max_num_patches']} patches at most"
            " (NaFlex); take the same model for images of one size, such as"
            " hf:google/siglip2-base-patch16-224, or timm:naflexvit_base_patch16_siglip"
        )
    for name in ("size", "crop_size"):
        for side in (said.get(name) or {}).values():
            if not 0 < (side or 1) <= WIDEST:
                raise EncoderError(
                    f"{spec}: its image processor makes images of {side} pixels; expected 1 to"
                    f" {WIDEST:,}"
                )
