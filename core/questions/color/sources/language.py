"""Language models as sources: how unlike they find sentences about each color."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from core.encoders.encoder import Encoder, ModelCard
from core.errors import MetricError, UnknownNameError
from core.questions.color.geometry.dissimilarities import Dissimilarities, from_vectors
from core.questions.color.geometry.language import LAST, PRESETS, represent
from core.questions.color.geometry.words import color_words
from core.questions.color.question import BEST, WORST, Reading
from core.settings import check_readable, choose_device
from core.stimuli.worlds import the_cave
from core.study.study import Study


@dataclass(frozen=True)
class LanguageModel:
    """A language model: Euclidean distances of what it makes of sentences about each color.

    model: one of the study's, a preset (simcse, roberta), or hf:ID. reading.layer: see
    `core.questions.color.geometry.language.represent`; None for the preset's own, else the last.
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
