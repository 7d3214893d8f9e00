"""From a spec to a model that is ready to encode."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from core.encoders.encoder import Encoder
from core.encoders.fields import read_json
from core.encoders.requests import FORMS, PATCHES, Pooling, Precision, Prompt, split_marks
from core.errors import EncoderError, quoted

if TYPE_CHECKING:
    import torch


_OPENING = Lock()  # loading a model changes settings of the whole process


def open_encoder(
    spec: str,
    *,
    device: torch.device,
    pooling: Pooling = "auto",
    prompt: Prompt = "none",
    precision: Precision = "auto",
) -> Encoder:
    """Open the model that `spec` names on `device`. pooling, prompt: of a language model, see
    `open_language`. precision: see `choose_arithmetic`. Raise EncoderError for another form of
    spec, and for options that the model does not take.
    """
    check_spec(spec)
    with _OPENING:
        is_timm = spec.startswith("timm:")
        if not is_timm and not reads_images(spec):
            # seconds that users of vision models must not pay
            from core.encoders.language.encoder import open_language

            return open_language(
                spec, device=device, pooling=pooling, prompt=prompt, precision=precision
            )
        for name, given, usual in (("pooling", pooling, "auto"), ("prompt", prompt, "none")):
            if given != usual:
                raise EncoderError(
                    f"{name} {given!r} is for language models; leave it out for {spec}"
                )
        if is_timm:
            from core.encoders.vision import open_vision  # as above

            return open_vision(spec, device=device, precision=precision)
        from core.encoders.images import open_images  # as above

        return open_images(spec, device=device, precision=precision)


def reads_images(spec: str) -> bool:
    """Return whether the model of transformers that a spec names reads images; raise EncoderError
    or OfflineError.
    """
    from core.encoders.language.folder import check_part, find_source, read_sentences

    place, marks = split_marks(spec.removeprefix("hf:"))
    folder = read_sentences(find_source(place).folder).folder
    return check_part(folder, marks.removesuffix(PATCHES))


def check_spec(spec: str) -> None:
    kind, _, name = spec.partition(":")
    if kind not in ("timm", "hf") or not name:
        raise EncoderError(f"{quoted(spec)} is not a model spec; expected {FORMS}")


def spec_of_folder(folder: Path) -> str:
    """Return the spec of the model in a folder: timm's format names an `architecture`, that of
    transformers a `model_type`. Raise EncoderError.
    """
    try:
        config = read_json(folder / "config.json")
    except EncoderError as error:
        raise EncoderError(
            f"{folder} has no config.json that can be read; expected a folder of timm's or"
            " transformers' format with it, next to model.safetensors"
        ) from error
    if isinstance(config.get("architecture"), str):
        return f"timm:{config['architecture']}@{folder}"
    if isinstance(config.get("model_type"), str):
        return f"hf:{folder}"
    raise EncoderError(
        f"{folder / 'config.json'} names neither an architecture of timm nor a model_type of"
        " transformers; choose the folder of a model"
    )
