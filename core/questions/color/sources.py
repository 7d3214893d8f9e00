"""Sources of dissimilarities of colors: perception, pixels, captions, models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64, Integer
from PIL import Image
from scipy.spatial import distance

from core.competence.records import can_measure
from core.encoders.encoder import Encoder, ModelCard, find_layer
from core.errors import FeatureError, InputError, MetricError, UnknownNameError
from core.options import option
from core.questions.color.counts import (
    CIFAR10,
    GRID,
    GRIDS,
    PAIRS,
    RADIUS,
    cell_centers,
    count_colors,
    count_together,
    dissimilarity,
    merge,
    often,
    pmi,
    read_counts,
)
from core.settings import ROOT, check_readable, choose_device
from core.statistics.nulls import draw_sample
from core.stimuli.dataset import check_captions
from core.stimuli.images import load_image
from core.stimuli.worlds import the_cave
from core.study.models import reads, usual
from core.study.study import Study

if TYPE_CHECKING:
    from core.encoders.requests import Pooling


_RGB_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_WHITE = _RGB_TO_XYZ.sum(axis=1)  # D65, so that the grays have no hue
_EDGE = 6 / 29  # of the cube root; below it CIELAB is linear


def to_lab(rgb: Float[np.ndarray, "n 3"]) -> Float64[np.ndarray, "n 3"]:
    """Return 8-bit sRGB colors (0 … 255) as CIELAB: L* 0 black … 100 white, a* green to red, b*
    blue to yellow.

    Source: IEC 61966-2-1 (sRGB, D65, 2° observer); CIE 15:2004, equations 8.3 to 8.11.
    """
    coded = rgb.astype(np.float64) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    relative = linear @ _RGB_TO_XYZ.T / _WHITE
    f = np.where(relative > _EDGE**3, np.cbrt(relative), relative / (3 * _EDGE**2) + 4 / 29)
    return np.stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1
    )


def to_rgb(lab: Float[np.ndarray, "n 3"]) -> Float64[np.ndarray, "n 3"]:
    """Return CIELAB colors as sRGB (0 … 255), clipped to what a screen shows: within that the
    inverse of `to_lab`.
    """
    f_y = (lab[:, 0].astype(np.float64) + 16) / 116
    f = np.stack([f_y + lab[:, 1] / 500, f_y, f_y - lab[:, 2] / 200], axis=1)
    relative = np.where(f > _EDGE, f**3, 3 * _EDGE**2 * (f - 4 / 29))
    linear = ((relative * _WHITE) @ np.linalg.inv(_RGB_TO_XYZ).T).clip(0, 1)
    rgb: np.ndarray = 255 * np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return rgb


def to_hex(lab: Float[np.ndarray, "n 3"]) -> list[str]:
    """Return CIELAB colors as #rrggbb."""
    return [
        f"#{red:02x}{green:02x}{blue:02x}"
        for red, green, blue in np.rint(to_rgb(lab)).astype(int).tolist()
    ]


TABLE = ROOT / "data" / "color" / "words.csv"
LAB = ["L", "a", "b"]


def color_words(words: Sequence[str] = ()) -> pd.DataFrame:
    """Return color words (all 24, or the named ones in that order): word, L, a, b, hex, answers.

    L, a, b: the mean in CIELAB of the colors that people called by the word; answers: how many.
    Raises UnknownNameError. Source: the xkcd survey, as binned by Heer, Stone 2012.
    """
    table = pd.read_csv(TABLE).set_index("word")
    if unknown := [word for word in words if word not in table.index]:
        raise UnknownNameError("color word", unknown[0], table.index)
    table = table.loc[list(dict.fromkeys(words))] if words else table
    table = table.assign(hex=to_hex(table[LAB].to_numpy())).reset_index()
    return table[["word", *LAB, "hex", "answers"]]


PERCEPTION, CAPTIONS = "perception", "captions"
PIXELS = "pixels:"  # followed by what is counted
SHIPPED = "cifar10"  # the counts that come with the project
BEST, WORST = "best", "worst"  # language models, by competence
LARGEST = "vision"  # the largest trained vision model
LEAST_PIXELS, LEAST_CAPTIONS = 100, 20  # times that a color was seen
MOST_CELLS = 200  # colors of a grid that are laid out: those that were seen most often
MOST_PICTURES = 2048  # that are in memory; of more, a random sample is counted
PATCH = 64  # pixels of a side of a plain image
LAST, LAST_FOUR = "last", "last 4"
SLOT = "<col>"
SENTENCES = ("The color <col>.", "This color is <col>.", "The color of this thing is <col>.")


