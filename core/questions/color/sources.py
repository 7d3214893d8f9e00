"""What says how unlike colors are: perception, pixels, captions, language models and vectors made
elsewhere."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64, Integer
from scipy.spatial import distance

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
    PAIRS,
    RADIUS,
    SENTENCES,
    SHIPPED,
    SLOT,
    WORST,
    Counting,
    Reading,
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
from core.study.study import Study


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

    Raises MetricError where fewer than two were, and as
    `core.questions.color.counts.pmi`.
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


def from_vectors(vectors: Float[np.ndarray, "n d"], words: pd.DataFrame) -> Dissimilarities:
    """Return the Euclidean distances of vectors, one for each row of `color_words`; raises
    FeatureError where they are not finite.
    """
    if not np.isfinite(vectors).all():
        raise FeatureError(
            "vectors of color words must be finite; got NaN or infinity: choose another layer"
        )
    lab = words[LAB].to_numpy(np.float64)
    distances = distance.squareform(distance.pdist(vectors.astype(np.float64)))
    return Dissimilarities(tuple(words["word"]), lab, np.full(len(lab), np.nan), distances)


if TYPE_CHECKING:
    from core.encoders.requests import Pooling

LAST, LAST_FOUR = "last", "last 4"


@dataclass(frozen=True)
class Preset:
    """A published model and how it was read out."""

    spec: str
    pooling: Pooling
    layer: str


PRESETS: Mapping[
    str, Preset
] = {  # Huh et al. 2024, appendix D; SimCSE's own reading without training is its first token
    "simcse": Preset("hf:princeton-nlp/unsup-simcse-roberta-large", "first", LAST),
    "roberta": Preset("hf:FacebookAI/roberta-large", "mean", LAST_FOUR),
}


def represent(
    encoder: Encoder,
    words: Sequence[str],
    *,
    sentences: Sequence[str] = SENTENCES,
    layer: str | int = LAST,
) -> Float64[np.ndarray, "words dims"]:
    """Return each word's mean vector over the sentences that have the word in place of <col>.

    layer: "last", "last 4" (the last four side by side, as wide as all of them), or a layer's name
    or number. Raises InputError for no words or sentences, and for a sentence without <col>;
    UnknownNameError for another layer. Source: Huh et al. 2024, appendix D (three sentences; the
    layers).
    """
    check_sentences(sentences)
    if not words:
        raise InputError("expected at least one color word; got none")
    chosen = read_layers(encoder.card, layer)
    layers = encoder.encode(
        [sentence.replace(SLOT, word) for word in words for sentence in sentences]
    ).layers
    beside = np.concatenate([layers[number].astype(np.float64) for number in chosen], axis=1)
    means: np.ndarray = beside.reshape(len(words), len(sentences), -1).mean(axis=1)
    return means


def check_sentences(sentences: Sequence[str]) -> None:
    """Refuse an empty list of sentences, and one that has no place for the color."""
    if wrong := [sentence for sentence in sentences if SLOT not in sentence]:
        raise InputError(f"a sentence has {SLOT} where the color stands; got {quoted(wrong[0])}")
    if not sentences:
        raise InputError(f"at least one sentence expected, such as {SENTENCES[0]!r}; got none")


def read_layers(card: ModelCard, layer: str | int) -> list[int]:
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


@runtime_checkable  # tests check arguments against it
class Source(Protocol):
    """What says how unlike colors are: frozen data that `gather` turns into dissimilarities."""

    @property
    def title(self) -> str:
        """Return what tables call the source."""

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        """Return the dissimilarities. survey: the one that says which color a word means."""


LEAST_PIXELS = 100  # times that a color was seen
MOST_CELLS = 200  # colors of a grid that are laid out: those that were seen most often


@dataclass(frozen=True)
class Pixels:
    """Pixels: max PMI − PMI of colors that lie close together in pictures.

    images: "cifar10" for the counts that come with the project, a dataset of the store (its
    thumbnails), a folder or an .npz file. counting.by: "words", where each cell of the grid counts
    for the word whose centroid is nearest in CIELAB, or "cells", the grid itself (the MOST_CELLS
    seen most often). The others: see `core.questions.color.counts`.
    """

    images: str
    counting: Counting

    def __post_init__(self) -> None:
        check_finite(radius=self.counting.radius, smoothing=self.counting.smoothing)
        side = self.counting.side
        if side is not None and side < 2:
            raise InputError(
                "pictures are shrunk to 2 pixels or more, so that two can lie side by side; got"
                f" {side}"
            )

    @property
    def title(self) -> str:
        return f"pixels of {Path(self.images).stem}"

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        table = self.count(study)
        met = np.flatnonzero(table.any(axis=1))
        table = table[np.ix_(met, met)]
        lab = to_lab(cell_centers(met, grid=self.counting.grid))
        if self.counting.by == "cells":
            return self._unlike(table, to_hex(lab), lab, most=MOST_CELLS)
        words = color_words(survey)
        centroids = words[LAB].to_numpy(np.float64)
        table = merge(table, nearest_word(lab, centroids), kinds=len(words))
        return self._unlike(table, list(words["word"]), centroids, most=len(words))

    def _unlike(
        self, counts: np.ndarray, colors: list[str], lab: np.ndarray, *, most: int
    ) -> Dissimilarities:
        least = LEAST_PIXELS if self.counting.least is None else self.counting.least
        smoothing = self.counting.smoothing
        return from_counts(counts, colors, lab, least=least, most=most, smoothing=smoothing)

    def count(self, study: Study) -> Int64[np.ndarray, "cells cells"]:
        """Return how often the colors of the grid meet."""
        if self.images == SHIPPED:
            check_shipped(self.counting)
            study.store.note_files(SHIPPED_FILE)
            return read_counts()
        radius, pairs, grid = self.counting.radius, self.counting.pairs, self.counting.grid
        return count_colors(self.pictures(study), radius=radius, pairs=pairs, grid=grid, seed=0)

    def pictures(self, study: Study) -> list[Picture]:
        """Return the pictures; the counts that come with the project have none."""
        side = self.counting.side
        if self.images not in {card.name for card in study.store.datasets()}:
            path = self._path(study)
            study.store.note_files(path)
            return read_pictures(path, side=side)
        rows = _rows(study, self.images)
        names = [f"stimulus {row} of {self.images}" for row in rows]
        return decode(study.store.thumbnails(self.images, rows), names=names, side=side)

    def _path(self, study: Study) -> Path:
        check_readable(self.images)
        path = expand(self.images)
        if not os.path.exists(path):  # a very long path is no error
            datasets = [card.name for card in study.store.datasets()]
            raise UnknownNameError("dataset, folder or file", self.images, [SHIPPED, *datasets])
        return path


def check_shipped(counting: Counting) -> None:
    """Refuse to count otherwise than the counts that come with the project; raises InputError."""
    chosen = (counting.radius, counting.pairs, counting.grid, counting.side)
    if chosen != (RADIUS, PAIRS, GRID, None):
        raise InputError(
            f"the counts that come with the project are of {SHIPPED_PAIRS:,} pairs at most"
            f" {RADIUS:g} pixels apart on a grid of {GRID} steps; to count otherwise, give the"
            " pictures as a folder or an .npz file"
        )


def check_finite(**values: float) -> None:
    """Refuse numbers that are none; raises InputError."""
    if wrong := [name for name, value in values.items() if not math.isfinite(value)]:
        raise InputError(f"{wrong[0]} is a finite number; got {values[wrong[0]]}")


def _rows(study: Study, dataset: str) -> list[int]:
    """Return the stimuli whose pictures count: of the study's own dataset, those studied."""
    if dataset == study.dataset.name and study.rows is not None:
        return [int(row) for row in study.rows]
    return list(range(study.store.dataset(dataset).size))


