"""Where dissimilarities of colors come from: eyes, pixels, captions and language models. Joins the
study to `core.color`.

A source is frozen data: its title is for people, its choices go into the recipe, and `gather` does
the work.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64

from core.encoders.encoder import ModelCard
from core.errors import FeatureError, InputError, MetricError, UnknownNameError
from core.questions.color.geometry.captions import count_together
from core.questions.color.geometry.cooccurrence import (
    GRID,
    PAIRS,
    RADIUS,
    SMOOTHING,
    cell_centers,
    count_colors,
    merge,
)
from core.questions.color.geometry.dissimilarities import Dissimilarities, from_counts
from core.questions.color.geometry.language import LAST, PRESETS, SENTENCES, represent
from core.questions.color.geometry.perception import differences, to_hex, to_lab
from core.questions.color.geometry.shipped import FILE as SHIPPED_FILE
from core.questions.color.geometry.shipped import NAME as SHIPPED
from core.questions.color.geometry.shipped import PAIRS as SHIPPED_PAIRS
from core.questions.color.geometry.shipped import read_counts
from core.questions.color.geometry.words import LAB, color_words, nearest_word
from core.study.study import Study

LEAST = 100  # times that a color was seen in pictures
LEAST_IN_CAPTIONS = 20
MOST_CELLS = 200  # colors of a grid that are laid out: those that were seen most often
BEST, WORST = "best", "worst"  # language models, by competence


@runtime_checkable  # tests check arguments against it
class Source(Protocol):
    """What tells how unlike colors are."""

    def __hash__(self) -> int: ...

    def title(self, study: Study) -> str: ...

    def choices(self, study: Study) -> dict[str, Any]:
        """Return all that the dissimilarities depend on, as plain JSON values."""

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        """Return the dissimilarities. survey: which one tells the colors that words mean."""


@dataclass(frozen=True)
class Perception:
    """CIELAB: color differences ΔE*ab of the words' centroids."""

    def title(self, study: Study) -> str:  # noqa: ARG002 — as of all sources
        return "perception"

    def choices(self, study: Study) -> dict[str, Any]:  # noqa: ARG002 — as of all sources
        return {"source": "perception"}

    def gather(self, study: Study, survey: str) -> Dissimilarities:  # noqa: ARG002 — as of all sources
        table = color_words(survey)
        lab = table[LAB].to_numpy(np.float64)
        return Dissimilarities(
            tuple(table["word"]), lab, np.full(len(lab), np.nan), differences(lab)
        )


