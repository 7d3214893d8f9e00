"""What language models read: the embeddings of captions at each level, their texts, and the share
of the facts that these tell.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.embedding.reading import read_texts
from core.stimuli.levels import Texts
from core.store.schema import embedding_file
from core.study.study import Study


def tellings(study: Study) -> pd.DataFrame:
    """Return a row per language model and level that it is embedded at: model, level, name (what
    the store calls the embedding).

    Of embeddings of the same level, which hold the same texts in the same weights, the one whose
    name comes first is the row. Those of texts that their level holds no more are left out; see
    `outdated_sentences`.
    """
    retold, outdated = study.store.retellings(study.dataset.name), _outdated(study)
    rows = [
        (retold.get(entry.card.name, entry.card.name), entry.level, entry.card.name)
        for entry in study.store.embeddings(study.dataset.name)
        if entry.level is not None and entry.card.name not in outdated
    ]
    table = pd.DataFrame(rows, columns=["model", "level", "name"])
    return (
        table.sort_values("name", kind="stable")
        .drop_duplicates(["model", "level"])
        .sort_index(ignore_index=True)
    )


def outdated_sentences(study: Study) -> list[str]:
    """Return a sentence for each embedding that is left out, since its level was written again: it
    read other texts.
    """
    folder = study.store.root, study.dataset.name
    return [
        f"{name} is left out: the captions of level {level!r} were written again since; delete"
        f" {embedding_file(*folder, name)} and embed it again"
        for name, level in _outdated(study).items()
    ]


def _outdated(study: Study) -> dict[str, str]:
    """Return the level of each embedding whose recipe names other texts than its level has now."""
    written = {
        level: recipe.digest for level, recipe in study.store.summaries(study.dataset.name).items()
    }
    read = {
        entry.card.name: (entry.level, entry.recipe.choices.get("texts"))
        for entry in study.store.embeddings(study.dataset.name)
    }
    return {
        name: level
        for name, (level, texts) in read.items()
        if level is not None and texts != written.get(level)
    }


def texts_at(study: Study, level: str) -> Texts:
    """Return what is read of each stimulus of a study at a level; see
    `core.embedding.reading.read_texts`.
    """
    texts = read_texts(study.store, study.dataset.name, level)
    return texts if study.rows is None else [texts[row] for row in study.rows]


def told_at(study: Study, level: str) -> Float64[np.ndarray, "n"]:
    """Return the share of each stimulus's facts that its caption tells, all NaN outside the Cave;
    see `share_told`.
    """
    if not study.dataset.knows_factors:
        return np.full(study.size, np.nan)
    from core.cave.events import events
    from core.cave.reading import share_told

    scenes = list(events(study.dataset.source.get("split", "test"), study.dataset.size))
    rows = np.arange(study.size) if study.rows is None else study.rows
    return np.array(
        [
            share_told(scenes[row], " ".join(texts))
            for row, texts in zip(rows, texts_at(study, level), strict=True)
        ]
    )


def retold_models(study: Study) -> list[str]:
    """Return the language models that are embedded at two levels or more, untrained ones and copies
    included.
    """
    counts = tellings(study)["model"].value_counts()
    return [str(name) for name, levels in counts.items() if levels > 1]