LEAST_CAPTIONS = 20  # captions that a color was seen in


@dataclass(frozen=True)
class Perception:
    """CIELAB: color differences ΔE*ab of the words' centroids."""

    title: str = "perception"

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        table = color_words(survey)
        lab = table[LAB].to_numpy(np.float64)
        return Dissimilarities(
            tuple(table["word"]), lab, np.full(len(lab), np.nan), differences(lab)
        )


@dataclass(frozen=True)
class Captions:
    """Captions: max PMI − PMI of the color words of one caption, without any model."""

    counting: Counting
    title: str = "captions"

    def __post_init__(self) -> None:
        check_finite(smoothing=self.counting.smoothing)

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        words = color_words(survey)
        return from_counts(
            count_together(_captions(study), list(words["word"])),
            list(words["word"]),
            words[LAB].to_numpy(np.float64),
            least=LEAST_CAPTIONS if self.counting.least is None else self.counting.least,
            most=len(words),
            smoothing=self.counting.smoothing,
        )


@dataclass(frozen=True)
class Vectors:
    """Vectors made elsewhere: Euclidean distances of a file's rows in its last layer, a row for
    each of `words`, by name or in order; for each of all color words where none are named.
    """

    file: str
    words: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return Path(self.file).stem

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        from core.encoders.imported import read_features  # torch, for some of the formats
        from core.encoders.rows import rows_of
        from core.files.ids import plain_name

        check_readable(self.file)
        study.store.note_files(Path(self.file))
        words = color_words(survey, self.words or None)
        held, expected = read_features(Path(self.file)), len(self.words) or len(words)
        vectors = held.layers[-1]
        if held.ids is not None:
            by = plain_name(held.named_by)
            vectors = vectors[rows_of(held.ids, words, file=self.title, by=by).rows[:, 0]]
        if len(vectors) != expected or len(words) != expected:
            raise FeatureError(
                f"{self.file} has {len(vectors)} rows for {len(words)} words; expected a row for"
                " each, in their order"
            )
        return from_vectors(vectors, words)


def _captions(study: Study) -> Sequence[str]:
    check_captions(study.dataset)
    table = study.store.captions(study.dataset.name)
    return list(
        table["text"] if study.rows is None else table.loc[table["index"].isin(study.rows), "text"]
    )


