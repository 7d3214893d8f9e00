"""What an encoder is: one model with fixed weights that turns a batch of images or texts into one
vector per layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64

from core.encoders.requests import Facts
from core.errors import UnknownNameError
from core.modalities import Modality, find_modality
from core.recipe import Plain

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

    spec: what opens it again (`timm:…`, `hf:…`, `import:…`, `world:…`). family: architecture line
    (ViT, GPT-2 …). objective: what it was trained for (supervised, MAE, CLIP …). weights: their
    digest. layers: names in order. training: its maker's notes (config, seed, steps …). revision:
    the commit of the hub's repository, "" for others. over: what each stimulus was measured over
    several times, "" if once.
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
    training: Plain = field(default_factory=dict)
    revision: str = ""
    geometry: Geometry = "vectors"
    over: Over = ""

    @property
    def pinned(self) -> str:
        """Return the spec that opens these very weights again."""
        place, mark, readout = self.spec.partition("#")
        return f"{place}@{self.revision}{mark}{readout}" if self.revision else self.spec


def with_facts(card: ModelCard, facts: Facts, title: str = "") -> ModelCard:
    """Return a card with what a person says of the model; what is not said stays."""
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
    """A vector per item and layer (widths may differ) and, of causal models, bits per text."""

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
    def recipe(self) -> Plain:
        """Every choice that a vector depends on, but the weights."""

    def encode(self, items: Sequence[Any]) -> Encoding:
        """Encode a batch of RGB images or of texts; no vector depends on its size or order beyond
        rounding.
        """


@runtime_checkable
class SeeingEncoder(Encoder, Protocol):
    """An encoder of images that also takes them prepared."""

    @property
    def prepare(self) -> Callable[[Image], Tensor]:
        """What makes an RGB image ready; `encode` takes what it returns in place of the image."""


def modality_of(card: ModelCard) -> Modality:
    return find_modality(card.modality)


def find_layer(card: ModelCard, layer: str | int) -> int:
    """Return the index of the layer of a name or number, or of `last`; raise UnknownNameError."""
    text = str(layer).strip().lower()
    if text in card.layers:
        return card.layers.index(text)
    if text.isdecimal() and int(text) < len(card.layers):
        return int(text)
    if text == "last":
        return len(card.layers) - 1
    raise UnknownNameError(f"layer of {card.name}", str(layer), card.layers)
