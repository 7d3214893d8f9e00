"""Which models a question means where it names none."""

from __future__ import annotations

from core.encoders.encoder import REALITY
from core.modalities import Item
from core.study.models import is_reality, reads, trained
from core.study.study import Study


def finished_models(study: Study, item: Item, *, unfinished: bool = False) -> list[str]:
    """Return the models that read images, or captions, and finished a training, in the store's
    order.

    unfinished: checkpoints along a training and untrained models too.
    """
    models = study.models()
    models = models if unfinished else trained(models)
    return list(models.loc[reads(models, item), "model"])


def known_worlds(study: Study) -> list[str]:
    """Return reality, where the dataset's stimuli have known factors."""
    models = study.models()
    return [name for name in models.loc[is_reality(models), "model"] if name == REALITY]