@dataclass(frozen=True)
class LanguageModel:
    """A language model: Euclidean distances of what it makes of sentences about each color.

    model: one of the study's, a preset (simcse, roberta), or hf:ID. reading.layer: see
    `core.questions.color.sources.represent`; None for the preset's own, else the last.
    For a model that was trained in the Cave, only the words that name colors there are used.
    """

    model: str
    reading: Reading

    @property
    def title(self) -> str:
        return self.model

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        words, layer = color_words(survey), self.reading.layer or LAST
        if self.model in study.readers("caption"):
            encoder, words = self._of_study(study, words)
        else:
            encoder, layer = self._of_hub(study)
        sentences = self.reading.sentences
        vectors = represent(encoder, list(words["word"]), sentences=sentences, layer=layer)
        return from_vectors(vectors, words)

    def _of_study(self, study: Study, words: pd.DataFrame) -> tuple[Encoder, pd.DataFrame]:
        from core.competence.opened import reopen  # torch takes seconds

        entry = study.entry(self.model)
        encoder = reopen(entry, choose_device(study.device))
        return encoder, _in_the_cave(words) if _of_the_cave(entry.card) else words

    def _of_hub(self, study: Study) -> tuple[Encoder, str]:
        from core.encoders.catalog import open_encoder  # torch takes seconds

        check_readable(self.model)
        folder = Path(self.model.removeprefix("hf:"))
        if folder.is_dir():
            study.store.note_files(folder)
        preset = PRESETS.get(self.model)
        encoder = open_encoder(
            preset.spec if preset else self.model,
            device=choose_device(study.device),
            pooling=preset.pooling if preset else "mean",
        )
        return encoder, self.reading.layer or (preset.layer if preset else LAST)


def ends(study: Study) -> dict[str, str]:
    """Return the best and the worst of the study's language models by competence, by those words;
    the best alone where only one is competent.
    """
    values = study.coded().dropna(subset="value").set_index("model")["value"]
    if values.empty:
        return {}
    best = {BEST: str(values.idxmax())}
    return {**best, WORST: str(values.idxmin())} if len(values) > 1 else best


def choose_model(study: Study, name: str) -> str:
    """Return the language model that a name means in a study: the best or worst by competence, or
    itself.

    Raises UnknownNameError for what is none of the study's models, no preset and no hf: spec,
    MetricError where none is competent.
    """
    if name in (BEST, WORST):
        by_competence = ends(study)
        if not by_competence:
            raise MetricError(
                "no language model here has bits per byte, so none is best; name one, or embed a"
                " causal model"
            )
        return by_competence.get(name, by_competence[BEST])
    models = study.readers("caption")
    if name not in models and name not in PRESETS and not name.startswith("hf:"):
        raise UnknownNameError("language model", name, [*models, *PRESETS, BEST, WORST])
    return name


def _of_the_cave(card: ModelCard) -> bool:
    """Return whether a model was trained in the Cave: then its card has the config of that."""
    return bool(card.training.get("config"))


def _in_the_cave(words: pd.DataFrame) -> pd.DataFrame:
    """Return the words that name colors of things in the Cave: 18 of the 24; gray is there, but
    said of clouds alone.
    """
    known = {word for wordings in the_cave().colors.values() for word in wordings}
    return words[words["word"].isin(known)]


TESTED = 10_000  # pictures behind the counts that come with the project


def pixel_cloud(pixels: Pixels, study: Study, *, drawn: int, seed: int) -> pd.DataFrame:
    """Return pixels drawn at random: hex, L, a, b (CIELAB), and how many pictures they are from.

    Each picture is as likely as any other, and within it each pixel; with replacement. The counts
    that come with the project have no pictures: their cloud is the middle of every cell of the grid
    that was seen, each once.
    """
    if pixels.images == SHIPPED:
        seen = np.flatnonzero(pixels.count(study).any(axis=1))
        return _cloud(cell_centers(seen, grid=GRID), TESTED)
    pictures = pixels.pictures(study)
    return _cloud(draw_pixels(pictures, drawn=drawn, seed=seed), len(pictures))


def draw_pixels(
    pictures: Sequence[Picture], *, drawn: int, seed: int
) -> Float64[np.ndarray, "drawn 3"]:
    """Return the colors (sRGB, 0 … 255) of pixels drawn at random; see `pixel_cloud`."""
    rng = np.random.default_rng(seed)
    chosen = [pictures[one] for one in rng.integers(len(pictures), size=drawn)]
    places = rng.random((drawn, 2))
    colors: np.ndarray = np.array(
        [
            picture[int(down * picture.shape[0]), int(right * picture.shape[1])]
            for picture, (down, right) in zip(chosen, places, strict=True)
        ],
        np.float64,
    )
    return colors


def _cloud(rgb: Float64[np.ndarray, "n 3"], pictures: int) -> pd.DataFrame:
    lab = to_lab(rgb)
    return pd.DataFrame(lab, columns=LAB).assign(hex=to_hex(lab), pictures=pictures)
