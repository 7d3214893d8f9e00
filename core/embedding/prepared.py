"""Pictures made ready for models, once for all that want them alike: of small models each takes
about as long to make them ready as to look at them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from PIL import Image
from torch import Tensor

from core.encoders.encoder import Encoder
from core.encoders.vision import VisionEncoder

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
        if not isinstance(encoder, VisionEncoder):
            return encoder
        transform, name = encoder.transform, repr(encoder.transform)

        def prepare(image: Image.Image) -> Tensor:
            digest = hashlib.sha256(image.tobytes()).digest()  # twice as fast as blake2b
            key = name, image.size, digest
            ready = self.tensors.get(key)
            if ready is None:
                ready = transform(image)
                self._keep(key, ready)
            return ready

        return replace(encoder, transform=prepare)

    def _keep(self, key: tuple[str, tuple[int, int], bytes], ready: Tensor) -> None:
        if self.size + ready.nbytes <= MOST:
            self.tensors[key] = ready
            self.size += ready.nbytes