@dataclass(frozen=True)
class Reading:
    """How pixels are counted and what they count for, and where models are read."""

    by: Literal["words", "cells"] = option(
        "words",
        label="Pixels as",
        help="lay out color words, or the colors of the grid themselves",
    )
    radius: float = option(
        RADIUS,
        least=1,
        most=1_024,
        label="Radius",
        help="most pixels between the two of a pair, in the thumbnails of a dataset",
    )
    pairs: int = option(
        PAIRS, least=1, most=1_000_000_000, label="Pixel pairs", help="pairs of pixels to draw"
    )
    grid: int = option(
        GRID,
        least=GRIDS[0],
        most=GRIDS[1],
        label="Grid steps",
        help="steps per channel of the color grid of a dataset",
    )
    layer: str | None = option(
        None,
        label="Layer",
        metavar="LAYER",
        help="of every model: last, 'last 4' (side by side), or a name or number (as published,"
        " otherwise last)",
    )


@dataclass(frozen=True)
class Dissimilarities:
    """Colors, their places in CIELAB, their counts (NaN if nothing is counted), and their
    dissimilarities.
    """

    colors: tuple[str, ...]
    lab: Float64[np.ndarray, "n 3"]
    seen: Float64[np.ndarray, " n"]
    matrix: Float64[np.ndarray, "n n"]

    def of(self, colors: Sequence[str]) -> Dissimilarities:
        """Return those of some of the colors, in their order."""
        rows = np.array([self.colors.index(color) for color in colors], np.int64)
        return Dissimilarities(
            tuple(colors), self.lab[rows], self.seen[rows], self.matrix[np.ix_(rows, rows)]
        )


def gather(study: Study, source: str, reading: Reading) -> Dissimilarities:
    """Return what a source says of all the colors that it has."""
    words = color_words()
    if source == PERCEPTION:
        return from_vectors(words[LAB].to_numpy(np.float64), words)
    if source == CAPTIONS:
        return of_captions(study, words)
    if source.startswith(PIXELS):
        return of_pixels(study, source.removeprefix(PIXELS), reading, words)
    return of_model(study, source, reading.layer, words)


def title_of(study: Study, source: str) -> str:
    """Return the title of a source."""
    if source.startswith(PIXELS):
        name = source.removeprefix(PIXELS)
        cards = {card.name: card.title for card in study.store.datasets()}
        return f"pixels of {({SHIPPED: 'CIFAR-10'} | cards).get(name, name)}"
    titles = study.models().set_index("model")["title"]
    return str(titles.get(source, source))


def common(sources: Sequence[Dissimilarities], words: Sequence[str] = ()) -> list[Dissimilarities]:
    """Return all sources over the colors that each of them has, of `words` if given, in the first
    one's order; raises MetricError if there are none.
    """
    shared = [
        color
        for color in sources[0].colors
        if all(color in one.colors for one in sources) and (not words or color in words)
    ]
    if not shared:
        raise MetricError(
            "these sources have no color in common; compare sources that count the same words"
        )
    return [one.of(shared) for one in sources]


def from_counts(
    counts: Integer[np.ndarray, "n n"],
    colors: Sequence[str],
    lab: Float64[np.ndarray, "n 3"],
    *,
    least: int,
    most: int,
) -> Dissimilarities:
    """Return max PMI − PMI of the colors that were seen at least `least` times, of those the `most`
    that were seen most often; raises MetricError for fewer than two.
    """
    kept = often(counts, least=least, most=most)
    table = counts[np.ix_(kept, kept)]
    if len(kept) < 2 or not table.any(axis=1).all():
        raise MetricError(f"{len(kept)} colors were seen {least} times or more; count more pairs")
    seen = counts.sum(axis=1)[kept].astype(np.float64)
    names = tuple(colors[place] for place in kept)
    return Dissimilarities(names, lab[kept], seen, dissimilarity(pmi(table)))


