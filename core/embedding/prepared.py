"""Pictures made ready for models, once for all that want them alike: of small models each takes
about as long to make them ready as to look at them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image
from torch import Tensor

from core.encoders.encoder import Encoder, Encoding, ModelCard, SeeingEncoder

Prepare = Callable[[Image.Image], Tensor]
MOST = 2**28  # bytes that are kept


@dataclass
class PreparedPictures:
    """What several encoders made ready, by their preprocessing and the picture."""

    tensors: dict[tuple[str, tuple[int, int], bytes], Tensor] = field(default_factory=dict)
    size: int = 0  # bytes

    def shared_by(self, encoder: Encoder) -> Encoder:
        """Return the encoder so that it takes from here what is ready, and leaves here what it
        makes ready; one that sees no pictures is returned as it is.
        """
        return SharingEncoder(encoder, self) if isinstance(encoder, SeeingEncoder) else encoder

    def prepare_all(self, images: Sequence[Image.Image], prepare: Prepare) -> list[Tensor]:
        """Return pictures as a model takes them, by its own preprocessing."""
        name = repr(prepare)
        return [self._prepare(image, prepare, name) for image in images]

    def _prepare(self, image: Image.Image, prepare: Prepare, name: str) -> Tensor:
        digest = hashlib.sha256(image.tobytes()).digest()  # twice as fast as blake2b
        key = name, image.size, digest
        ready = self.tensors.get(key)
        if ready is None:
            ready = prepare(image)
            self._keep(key, ready)
        return ready

    def _keep(self, key: tuple[str, tuple[int, int], bytes], ready: Tensor) -> None:
        if self.size + ready.nbytes <= MOST:
            self.tensors[key] = ready
            self.size += ready.nbytes


@dataclass(frozen=True)
class SharingEncoder:
    """An encoder that shares prepared pictures with others: it prepares none ahead, since another
    process would share nothing.
    """

    encoder: SeeingEncoder
    pictures: PreparedPictures

    @property
    def card(self) -> ModelCard:
        return self.encoder.card

    @property
    def device(self) -> object:
        return self.encoder.device

    @property
    def recipe(self) -> Mapping[str, Any]:
        return self.encoder.recipe

    def encode(self, items: Sequence[Image.Image]) -> Encoding:
        """Encode RGB images, each prepared once for all."""
        return self.encoder.encode(self.pictures.prepare_all(items, self.encoder.prepare))
