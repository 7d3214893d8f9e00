"""What says how unlike colors are: perception, pixels, captions, models, vectors made elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64, Integer
from PIL import Image
from scipy.spatial import distance

from core.competence.records import can_measure
from core.encoders.encoder import Encoder, ModelCard, find_layer
from core.errors import FeatureError, InputError, MetricError, UnknownNameError, quoted
from core.questions.color.counts import (
    cell_centers,
    count_colors,
    count_together,
    dissimilarity,
    merge,
    often,
    pmi,
)
from core.questions.color.parts import (
    BEST,
    GRID,
    LARGEST,
    PAIRS,
    PERCEPTION,
    PIXELS,
    RADIUS,
    SENTENCES,
    SHIPPED,
    SLOT,
    VECTORS,
    WORST,
    Counting,
    Palette,
    Reading,
    kind_of,
)
from core.questions.color.perception import (
    LAB,
    color_words,
    differences,
    nearest_word,
    to_hex,
    to_lab,
)
from core.questions.color.photos import Picture, decode, read_pictures
from core.questions.color.shipped import FILE as SHIPPED_FILE
from core.questions.color.shipped import PAIRS as SHIPPED_PAIRS
from core.questions.color.shipped import read_counts
from core.settings import check_readable, choose_device, expand
from core.stimuli.dataset import check_captions
from core.stimuli.worlds import the_cave
from core.study.models import reads, usual
from core.study.study import Study

if TYPE_CHECKING:
    from core.encoders.requests import Pooling

LEAST_PIXELS, LEAST_CAPTIONS = 100, 20  # times that a color was seen
MOST_CELLS = 200  # colors of a grid that are laid out: those that were seen most often
PATCH = 64  # pixels of a side of a plain image
LAST, LAST_FOUR = "last", "last 4"
FEATURES = (".npy", ".safetensors", ".pt", ".parquet")  # files of vectors


@dataclass(frozen=True)
class Dissimilarities:
    """Colors, where they lie in CIELAB, how often they were seen (NaN where nothing is counted),
    and how unlike each two are.
    """

    colors: tuple[str, ...]
    lab: Float64[np.ndarray, "n 3"]
    seen: Float64[np.ndarray, " n"]
    matrix: Float64[np.ndarray, "n n"]

    def of(self, colors: Sequence[str]) -> Dissimilarities:
        """Return those of some of the colors, in their order; the dissimilarities stay as they
        are.
        """
        rows = np.array([self.colors.index(color) for color in colors], np.int64)
        return Dissimilarities(
            tuple(colors), self.lab[rows], self.seen[rows], self.matrix[np.ix_(rows, rows)]
        )


def gather(
    study: Study, source: str, *, counting: Counting, reading: Reading, palette: Palette
) -> Dissimilarities:
    """Return what a source says of all the colors that it has."""
    words = color_words(palette.survey)
    match kind_of(source):
        case "perception":
            lab = words[LAB].to_numpy(np.float64)
            unseen = np.full(len(lab), np.nan)
            return Dissimilarities(tuple(words["word"]), lab, unseen, differences(lab))
        case "captions":
            return of_captions(study, counting, words)
        case "pixels":
            return of_pixels(study, source.removeprefix(PIXELS), counting, words)
        case "vectors":
            named = color_words(palette.survey, palette.words or None)
            return of_vectors(study, source.removeprefix(VECTORS), named)
        case "model":
            return of_model(study, source, reading, words)


def title_of(study: Study, source: str) -> str:
    """Return what people call a source."""
    match kind_of(source):
        case "pixels":
            name = source.removeprefix(PIXELS)
            cards = {card.name: card.title for card in study.store.datasets()}
            return f"pixels of {({SHIPPED: 'CIFAR-10'} | cards).get(name, Path(name).stem)}"
        case "vectors":
            return Path(source.removeprefix(VECTORS)).stem
        case "model":
            titles = study.models().set_index("model")["title"]
            return str(titles.get(source, source))
    return source


def typed_source(text: str) -> str:
    """Return the source that a typed text means: a model of the hub, a file of vectors, or pictures
    in a folder or file.
    """
    if text == PERCEPTION or text in PRESETS or text.startswith(("hf:", PIXELS, VECTORS)):
        return text
    return f"{VECTORS if Path(text).suffix.lower() in FEATURES else PIXELS}{text}"


def common(
    sources: Sequence[Dissimilarities], words: Sequence[str] | None = None
) -> list[Dissimilarities]:
    """Return all sources over the colors that each of them has, of `words` where given, in the
    first one's order.

    Raises MetricError where they have none in common.
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


# --- what occurs together ---


