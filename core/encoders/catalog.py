"""From a spec to a model that is ready to encode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.encoders.encoder import Encoder
from core.errors import EncoderError

if TYPE_CHECKING:
    import torch

FORMS = "timm:NAME, timm:NAME@CHECKPOINT, hf:ID or hf:FOLDER"


def open_encoder(spec: str, *, device: torch.device) -> Encoder:
    """Open the model that `spec` names on `device`; raise EncoderError for another form of spec."""
    kind, colon, _ = spec.partition(":")
    if colon and kind == "timm":
        from core.encoders.vision import open_vision  # three seconds that users of language models must not pay

        return open_vision(spec, device=device)
    if colon and kind == "hf":
        from core.encoders.language import open_language  # as above

        return open_language(spec, device=device)
    raise EncoderError(f"{spec!r} is no model spec; expected {FORMS}")