def of_captions(study: Study, words: pd.DataFrame) -> Dissimilarities:
    """Return max PMI − PMI of the color words of one caption, without any model."""
    check_captions(study.dataset)
    table = study.store.captions(study.dataset.name)
    if study.rows is not None:
        table = table[table["index"].isin(study.rows)]
    names, lab = list(words["word"]), words[LAB].to_numpy(np.float64)
    counts = count_together(table["text"], names)
    return from_counts(counts, names, lab, least=LEAST_CAPTIONS, most=len(words))


def of_pixels(study: Study, images: str, reading: Reading, words: pd.DataFrame) -> Dissimilarities:
    """Return max PMI − PMI of colors that lie close together in images.

    images: "cifar10" for the counts that come with the project, or a dataset of the store (its
    thumbnails). reading.by: "words", a cell of the grid counts for the word whose centroid is
    nearest in CIELAB, or "cells", the grid itself (the MOST_CELLS seen most often).
    """
    table, grid = _count(study, images, reading)
    met = np.flatnonzero(table.any(axis=1))
    table, lab = table[np.ix_(met, met)], to_lab(cell_centers(met, grid=grid))
    colors, most = to_hex(lab), MOST_CELLS
    if reading.by == "words":
        centroids = words[LAB].to_numpy(np.float64)
        nearest = distance.cdist(lab, centroids).argmin(axis=1).astype(np.int64)
        table = merge(table, nearest, kinds=len(words))
        colors, lab, most = list(words["word"]), centroids, len(words)
    return from_counts(table, colors, lab, least=LEAST_PIXELS, most=most)


def _count(
    study: Study, images: str, reading: Reading
) -> tuple[Int64[np.ndarray, "cells cells"], int]:
    """Return how often the colors of the grid meet, and the grid's steps."""
    if images == SHIPPED:
        study.store.note_files(CIFAR10)
        return read_counts(), GRID
    datasets = [card.name for card in study.store.datasets()]
    if images not in datasets:
        raise UnknownNameError("dataset", images, [SHIPPED, *datasets])
    rows = np.arange(study.store.dataset(images).size)
    if images == study.dataset.name and study.rows is not None:
        rows = np.asarray(study.rows)
    rows = rows[draw_sample(len(rows), MOST_PICTURES, seed=0)]
    webps = study.store.thumbnails(images, rows.tolist())
    pictures = [
        np.asarray(load_image(webp, name=f"stimulus {row} of {images}"))
        for row, webp in zip(rows, webps, strict=True)
    ]
    counts = count_colors(pictures, radius=reading.radius, pairs=reading.pairs, grid=reading.grid)
    return counts, reading.grid


def from_vectors(vectors: Float64[np.ndarray, "n d"], words: pd.DataFrame) -> Dissimilarities:
    """Return the Euclidean distances of vectors, one for each row of `color_words`; raises
    FeatureError if they are not finite.
    """
    if not np.isfinite(vectors).all():
        raise FeatureError("vectors of colors must be finite; got NaN or infinity")
    lab, distances = words[LAB].to_numpy(np.float64), distance.squareform(distance.pdist(vectors))
    return Dissimilarities(tuple(words["word"]), lab, np.full(len(lab), np.nan), distances)


@dataclass(frozen=True)
class Preset:
    """A published model and how it was read."""

    spec: str
    pooling: Pooling
    layer: str


# Huh et al. 2024, appendix D; SimCSE's own reading without training is its first token
PRESETS: Mapping[str, Preset] = {
    "simcse": Preset("hf:princeton-nlp/unsup-simcse-roberta-large", "first", LAST),
    "roberta": Preset("hf:FacebookAI/roberta-large", "mean", LAST_FOUR),
}


def of_model(study: Study, model: str, layer: str | None, words: pd.DataFrame) -> Dissimilarities:
    """Return the distances of what a language model makes of sentences about each color, or a
    vision model of plain images in it.

    model: one of the study's, a preset (simcse, roberta), or hf:ID. layer: see `read_layers`; None
    for the preset's own, else the last. For a language model that was trained in the Cave, only
    the words that name colors there are used.
    """
    if model in (*study.readers("caption"), *study.readers("image")):
        from core.competence.opened import reopen  # torch takes seconds

        entry = study.entry(model)
        encoder = reopen(entry, choose_device(study.device))
        if model not in study.readers("caption"):
            patches = [Image.new("RGB", (PATCH, PATCH), color) for color in words["hex"]]
            return from_vectors(_encode(encoder, patches, layer or LAST), words)
        if entry.card.training.get("config"):  # trained in the Cave
            words = _in_the_cave(words)
    else:
        from core.encoders.catalog import open_encoder  # torch takes seconds

        check_readable(model)
        folder = Path(model.removeprefix("hf:"))
        if folder.is_dir():
            study.store.note_files(folder)
        preset = PRESETS.get(model, Preset(model, "mean", LAST))
        device = choose_device(study.device)
        encoder = open_encoder(preset.spec, device=device, pooling=preset.pooling)
        layer = layer or preset.layer
    return from_vectors(represent(encoder, list(words["word"]), layer=layer or LAST), words)