def from_counts(
    counts: Integer[np.ndarray, "n n"],
    colors: Sequence[str],
    lab: Float64[np.ndarray, "n 3"],
    *,
    least: int,
    most: int,
    smoothing: float,
) -> Dissimilarities:
    """Return max PMI − PMI of the colors that were seen at least `least` times, of those the `most`
    that were seen most often.

    Raises MetricError where fewer than two were, and as `core.questions.color.counts.pmi`.
    """
    kept = often(counts, least=least, most=most)
    table = counts[np.ix_(kept, kept)]
    if len(kept) < 2 or not table.any(axis=1).all():
        raise MetricError(
            f"{len(kept)} colors were seen {least} times or more; count more pairs, or ask for"
            " fewer"
        )
    matrix = dissimilarity(pmi(table, smoothing=smoothing))
    seen = counts.sum(axis=1)[kept].astype(np.float64)
    return Dissimilarities(tuple(colors[place] for place in kept), lab[kept], seen, matrix)


def of_captions(study: Study, counting: Counting, words: pd.DataFrame) -> Dissimilarities:
    """Return max PMI − PMI of the color words of one caption, without any model."""
    check_captions(study.dataset)
    table = study.store.captions(study.dataset.name)
    if study.rows is not None:
        table = table[table["index"].isin(study.rows)]
    return from_counts(
        count_together(table["text"], list(words["word"])),
        list(words["word"]),
        words[LAB].to_numpy(np.float64),
        least=LEAST_CAPTIONS if counting.least is None else counting.least,
        most=len(words),
        smoothing=counting.smoothing,
    )


def of_pixels(
    study: Study, images: str, counting: Counting, words: pd.DataFrame
) -> Dissimilarities:
    """Return max PMI − PMI of colors that lie close together in pictures.

    images: "cifar10" for the counts that come with the project, a dataset of the store (its
    thumbnails), a folder or an .npz file. counting.by: "words", where each cell of the grid counts
    for the word whose centroid is nearest in CIELAB, or "cells", the grid itself (the MOST_CELLS
    seen most often). The others: see `core.questions.color.counts`.
    """
    table = _count(study, images, counting)
    met = np.flatnonzero(table.any(axis=1))
    table, lab = table[np.ix_(met, met)], to_lab(cell_centers(met, grid=counting.grid))
    colors, most = to_hex(lab), MOST_CELLS
    if counting.by == "words":
        centroids = words[LAB].to_numpy(np.float64)
        table = merge(table, nearest_word(lab, centroids), kinds=len(words))
        colors, lab, most = list(words["word"]), centroids, len(words)
    least = LEAST_PIXELS if counting.least is None else counting.least
    return from_counts(table, colors, lab, least=least, most=most, smoothing=counting.smoothing)


def _count(study: Study, images: str, counting: Counting) -> Int64[np.ndarray, "cells cells"]:
    """Return how often the colors of the grid meet."""
    if images == SHIPPED:
        study.store.note_files(SHIPPED_FILE)
        return read_counts()
    radius, pairs, grid = counting.radius, counting.pairs, counting.grid
    pictures = _pictures(study, images, counting.side)
    return count_colors(pictures, radius=radius, pairs=pairs, grid=grid, seed=0)


def _pictures(study: Study, images: str, side: int | None) -> list[Picture]:
    datasets = [card.name for card in study.store.datasets()]
    if images in datasets:
        rows = list(range(study.store.dataset(images).size))
        if images == study.dataset.name and study.rows is not None:
            rows = [int(row) for row in study.rows]
        names = [f"stimulus {row} of {images}" for row in rows]
        return decode(study.store.thumbnails(images, rows), names=names, side=side)
    check_readable(images)
    path = expand(images)
    if not os.path.exists(path):  # a very long path is no error
        raise UnknownNameError("dataset, folder or file", images, [SHIPPED, *datasets])
    study.store.note_files(path)
    return read_pictures(path, side=side)


def check_shipped(counting: Counting) -> None:
    """Refuse to count otherwise than the counts that come with the project; raises InputError."""
    chosen = (counting.radius, counting.pairs, counting.grid, counting.side)
    if chosen != (RADIUS, PAIRS, GRID, None):
        raise InputError(
            f"the counts that come with the project are of {SHIPPED_PAIRS:,} pairs at most"
            f" {RADIUS:g} pixels apart on a grid of {GRID} steps; to count otherwise, give the"
            " pictures as a folder or an .npz file"
        )


# --- what has vectors ---


