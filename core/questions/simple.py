"""Simple features of images and captions: what models' alignment is held against."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64
from PIL import Image

from core.errors import FeatureError, MetricError
from core.figures.grammar import Axis, Dots, Level, Palette, Plot
from core.modalities import Item, find_modality
from core.options import models_option, part
from core.progress import tell_each
from core.questions.captions import texts_at
from core.questions.finding import NAN, Finding
from core.questions.question import Answer, StudyQuestion
from core.store.view import Reads
from core.study.comparing import choose_engine, prepare_each
from core.study.parts import Measure
from core.study.study import Study

SIDE, BINS = 16, 4  # pixels of a raw image, and bins of each color channel
WORDS = 2000  # in a bag, the most frequent
FREQUENCIES = 12  # bins of words by frequency
TIE = 0.01  # words or characters that break ties of lengths
QUICK = 1024  # stimuli whose features take about two seconds
PIXELS, COLORS = "raw pixels", "color histogram"
LENGTH, BAG, FREQUENCY = "caption length", "bag of words", "word frequencies"
Space = Float[np.ndarray, "n _"]


_held: dict[tuple[object, ...], tuple[Reads, Mapping[str, tuple[Item, Space]]]] = {}


def simple_features(study: Study) -> Mapping[str, tuple[Item, Space]]:
    """Return simple features of a study's stimuli by name, with what they are computed from; those
    of the latest study are held, since two seconds are long for a click.
    """
    rows = None if study.rows is None else study.rows.tobytes()
    key = (study.store.root, study.dataset.name, rows)
    reads, made = _held.get(key, ({}, {}))
    if not reads or not study.store.is_fresh(reads):
        noting = study.noting()
        made = _compute_features(noting)
        reads = dict(noting.store.reads)
        _held.clear()
        _held[key] = reads, made
    study.store.note(reads)
    return made


def _compute_features(study: Study) -> dict[str, tuple[Item, Space]]:
    made: dict[str, tuple[Item, Space]] = {}
    card = study.dataset
    rows = np.arange(card.size) if study.rows is None else study.rows
    if card.has_images:
        webps = study.store.thumbnails(card.name, rows.tolist())
        images = [Image.open(io.BytesIO(webp)).convert("RGB") for webp in webps]
        small = [np.asarray(one.resize((SIDE, SIDE)), float).ravel() for one in images]
        for name, each in ((PIXELS, small), (COLORS, map(_histogram, images))):
            space = np.stack(list(each))
            made[name] = "image", space - space.mean(axis=0)
    if card.levels:
        words = [" ".join(texts).lower().split() for texts in texts_at(study, card.levels[0])]
        made |= {name: ("caption", space) for name, space in text_features(words).items()}
    return made


def _histogram(image: Image.Image) -> Float64[np.ndarray, " bins"]:
    cells = np.asarray(image.resize((64, 64))).reshape(-1, 3).astype(int) * BINS // 256
    counts = np.bincount(cells @ (BINS**2, BINS, 1), minlength=BINS**3)
    shares: np.ndarray = np.sqrt(counts / counts.sum())
    return shares


def text_features(words: Sequence[Sequence[str]]) -> dict[str, Space]:
    """Return what counting words tells of texts: length (words and characters, ties broken at
    random), their bag (term frequency · log inverse document frequency), and how many of the words
    are how frequent in all texts.
    """
    counts, n = [Counter(text) for text in words], len(words)
    documents = Counter(word for text in counts for word in text)
    total = Counter(word for text in words for word in text)
    place = {word: at for at, (word, _) in enumerate(documents.most_common(WORDS))}
    top = max(map(math.log, total.values()), default=0.0) or 1.0
    bag, frequent = np.zeros((n, len(place))), np.zeros((n, FREQUENCIES))
    for row, text in enumerate(counts):
        for word, count in text.items():
            if word in place:
                bag[row, place[word]] = count * math.log(n / documents[word])
            share = math.log(total[word]) / top
            frequent[row, min(int(share * FREQUENCIES), FREQUENCIES - 1)] += count
    length = np.array([[len(text), sum(map(len, text))] for text in words], float)
    length += np.random.default_rng(0).uniform(-TIE, TIE, length.shape)
    length = (length - length.mean(axis=0)) / length.std(axis=0)
    small = 0.1 * length / np.sqrt((length**2).sum(axis=1)).max()
    sphere = np.column_stack([small, np.sqrt(1 - (small**2).sum(axis=1))])  # cosines go by distance
    return {LENGTH: sphere, BAG: bag, FREQUENCY: frequent - frequent.mean(axis=0)}


@dataclass(frozen=True)
class ControlFeatures(StudyQuestion):
    """How aligned are simple features with these models?

    With two models that read different things, each is held against what the other one reads.
    """

    command = "controls features"
    version = 1
    listed = False
    columns: ClassVar[Mapping[str, str]] = {
        "control": "simple feature",
        "of": "what it is computed from: image or caption",
        "against": "model",
        "title": "its name",
        "score": "alignment with its best-aligned layer",
        "chance": "alignment of unrelated spaces",
        "own": "alignment of the two models' best layers, if there are two",
        "n": "stimuli",
        "reason": "why there is no score",
    }

    models: tuple[str, ...] = models_option("models that they are aligned with (none)")
    measure: Measure = part(Measure)

    def answer(self, study: Study) -> Answer:
        best = np.fmax if self.measure.toward > 0 else np.fmin  # both pass over NaN
        engine = choose_engine(study, self.measure, self.models)
        ready, refused = prepare_each(study, engine, self.models)
        models = study.models().set_index("model").loc[list(self.models)]
        kinds = {name: find_modality(kind).reads for name, kind in models["modality"].items()}
        rows = list[dict[str, Any]]()
        for name, (of, space) in tell_each(simple_features(study).items(), "controls"):
            try:
                feature = engine.prepare([space])
            except (FeatureError, MetricError) as error:
                rows.append({"control": name, "of": of, "reason": str(error)})
                continue
            for model, kind in kinds.items():
                if kind == of and len(set(kinds.values())) > 1:
                    continue
                row = {"control": name, "of": of, "against": model, "title": models["title"][model]}
                if model in ready:
                    scores = engine.scores(feature, ready[model])
                    row["score"] = best.reduce(scores.values, axis=None)
                rows.append(row | {"reason": refused.get(model, "")})
        own = NAN
        if len(ready) == 2:
            own = best.reduce(engine.scores(*ready.values()).values, axis=None)
        common = {
            "against": "",
            "title": "",
            "chance": self.measure.chance(study.size),
            "own": own,
            "n": study.size,
        }
        table = pd.DataFrame([common | row for row in rows], columns=list(self.columns))
        return Answer(table, self._findings(table))

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        known = best_features(table, self.measure)
        if known.empty:
            return []
        first = known.iloc[0]
        claim = f"The best simple feature is {first['control']}, with {first['title']}"
        return [Finding(claim, first["score"], name=self.measure.spec.short, digits=3)]

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw how aligned each feature is with each model, and the two models with each other."""
        return Plot(
            "Simple features",
            marks=(
                Dots(
                    *("score", "control"),
                    color=Palette("title"),
                    card=("<b>{control}</b> and {title}", "{score:.3f}"),
                ),
            ),
            x=Axis(self.measure.label, zero=True),
            y=Axis("", names=list(dict.fromkeys(table["control"]))),
            levels=(
                Level("chance", along="x"),
                Level("own", "control", "the two models", along="x"),
            ),
            height=260,
            empty="No simple feature can be computed[[: {reason}]].",
        ).over(table)


def best_features(table: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return the features of `ControlFeatures` that have a score, the most aligned first."""
    known = table.dropna(subset="score")
    return known.sort_values("score", ascending=measure.toward < 0, kind="stable")
