"""The models of a store, opened again for what embeddings do not show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.competence.records import can_measure
from core.encoders.catalog import open_encoder
from core.encoders.encoder import Encoder, modality_of
from core.encoders.requests import Precision, pooling_of, precision_of
from core.errors import EncoderError, InputError
from core.modalities import Item, reader_of
from core.store import ModelEntry, Store

if TYPE_CHECKING:
    import torch

NO_MODEL = "has features only, and no model to run"


def entries_to_measure(
    store: Store, dataset: str, models: Sequence[str], reads: Item
) -> list[ModelEntry]:
    """Return the named models, or all that can be opened and read images, or captions; raise
    UnknownNameError, and InputError for models that read something else or are features alone.
    """
    entries = [store.model(dataset, model) for model in models] or store.models(dataset)
    fitting = [
        entry for entry in entries if can_measure(entry) and modality_of(entry.card).reads == reads
    ]
    if models and len(fitting) < len(entries):
        modality = reader_of(reads)
        wrong = next(entry for entry in entries if entry not in fitting)
        what = f"is not a {modality.title}" if can_measure(wrong) else NO_MODEL
        raise InputError(
            f"{wrong.card.name!r} {what}; name {modality.plural} that were embedded here"
        )
    return fitting


def reopen(entry: ModelEntry, device: torch.device) -> Encoder:
    """Open a model in the precision and pooling of its embedding; raise EncoderError for features
    without a model, and if its weights are no longer those that were embedded.
    """
    if not can_measure(entry):
        raise EncoderError(f"{entry.card.name} {NO_MODEL}; choose a model that was embedded here")
    reads_images = modality_of(entry.card).reads == "image"
    encoder = open_encoder(
        entry.card.pinned,
        device=device,
        pooling="auto" if reads_images else pooling_of(entry.recipe.choices.get("encoder", {})),
        precision=precision_kept(entry),
    )
    if encoder.card.weights != entry.card.weights:
        raise EncoderError(
            f"{entry.card.spec} has other weights now than when {entry.card.name!r} was embedded;"
            " embed it again"
        )
    return encoder


def precision_kept(entry: ModelEntry) -> Precision:
    return precision_of(str(entry.recipe.choices.get("encoder", {}).get("precision", "")))


def precision_name(entry: ModelEntry, device: torch.device) -> str:
    from core.encoders.checkpoint import choose_arithmetic  # torch takes seconds

    return choose_arithmetic(precision_kept(entry), device).name