def from_vectors(vectors: Float[np.ndarray, "n d"], words: pd.DataFrame) -> Dissimilarities:
    """Return the Euclidean distances of vectors, one for each row of `color_words`; raises
    FeatureError where they are not finite.
    """
    if not np.isfinite(vectors).all():
        raise FeatureError("vectors of colors must be finite; got NaN or infinity")
    lab = words[LAB].to_numpy(np.float64)
    distances = distance.squareform(distance.pdist(vectors.astype(np.float64)))
    return Dissimilarities(tuple(words["word"]), lab, np.full(len(lab), np.nan), distances)


def of_vectors(study: Study, name: str, words: pd.DataFrame) -> Dissimilarities:
    """Return the distances of a file's rows in its last layer, a row for each word, by name or in
    order.
    """
    from core.encoders.imported import read_features  # torch, for some of the formats
    from core.encoders.rows import rows_of
    from core.files.ids import plain_name

    check_readable(name)
    study.store.note_files(Path(name))
    held = read_features(Path(name))
    vectors = held.layers[-1]
    if held.ids is not None:
        by = plain_name(held.named_by)
        vectors = vectors[rows_of(held.ids, words, file=Path(name).stem, by=by).rows[:, 0]]
    if len(vectors) != len(words):
        raise FeatureError(
            f"{name} has {len(vectors)} rows for {len(words)} words; expected a row for each, in"
            " their order"
        )
    return from_vectors(vectors, words)


@dataclass(frozen=True)
class Preset:
    """A published model and how it was read out."""

    spec: str
    pooling: Pooling
    layer: str


# Huh et al. 2024, appendix D; SimCSE's own reading without training is its first token
PRESETS: Mapping[str, Preset] = {
    "simcse": Preset("hf:princeton-nlp/unsup-simcse-roberta-large", "first", LAST),
    "roberta": Preset("hf:FacebookAI/roberta-large", "mean", LAST_FOUR),
}


def of_model(study: Study, model: str, reading: Reading, words: pd.DataFrame) -> Dissimilarities:
    """Return the distances of what a language model makes of sentences about each color, or a
    vision model of plain images in it.

    model: one of the study's, a preset (simcse, roberta), or hf:ID. reading.layer: see `represent`;
    None for the preset's own, else the last. For a language model that was trained in the Cave,
    only the words that name colors there are used.
    """
    layer, sentences = reading.layer, reading.sentences
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
    vectors = represent(encoder, list(words["word"]), sentences=sentences, layer=layer or LAST)
    return from_vectors(vectors, words)


def represent(
    encoder: Encoder,
    words: Sequence[str],
    *,
    sentences: Sequence[str] = SENTENCES,
    layer: str = LAST,
) -> Float64[np.ndarray, "words dims"]:
    """Return each word's mean vector over the sentences that have the word in place of <col>.

    layer: "last", "last 4" (the last four side by side, as wide as all of them), or a layer's name
    or number. Raises InputError for no sentences, and for a sentence without <col>;
    UnknownNameError for another layer. Source: Huh et al. 2024, appendix D (three sentences; the
    layers).
    """
    check_sentences(sentences)
    items = [sentence.replace(SLOT, word) for word in words for sentence in sentences]
    vectors = _encode(encoder, items, layer)
    means: np.ndarray = vectors.reshape(len(words), len(sentences), -1).mean(axis=1)
    return means


def _encode(
    encoder: Encoder, items: Sequence[object], layer: str
) -> Float64[np.ndarray, "items dims"]:
    chosen, layers = read_layers(encoder.card, layer), encoder.encode(items).layers
    return np.concatenate([layers[number].astype(np.float64) for number in chosen], axis=1)


def check_sentences(sentences: Sequence[str]) -> None:
    """Refuse an empty list of sentences, and one that has no place for the color."""
    if wrong := [sentence for sentence in sentences if SLOT not in sentence]:
        raise InputError(f"a sentence has {SLOT} where the color stands; got {quoted(wrong[0])}")
    if not sentences:
        raise InputError(f"at least one sentence expected, such as {SENTENCES[0]!r}; got none")


def read_layers(card: ModelCard, layer: str) -> list[int]:
    """Return the numbers of the layers that `layer` means; raises UnknownNameError, and InputError
    for four of fewer.
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
    """Return the best and the worst language model by competence (the best alone where one has
    any), and the largest trained vision model, by those words.
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
    MetricError where none is competent.
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


def _in_the_cave(words: pd.DataFrame) -> pd.DataFrame:
    """Return the words that name colors of things in the Cave: 18 of the 24; gray is there, but
    said of clouds alone.
    """
    known = {word for wordings in the_cave().colors.values() for word in wordings}
    return words[words["word"].isin(known)]
