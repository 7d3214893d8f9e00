"""From a model of the store to a network that is ready to be stitched."""

from __future__ import annotations

import torch

from core.competence.opened import reopen
from core.encoders.language.encoder import LanguageEncoder
from core.encoders.vision import VisionEncoder
from core.errors import EncoderError
from core.networks.heads import Head
from core.networks.kept_heads import head_of
from core.networks.language import LanguageNetwork, cut_language
from core.networks.network import Network
from core.networks.tasks import Labels, NextToken, Task
from core.networks.vision import VisionNetwork, cut_vision
from core.store import ModelEntry, Store


def open_network(entry: ModelEntry, device: torch.device, *, level: str) -> Network:
    """Open a model of the store and cut it at every layer, in single precision.

    level: of the captions that language models read. Raises EncoderError for features without a
    model, for one that cannot be cut and for weights that have changed, OfflineError for weights of
    the hub that are not in its cache.
    """
    encoder = reopen(entry, device)
    if isinstance(encoder, VisionEncoder):
        return cut_vision(encoder)
    if isinstance(encoder, LanguageEncoder):
        return cut_language(encoder, level=level)
    raise EncoderError(
        f"{entry.card.name} is no timm or transformers model, so it cannot be cut into layers;"
        " choose one that is"
    )


def task_of(store: Store, dataset: str, entry: ModelEntry, network: Network) -> tuple[Task, str]:
    """Return what a model is for, and where its head comes from, in words."""
    if isinstance(network, LanguageNetwork):
        vocabulary = network.encoder.model.get_input_embeddings().weight.shape[0]
        return NextToken(network.head, int(vocabulary)), f"the {entry.card.modality} model's own"
    assert isinstance(network, VisionNetwork)  # there is no third kind
    head: Head = head_of(store, dataset, entry, network)
    return Labels(head), head.origin
