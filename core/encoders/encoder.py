"""What an encoder is: one model with fixed weights that turns a batch of images or texts into one
vector per layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64

from core.encoders.requests import Facts
from core.errors import UnknownNameError
from core.modalities import Modality, find_modality

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

REALITY = "reality"  # the model of a made world's known factors
Geometry = Literal["vectors", "dissimilarities"]
Over = Literal["", "trials", "subjects"]
IMPORTED = "imported"  # in place of the family of a model of which only vectors are known
UNKNOWN = "unknown"  # in place of an objective


@dataclass(frozen=True)
class ModelCard:
    """What is known of a model without its weights.

    name: id in the store. title: short and human. modality: a name in `core.modalities`. spec: what
    opens it again (`timm:…`, `hf:…`, `import:…`, `world:…`). family: architecture line (ViT,
    ResNet, GPT-2 …). objective: what it was trained for (supervised, MAE, CLIP, language …).
    parameters: count, None if unknown. weights: digest of the weights. layers: names in order,
    embedding first if any. training: whatever its maker wrote next to the weights (config, seed,
    steps, loss, device, versions). revision: the commit of the hub's repository that it came from,
    empty for others. geometry: whether a layer holds vectors, or the dissimilarities of all pairs
    of stimuli alone. over: what each stimulus was measured several times over, empty if it was not;
    the store then keeps each measurement.
    """

    name: str
    title: str
    modality: str
    spec: str
    family: str
    objective: str
    parameters: int | None
    weights: str
    layers: tuple[str, ...]
    training: Mapping[str, Any] = field(default_factory=dict)
    revision: str = ""
    geometry: Geometry = "vectors"
    over: Over = ""

    @property
    def pinned(self) -> str:
        """Return the spec that opens these very weights again, whatever the hub gets later."""
        place, mark, readout = self.spec.partition("#")
        return f"{place}@{self.revision}{mark}{readout}" if self.revision else self.spec


def with_facts(card: ModelCard, facts: Facts, title: str = "") -> ModelCard:
    """Return a card with what a person says of the model; what is not said stays. A family called
    UNKNOWN is none.
    """
    family = IMPORTED if facts.family == UNKNOWN else facts.family
    seed = {} if facts.seed is None else {"seed": facts.seed}
    return replace(
        card,
        title=title or card.title,
        family=family or card.family,
        objective=facts.objective or card.objective,
        parameters=facts.parameters or card.parameters,
        training={**card.training, **seed},
    )


@dataclass(frozen=True)
class Encoding:
    """What a model makes of one batch: a vector per item and layer (widths may differ) and, for
    causal models, bits per text.
    """

    layers: tuple[Float32[np.ndarray, "batch _"], ...]
    bits: Float64[np.ndarray, "batch"] | None = (
        None  # total code length of each text; NaN for a text of one token
    )
    bytes: Float64[np.ndarray, "batch"] | None = None  # UTF-8 bytes that those bits code for


@runtime_checkable  # tests check arguments against it
class Encoder(Protocol):
    """A model that is ready to encode on its device."""

    @property
    def card(self) -> ModelCard: ...

    @property
    def device(self) -> object:
        """Where it computes; its text is torch's name of the device: `cpu`, `cuda:0`, `mps`."""

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every choice a vector depends on besides the weights: pooling, preprocessing, truncation,
        precision.
        """

    def encode(self, items: Sequence[Any]) -> Encoding:
        """Encode a batch of RGB images or of texts; no vector depends on its size or order beyond
        rounding.
        """


@runtime_checkable
class SeeingEncoder(Encoder, Protocol):
    """An encoder of images that takes them prepared, too, so that they can be while it computes."""

    @property
    def prepare(self) -> Callable[[Image], Tensor]:
        """What makes an RGB image ready; `encode` takes what it returns in the image's place."""


def modality_of(card: ModelCard) -> Modality:
    return find_modality(card.modality)


def find_layer(card: ModelCard, layer: str | int) -> int:
    """Return the index of the layer that a name or number means, or `last`; raise UnknownNameError,
    which lists the nearest names.
    """
    text = str(layer).strip().lower()
    if text in card.layers:
        return card.layers.index(text)
    if text.isdecimal() and int(text) < len(card.layers):
        return int(text)
    if text == "last":
        return len(card.layers) - 1
    raise UnknownNameError(f"layer of {card.name}", str(layer), card.layers)