@dataclass(frozen=True)
class Cooccurrence:
    """Pixels: max PMI − PMI of colors that lie close together in pictures.

    images: "cifar10" for the counts that come with the project, a dataset of the store (its
    thumbnails), a folder or an .npz file. by: "words", where each cell of the grid counts for the
    word whose centroid is nearest in CIELAB, or "cells", the grid itself (the MOST_CELLS seen most
    often). side: pictures are shrunk to so many pixels first. The others: see
    `core.questions.color.geometry.cooccurrence`.
    """

    images: str = SHIPPED
    by: Literal["words", "cells"] = "words"
    radius: float = RADIUS
    pairs: int = PAIRS
    grid: int = GRID
    side: int | None = None
    smoothing: float = SMOOTHING
    least: int = LEAST
    seed: int = 0

    def __post_init__(self) -> None:
        _check_finite(radius=self.radius, smoothing=self.smoothing)
        if self.side is not None and self.side < 2:
            raise InputError(
                "pictures are shrunk to 2 pixels or more, so that two can lie side by side; given"
                f" {self.side}"
            )

    def title(self, study: Study) -> str:  # noqa: ARG002 — as of all sources
        return f"pixels of {Path(self.images).stem}"

    def choices(self, study: Study) -> dict[str, Any]:
        return {"source": "cooccurrence", **asdict(self), "pictures": self._stamp(study)}

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        table = self._count(study)
        met = np.flatnonzero(table.any(axis=1))
        table, lab = table[np.ix_(met, met)], to_lab(cell_centers(met, grid=self.grid))
        if self.by == "cells":
            return from_counts(
                table, to_hex(lab), lab, least=self.least, most=MOST_CELLS, smoothing=self.smoothing
            )
        words = color_words(survey)
        centroids = words[LAB].to_numpy(np.float64)
        table = merge(table, nearest_word(lab, centroids), kinds=len(words))
        return from_counts(
            table,
            list(words["word"]),
            centroids,
            least=self.least,
            most=len(words),
            smoothing=self.smoothing,
        )

    def _count(self, study: Study) -> Int64[np.ndarray, "cells cells"]:
        from core.questions.color.geometry.pictures import decode, read_pictures

        if self.images == SHIPPED:
            self._check_shipped()
            return read_counts()
        if self.images in {card.name for card in study.store.datasets()}:
            rows = range(study.store.dataset(self.images).size)
            names = [f"stimulus {row} of {self.images}" for row in rows]
            pictures = decode(
                study.store.thumbnails(self.images, rows), names=names, side=self.side
            )
        else:
            pictures = read_pictures(self._path(study), side=self.side)
        return count_colors(
            pictures, radius=self.radius, pairs=self.pairs, grid=self.grid, seed=self.seed
        )

    def _check_shipped(self) -> None:
        if (self.radius, self.pairs, self.grid, self.side, self.seed) != (
            RADIUS,
            PAIRS,
            GRID,
            None,
            0,
        ):
            raise InputError(
                f"the counts that come with the project are of {SHIPPED_PAIRS:,} pairs at most"
                f" {RADIUS:g} pixels apart on a grid of {GRID} steps; to count otherwise, give the"
                " pictures as a folder or an .npz file"
            )

    def _path(self, study: Study) -> Path:
        path = Path(self.images).expanduser()
        if not path.exists():
            raise UnknownNameError(
                "dataset, folder or file",
                self.images,
                [SHIPPED, *(card.name for card in study.store.datasets())],
            )
        return path

    def _stamp(self, study: Study) -> str:
        """Return what changes whenever the pictures do."""
        from core.questions.color.geometry.pictures import find_pictures

        cards = {card.name: card.revision for card in study.store.datasets()}
        if self.images in cards:
            return cards[self.images]
        if self.images == SHIPPED:
            return hashlib.sha256(SHIPPED_FILE.read_bytes()).hexdigest()[:16]
        path = self._path(study)
        files = find_pictures(path) if path.is_dir() else [path]
        stats = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return hashlib.sha256(repr(stats).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Captions:
    """Captions: max PMI − PMI of the color words of one caption, without any model."""

    smoothing: float = SMOOTHING
    least: int = LEAST_IN_CAPTIONS

    def __post_init__(self) -> None:
        _check_finite(smoothing=self.smoothing)

    def title(self, study: Study) -> str:  # noqa: ARG002 — as of all sources
        return "captions"

    def choices(self, study: Study) -> dict[str, Any]:  # noqa: ARG002 — as of all sources; the recipe names the dataset
        return {"source": "captions", **asdict(self)}

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        words = color_words(survey)
        counts = count_together(_captions(study), list(words["word"]))
        lab = words[LAB].to_numpy(np.float64)
        return from_counts(
            counts,
            list(words["word"]),
            lab,
            least=self.least,
            most=len(words),
            smoothing=self.smoothing,
        )


@dataclass(frozen=True)
class Language:
    """A language model: Euclidean distances of what it makes of sentences about each color.

    model: "best" or "worst" of the study's by competence, one of them, a preset (simcse, roberta),
    or hf:ID. layer: see `core.questions.color.geometry.language.represent`; None for the preset's
    own, else the last. A model that was trained in the Cave is asked for words that name colors
    there alone.
    """

    model: str = BEST
    layer: str | None = None
    sentences: tuple[str, ...] = SENTENCES
    device: str = "auto"

    def title(self, study: Study) -> str:
        name = choose_model(study, self.model)
        return name if name == self.model else f"{name} ({self.model})"

    def choices(self, study: Study) -> dict[str, Any]:
        name = choose_model(study, self.model)
        card = study.entry(name).card if name in study.readers("caption") else None
        known = (
            {"weights": card.weights, "words": "the Cave's" if _of_the_cave(card) else "all"}
            if card
            else {}
        )
        return {
            "source": "language",
            "model": name,
            **known,
            "layer": self.layer,
            "sentences": list(self.sentences),
        }

    def gather(self, study: Study, survey: str) -> Dissimilarities:
        from core.settings import choose_device

        name, device = choose_model(study, self.model), choose_device(self.device)
        layer, words = self.layer or LAST, color_words(survey)
        if name in study.readers("caption"):
            from core.competence.opened import reopen

            entry = study.entry(name)
            encoder = reopen(entry, device)
            words = _in_the_cave(words) if _of_the_cave(entry.card) else words
        else:
            from core.encoders.catalog import open_encoder

            preset = PRESETS.get(name)
            encoder = open_encoder(
                preset.spec if preset else name,
                device=device,
                pooling=preset.pooling if preset else "mean",
            )
            layer = self.layer or (preset.layer if preset else LAST)
        vectors = represent(encoder, list(words["word"]), sentences=self.sentences, layer=layer)
        return _from_vectors(vectors, words)


@dataclass(frozen=True)
class Vectors:
    """Vectors made elsewhere: Euclidean distances of a file's rows, one for each of `words`, in its
    last layer.
    """

    file: str
    words: tuple[str, ...]

    def title(self, study: Study) -> str:  # noqa: ARG002 — as of all sources
        return Path(self.file).stem

    def choices(self, study: Study) -> dict[str, Any]:  # noqa: ARG002 — as of all sources
        digest = (
            hashlib.sha256(Path(self.file).read_bytes()).hexdigest()[:16]
            if Path(self.file).is_file()
            else ""
        )
        return {"source": "vectors", **asdict(self), "words": list(self.words), "digest": digest}

    def gather(self, study: Study, survey: str) -> Dissimilarities:  # noqa: ARG002 — as of all sources
        from core.encoders.imported import read_features

        vectors, words = read_features(Path(self.file))[-1], color_words(survey, self.words)
        if len(vectors) != len(self.words) or len(words) != len(self.words):
            raise FeatureError(
                f"{self.file} has {len(vectors)} rows for {len(words)} words; expected a row for"
                " each, in their order"
            )
        return _from_vectors(vectors, words)


def choose_model(study: Study, name: str) -> str:
    """Return the name of the language model that `name` means in a study: the best or worst by
    competence, or itself.

    Raises UnknownNameError for what is none of the study's models, no preset and no hf: spec,
    MetricError where none is competent.
    """
    if name in (BEST, WORST):
        values = study.competence().dropna(subset="value").set_index("model")["value"]
        if values.empty:
            raise MetricError(
                "no language model here has bits per byte, so none is best; name one, or embed a"
                " causal model"
            )
        return str(values.idxmax() if name == BEST else values.idxmin())
    known = study.readers("caption")
    if name not in known and name not in PRESETS and not name.startswith("hf:"):
        raise UnknownNameError("language model", name, [*known, *PRESETS, BEST, WORST])
    return name


def _check_finite(**given: float) -> None:
    if wrong := [name for name, value in given.items() if not math.isfinite(value)]:
        raise InputError(f"{wrong[0]} is a finite number; given {given[wrong[0]]}")


def _from_vectors(vectors: Float[np.ndarray, "n d"], words: pd.DataFrame) -> Dissimilarities:
    from scipy.spatial.distance import pdist, squareform

    if not np.isfinite(vectors).all():
        raise FeatureError(
            "vectors of color words must be finite; given NaN or infinity: choose another layer"
        )
    lab = words[LAB].to_numpy(np.float64)
    return Dissimilarities(
        tuple(words["word"]),
        lab,
        np.full(len(lab), np.nan),
        squareform(pdist(vectors.astype(np.float64))),
    )


def _captions(study: Study) -> Sequence[str]:
    table = study.store.captions(study.dataset.name)
    return list(
        table["text"] if study.rows is None else table.loc[table["index"].isin(study.rows), "text"]
    )


def _of_the_cave(card: ModelCard) -> bool:
    """Tell whether a model was trained in the Cave: then its card has the config of that."""
    return bool(card.training.get("config"))


def _in_the_cave(words: pd.DataFrame) -> pd.DataFrame:
    """Return the words that name colors of things in the Cave: 18 of the 24; gray is there, but
    said of clouds alone.
    """
    from core.stimuli.cave.events import COLORS
    from core.stimuli.cave.words import WORDINGS

    return words[words["word"].isin({wording for color in COLORS for wording in WORDINGS[color]})]