def represent(
    encoder: Encoder, words: Sequence[str], *, layer: str = LAST
) -> Float64[np.ndarray, "words dims"]:
    """Return each word's mean vector over SENTENCES with the word in place of <col>.

    Source: Huh et al. 2024, appendix D (three sentences; the layers).
    """
    items = [sentence.replace(SLOT, word) for word in words for sentence in SENTENCES]
    vectors = _encode(encoder, items, layer)
    means: np.ndarray = vectors.reshape(len(words), len(SENTENCES), -1).mean(axis=1)
    return means


def _encode(
    encoder: Encoder, items: Sequence[Any], layer: str
) -> Float64[np.ndarray, "items dims"]:
    chosen, layers = read_layers(encoder.card, layer), encoder.encode(items).layers
    return np.concatenate([layers[number].astype(np.float64) for number in chosen], axis=1)


def read_layers(card: ModelCard, layer: str) -> list[int]:
    """Return the numbers of the layers that are meant: "last", "last 4" (side by side), or a name
    or number. Raises UnknownNameError, and InputError for four of fewer.
    """
    depth = len(card.layers)
    if layer == LAST:
        return [depth - 1]
    if layer != LAST_FOUR:
        return [find_layer(card, layer)]
    if depth < 4:
        raise InputError(f"{card.name} has {depth} layers; choose {LAST!r} or one of them")
    return list(range(depth - 4, depth))


def ends(study: Study) -> dict[str, str]:
    """Return the best and the worst language model by competence (the best alone if one has any),
    and the largest trained vision model, by those words.
    """
    values = study.coded().dropna(subset="value").set_index("model")["value"]
    found = {}
    if len(values):
        found[BEST] = str(values.idxmax())
    if len(values) > 1:
        found[WORST] = str(values.idxmin())
    models = usual(study.models())
    sizes = models[reads(models, "image")].set_index("model")["parameters"].dropna()
    sizes = sizes[[can_measure(study.entry(str(name))) for name in sizes.index]]
    if len(sizes):
        found[LARGEST] = str(sizes.idxmax())
    return found


def choose_model(study: Study, name: str) -> str:
    """Return the model that a name means in a study: best, worst or vision, or itself.

    Raises UnknownNameError for what is none of the study's models, no preset and no hf: spec,
    MetricError if none is competent.
    """
    if name in (BEST, WORST, LARGEST):
        known = ends(study)
        if name == LARGEST and name not in known:
            raise MetricError("no trained vision model is here; embed one, or leave it out")
        if name != LARGEST and BEST not in known:
            raise MetricError(
                "no language model here has bits per byte, so none is best; name one, or embed a"
                " causal model"
            )
        return known.get(name, known.get(BEST, name))
    models = [*study.readers("caption"), *study.readers("image")]
    if name not in models and name not in PRESETS and not name.startswith("hf:"):
        raise UnknownNameError("source of colors", name, [*models, *PRESETS, BEST, WORST, LARGEST])
    return name


def usual_sources(study: Study) -> tuple[str, ...]:
    """Return perception, CIFAR-10's pixels, the best language model, the largest vision model,
    captions and the worst language model, as far as a study has them.
    """
    known = ends(study)
    models = [name for name in (BEST, LARGEST) if name in known]
    return (PERCEPTION, PIXELS + SHIPPED, *models, CAPTIONS, *({WORST} & known.keys()))


def _in_the_cave(words: pd.DataFrame) -> pd.DataFrame:
    """Return the words that name colors of things in the Cave: 18 of the 24; gray is there, but
    said of clouds alone.
    """
    known = {word for wordings in the_cave().colors.values() for word in wordings}
    return words[words["word"].isin(known)]
