"""Which models a question means where it names none."""

from __future__ import annotations

from core.encoders.encoder import REALITY, Modality
from core.study.models import trained
from core.study.study import Study


def finished_models(study: Study, modality: Modality, *, unfinished: bool = False) -> list[str]:
    """Return the models of a modality that finished a training, in the store's order.

    unfinished: checkpoints along a training and untrained models too.
    """
    models = study.models()
    models = models if unfinished else trained(models)
    return models.loc[models["modality"] == modality, "model"].tolist()


def known_worlds(study: Study) -> list[str]:
    """Return reality, where the dataset's stimuli have known factors."""
    return [name for name in study.names("world") if name == REALITY]
