"""From a spec to a model that is ready to encode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.encoders.encoder import Encoder
from core.errors import EncoderError

if TYPE_CHECKING:
    import torch

    from core.encoders.language import Pooling

FORMS = "timm:NAME, timm:NAME@CHECKPOINT, hf:ID or hf:FOLDER"


def open_encoder(spec: str, *, device: torch.device, pooling: Pooling = "mean") -> Encoder:
    """Open the model that `spec` names on `device`.

    pooling: of a language model's tokens. Raises EncoderError for another form of spec, and for a
    pooling that is not the model's to choose.
    """
    kind, colon, _ = spec.partition(":")
    if colon and kind == "timm":
        if pooling != "mean":
            raise EncoderError(
                f"pooling {pooling!r} is for language models; leave it out for {spec}"
            )
        from core.encoders.vision import (
            open_vision,  # three seconds that users of language models must not pay
        )

        return open_vision(spec, device=device)
    if colon and kind == "hf":
        from core.encoders.language import open_language  # as above

        return open_language(spec, device=device, pooling=pooling)
    raise EncoderError(f"{spec!r} is not a model spec; expected {FORMS}")
