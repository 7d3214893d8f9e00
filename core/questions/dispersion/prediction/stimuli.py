"""What makes a stimulus dispersed: a study's dispersion joined with what is known of its images,
captions, factors and consensus.

Image statistics are those of the thumbnails, which every store has and whose longer side is 224
pixels at most, so that large and small images compare; only an image's own size is that of the
original, where the store has kept it. The consensus is made of the same spaces as the dispersion: a
part of what its density predicts may follow from that alone.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64
from PIL import Image

from core.errors import UnknownNameError
from core.progress import Progress
from core.questions.dispersion.prediction.predictors import distance_to_neighbors
from core.statistics.nulls import draw_sample
from core.stimuli.dataset import check_captions
from core.stimuli.statistics import describe_captions, describe_images, split_words
from core.study.study import Study

LARGEST = 4096  # stimuli that are explained; of more as many are drawn
K = 10  # neighbors in the consensus
CHUNK = 128  # thumbnails that are held at a time


def draw_stimuli(study: Study, *, seed: int) -> Int64[np.ndarray, " m"]:
    """Return which of the studied stimuli are explained, by position and rising: all, or LARGEST of
    more.
    """
    return draw_sample(study.size, LARGEST, seed=seed)


def describe_stimuli(
    study: Study, indices: Int64[np.ndarray, " m"], level: str, report: Progress | None
) -> dict[str, pd.DataFrame]:
    """Return the predictors of some of the dataset's stimuli, all but those that depend on models,
    and of a dataset of texts alone those of images.

    image: size in pixels and `core.stimuli.statistics`; caption: its words, characters and rarity
    among all captions of the level; factor: all that the dataset knows.
    """
    name = study.dataset.name
    sizes = study.store.image_sizes(name)
    pixels = (
        np.full(study.dataset.size, np.nan) if sizes is None else sizes["width"] * sizes["height"]
    )
    captions = describe_captions(texts_of(study, level).tolist()).iloc[indices]
    factors = study.store.stimuli(name).drop(columns="stimulus").iloc[indices]
    kinds = {
        "caption": captions.reset_index(drop=True),
        "factor": factors.reset_index(drop=True),
    }
    if not study.dataset.has_images:
        return kinds
    images = _describe_thumbnails(study, indices, report)
    return {"image": images.assign(size=np.asarray(pixels)[indices]), **kinds}


def density(joint: Float64[np.ndarray, "m d"]) -> pd.DataFrame:
    """Return the mean distance to the K nearest stimuli in the consensus: large where it is
    sparse.
    """
    return pd.DataFrame({f"distance to {K} neighbors": distance_to_neighbors(joint, k=K)})


def words_of(texts: Iterable[str | None]) -> list[list[str]]:
    """Return the words of each distinct caption; stimuli without one are left out.

    Copies of a stimulus have one dispersion and so fall in one set, where they are no independent
    evidence.
    """
    return [split_words(text) for text in dict.fromkeys(texts) if text is not None]


def name_level(study: Study, level: str) -> str:
    """Return a caption level, the dataset's default for ""; raises UnknownNameError, StimuliError
    for a dataset without captions.
    """
    check_captions(study.dataset)
    if level and level not in study.dataset.levels:
        raise UnknownNameError("caption level", level, study.dataset.levels)
    return level or study.dataset.levels[0]


def _describe_thumbnails(
    study: Study, indices: Int64[np.ndarray, " m"], report: Progress | None
) -> pd.DataFrame:
    tables = []
    for start in range(0, len(indices), CHUNK):
        held = study.store.thumbnails(study.dataset.name, indices[start : start + CHUNK].tolist())
        tables.append(describe_images(Image.open(io.BytesIO(webp)) for webp in held))
        if report:
            report(min(start + CHUNK, len(indices)), len(indices), "images described")
    return pd.concat(tables, ignore_index=True)


def texts_of(study: Study, level: str) -> np.ndarray:
    """Return the caption of every stimulus of the dataset, None where it has none of the level."""
    captions = study.store.captions(study.dataset.name)
    texts = np.full(study.dataset.size, None, dtype=object)
    chosen = captions[captions["level"] == level]
    texts[chosen["index"].to_numpy()] = chosen["text"].to_numpy(object)
    return texts
