"""What makes a stimulus dispersed: a study's dispersion joined with what is known of its images,
captions, factors and consensus.

Image statistics are those of the thumbnails, which every store has and whose longer side is 224
pixels at most, so that large and small images compare; only an image's own size is that of the
original, where the store has kept it. The consensus is made of the same spaces as the dispersion: a
part of what its density predicts may follow from that alone.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int64
from PIL import Image

from core.errors import UnknownNameError
from core.progress import Progress
from core.questions.dispersion.prediction import predict
from core.questions.dispersion.predictors import distance_to_neighbors
from core.questions.dispersion.words import enriched
from core.statistics.nulls import draw_orders
from core.stimuli.statistics import describe_captions, describe_images, split_words
from core.study.consensus import consensus, disperse, find_summary, recipe_of
from core.study.keeping import keep
from core.study.selections import ends
from core.study.spaces import find_spaces
from core.study.study import Study

LARGEST = 4096  # stimuli that are explained; of more as many are drawn
K = 10  # neighbors in the consensus
CHUNK = 128  # thumbnails that are held at a time


def explain(
    study: Study,
    spaces: Sequence[str],
    *,
    by: str = "mean",
    centering: str = "features",
    level: str | None = None,
    seed: int = 0,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Rank what predicts the dispersion of stimuli over spaces; see
    `core.questions.dispersion.prediction.predict`.

    by, centering: as `core.study.consensus.disperse` has them. level: of captions, None for the
    dataset's default. Of more than LARGEST stimuli as many are drawn. Kinds of predictors: image
    (size in pixels and `core.stimuli.statistics`), caption (its words, characters and rarity among
    all captions of the level), factor (all that the dataset knows) and consensus (mean distance to
    the K nearest stimuli drawn: large where the consensus is sparse). Raises UnknownNameError for a
    summary or a level, and what `disperse` and `predict` raise.
    """
    level = _level(study, level)
    places = find_spaces(study, spaces)
    by = find_summary(by, places)

    def rank() -> pd.DataFrame:
        dispersion = disperse(study, spaces, centering=centering, report=report)
        joint = (
            consensus(study, spaces, centering=centering, report=report)
            .drop(columns="index")
            .to_numpy()
        )
        drawn = np.sort(draw_orders(study.size, count=1, seed=seed)[0, :LARGEST])
        predictors = _describe(study, dispersion["index"].to_numpy()[drawn], level, report)
        near = distance_to_neighbors(joint[drawn], k=K)
        predictors["consensus"] = pd.DataFrame({f"distance to {K} neighbors": near})
        return predict(dispersion[by].to_numpy()[drawn], predictors, seed=seed, report=report)

    choices = {
        "by": by,
        "centering": centering,
        "level": level,
        "k": K,
        "largest": LARGEST,
        "seed": seed,
    }
    return keep(study, recipe_of(study, "explanation", places, **choices), rank)


def enriched_words(
    study: Study,
    spaces: Sequence[str],
    *,
    size: int,
    by: str = "mean",
    centering: str = "features",
    level: str | None = None,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Test which words the captions of the least and of the most dispersed stimuli have; see
    `core.questions.dispersion.words.enriched`.

    size: stimuli of each set, at most half of all. by, centering, level: as for `explain`. Stimuli
    without a caption of the level are left out, and each distinct caption counts once per set:
    copies of a stimulus have one dispersion and so fall in one set, where they are no independent
    evidence. Raises what `disperse` and `enriched` raise, StimuliError for size and
    UnknownNameError for level.
    """
    by = find_summary(by, find_spaces(study, spaces))
    dispersion = disperse(study, spaces, centering=centering, report=report)
    texts = _texts(study, _level(study, level))[dispersion["index"]]
    sets = ends(dispersion[by].to_numpy(), size)
    low, high = (
        [split_words(text) for text in dict.fromkeys(texts[chosen]) if text is not None]
        for chosen in sets
    )
    return enriched(low, high)


def _level(study: Study, level: str | None) -> str:
    if level is not None and level not in study.dataset.levels:
        raise UnknownNameError("caption level", level, study.dataset.levels)
    return level or study.dataset.levels[0]


def _describe(
    study: Study, indices: Int64[np.ndarray, " m"], level: str, report: Progress | None
) -> dict[str, pd.DataFrame]:
    """Return the predictors of some of the dataset's stimuli, all but those that depend on
    models.
    """
    name = study.dataset.name
    sizes = study.store.image_sizes(name)
    pixels = (
        np.full(study.dataset.size, np.nan) if sizes is None else sizes["width"] * sizes["height"]
    )
    images = _describe_thumbnails(study, indices, report)
    captions = describe_captions(_texts(study, level).tolist()).iloc[indices]
    factors = study.store.stimuli(name).drop(columns="stimulus").iloc[indices]
    return {
        "image": images.assign(size=np.asarray(pixels)[indices]),
        "caption": captions.reset_index(drop=True),
        "factor": factors.reset_index(drop=True),
    }


def _describe_thumbnails(
    study: Study, indices: Int64[np.ndarray, " m"], report: Progress | None
) -> pd.DataFrame:
    found = []
    for start in range(0, len(indices), CHUNK):
        held = study.store.thumbnails(study.dataset.name, indices[start : start + CHUNK].tolist())
        found.append(describe_images(Image.open(io.BytesIO(webp)) for webp in held))
        if report:
            report(min(start + CHUNK, len(indices)), len(indices), "images described")
    return pd.concat(found, ignore_index=True)


def _texts(study: Study, level: str) -> np.ndarray:
    """Return the caption of every stimulus of the dataset, None where it has none of the level."""
    captions = study.store.captions(study.dataset.name)
    texts = np.full(study.dataset.size, None, dtype=object)
    chosen = captions[captions["level"] == level]
    texts[chosen["index"].to_numpy()] = chosen["text"].to_numpy(object)
    return texts
