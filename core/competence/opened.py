"""The models of a store, opened again to be asked what no embedding tells."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from core.competence.records import can_measure
from core.encoders.catalog import open_encoder
from core.encoders.encoder import Encoder, Modality
from core.errors import EncoderError, InputError
from core.store import ModelEntry, Store


def entries_to_measure(
    store: Store, dataset: str, models: Sequence[str], modality: Modality
) -> list[ModelEntry]:
    """Return the named models, or without names all that can be opened and are of a modality.

    Raises UnknownNameError, and InputError for models of another modality and for features without
    a model.
    """
    entries = [store.model(dataset, model) for model in models] or store.models(dataset)
    fitting = [entry for entry in entries if can_measure(entry) and entry.card.modality == modality]
    if models and len(fitting) < len(entries):
        wrong = next(entry for entry in entries if entry not in fitting)
        raise InputError(
            f"{wrong.card.name!r} is no {modality} model that can be opened again; name {modality}"
            " models that were embedded here"
        )
    return fitting


def reopen(entry: ModelEntry, device: torch.device) -> Encoder:
    """Open a model of the store again; raises EncoderError where its weights are no longer those
    that were embedded.
    """
    encoder = open_encoder(entry.card.spec, device=device)
    if encoder.card.weights != entry.card.weights:
        raise EncoderError(
            f"{entry.card.spec} has other weights now than when {entry.card.name!r} was embedded;"
            " embed it again"
        )
    return encoder
