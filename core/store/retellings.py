"""A language model embedded over several caption levels is one model: which of its embeddings
stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from core.store.schema import ModelEntry


def find_retellings(entries: Sequence[ModelEntry], levels: Sequence[str]) -> dict[str, str]:
    """Return, for each embedding of a model in other captions, the name of the
    embedding that is the model.

    Of the embeddings of equal weights, pooling and prompt those of the earliest caption level are
    models, all others retellings of the first of them. levels: the dataset's, the default first;
    any other level comes after them.
    """
    order = {level: place for place, level in enumerate(levels)}
    captioned = sorted(
        (entry for entry in entries if entry.level is not None),
        key=lambda entry: (*_reader(entry), entry.card.name),
    )
    retellings: dict[str, str] = {}
    for _, group in groupby(captioned, key=_reader):
        first, *others = sorted(
            group, key=lambda entry: (order.get(str(entry.level), len(order)), str(entry.level))
        )
        retellings |= {
            entry.card.name: first.card.name for entry in others if entry.level != first.level
        }
    return retellings


def _reader(entry: ModelEntry) -> tuple[str, ...]:
    """Return what reads the captions: weights, pooling and prompt; of an import what is before `~`
    in its name.
    """
    if entry.card.spec.startswith("import:"):
        return entry.card.modality, entry.card.name.partition("~")[0], "import"
    encoder: dict[str, Any] = entry.recipe.choices.get("encoder", {})
    return entry.card.weights, str(encoder.get("pooling")), str(encoder.get("prompt"))
