"""Which models a question means where it names none."""

from __future__ import annotations

from core.encoders.encoder import REALITY
from core.modalities import Item
from core.study.models import is_reality, reads, usual, without_variants
from core.study.study import Study


def finished_models(study: Study, item: Item, *, unfinished: bool = False) -> list[str]:
    """Return the models that read images, or captions, and finished the usual training of a
    recipe, in the store's order.

    unfinished: checkpoints along a training and untrained models too.
    """
    models = study.models()
    models = without_variants(models) if unfinished else usual(models)
    return list(models.loc[reads(models, item), "model"])


def known_worlds(study: Study) -> list[str]:
    """Return reality, where the dataset's stimuli have known factors."""
    models = study.models()
    return [name for name in models.loc[is_reality(models), "model"] if name == REALITY]
