"""Platoscope from Python: what the commands and pages do, as functions. See docs/api.md.

import platoscope as ps

store = ps.open_store("store")
answer = ps.ask("align", store, dataset="photos", k=5)
answer.table, answer.findings, ps.figure(answer)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.errors import FeatureError, InputError, PlatoscopeError, UnknownNameError
from core.metrics import METRICS
from core.questions.finding import Finding
from core.questions.question import Question, StudyQuestion
from core.recipe import Recipe
from core.settings import choose_device, store_path
from core.stimuli.dataset import DatasetCard
from core.store import Store
from core.study.study import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "METRICS",
    "Answer",
    "PlatoscopeError",
    "add_dataset",
    "align",
    "ask",
    "datasets",
    "embed",
    "figure",
    "import_features",
    "models",
    "open_store",
    "questions",
    "score",
    "space",
]


@dataclass(frozen=True)
class Answer:
    """A question with its table, findings and recipe. study: None if it needs no store."""

    question: Question
    table: pd.DataFrame
    findings: Sequence[Finding]
    recipe: Recipe
    study: Study | None


def open_store(path: str | Path | None = None) -> Store:
    """Open a store, a folder that is made when something is added to it (PLATOSCOPE_STORE, else
    ./store).
    """
    return Store(store_path(path))


def datasets(store: Store) -> list[DatasetCard]:
    """Return the datasets of a store: name, title, size, caption levels."""
    return store.datasets()


def models(store: Store, dataset: str) -> pd.DataFrame:
    """Return a row per embedded model: model, title, modality, family, objective, parameters …"""
    return Study(store, dataset).models()


def space(store: Store, dataset: str, model: str, layer: int = -1) -> np.ndarray:
    """Return the vectors of one layer, (stimuli, dims) float32; −1 for the last layer."""
    layers = len(store.model(dataset, model).card.layers)
    return store.space(dataset, model, range(layers)[layer])


def add_dataset(store: Store, name: str, **options: Any) -> DatasetCard:
    """Add stimuli to a store and return the dataset. options: of `platoscope dataset add`, such as
    folder="photos" or hub="wit_1024". Raise InputError for options, StimuliError for the data.
    """
    from core.questions.words import build_checked
    from core.stimuli.addition import Addition, open_addition
    from core.store import add_dataset as write

    addition = build_checked(Addition, {"name": name, **options})
    dataset = open_addition(addition)
    write(store.root, dataset)
    return dataset.card


def embed(
    store: Store,
    dataset: str,
    specs: str | Sequence[str],
    *,
    caption_level: str | None = None,
    device: str = "auto",
    **options: Any,
) -> list[str]:
    """Embed a dataset with models that are not embedded yet and return their names in the store.

    specs: timm:NAME, timm:NAME@CHECKPOINT, hf:ID or hf:FOLDER. options: pooling, prompt and
    precision, as of `platoscope embed`. Raise EncoderError for a spec, DeviceError for the device.
    """
    from core.embedding.runner import embed as run
    from core.encoders.catalog import open_encoder
    from core.stimuli.catalog import open_dataset

    opened, place = open_dataset(store.dataset(dataset)), choose_device(device)
    names = []
    for spec in [specs] if isinstance(specs, str) else specs:
        encoder = open_encoder(spec, device=place, **options)
        names.append(run(store.root, opened, encoder, level=caption_level).stem)
    return names


def import_features(
    store: Store,
    dataset: str,
    name: str,
    features: np.ndarray | Sequence[np.ndarray],
    *,
    modality: str,
    **facts: Any,
) -> None:
    """Add features that were made elsewhere as a model of a dataset.

    features: in the dataset's order, (n, d), (n, layers, d), or one (n, d) array per layer.
    modality: vision, language, music, brain, people or any other word. facts: family, objective,
    parameters, seed. Raise FeatureError for features that cannot be used.
    """
    from core.embedding.features import import_features as write
    from core.encoders.measured import Content
    from core.encoders.requests import Facts
    from core.questions.words import build_checked

    content = Content(_layers(features))
    card, checked = store.dataset(dataset), build_checked(Facts, facts)
    write(store.root, card, content, name=name, modality=modality, facts=checked)


def score(
    x: np.ndarray | Sequence[np.ndarray],
    y: np.ndarray | Sequence[np.ndarray],
    metric: str = "mutual_knn",
    *,
    q: float = 0.95,
    layers: str = "best",
    **parameters: Any,
) -> float:
    """Return the alignment of two models' features over the same stimuli, clamped at their
    q-quantile (1 for none), rows scaled to length 1. METRICS[metric](x, y) does neither.

    x, y: (n, d), (n, layers, d), or an (n, d) array per layer. layers: best, last, or a pair such
    as 3:5. parameters: of the metric, such as k=10. Raise FeatureError, MetricError.
    """
    from core.questions.score import score_layers
    from core.spaces.choices import Clamping
    from core.study.parts import Comparison

    comparison = Comparison.of(metric, parameters, layers=layers)
    table = score_layers(_layers(x), _layers(y), comparison, Clamping(q))
    return float(table["score"].iloc[0]) if len(table) else math.nan


def questions() -> dict[str, str]:
    """Return the questions that can be asked, by command."""
    from core.questions.topics import every_kind

    return {kind.command: kind.title() for kind in every_kind()}


def ask(
    command: str,
    store: Store | None = None,
    *,
    device: str | None = None,
    **options: Any,
) -> Answer:
    """Answer a question; the store keeps the answer.

    command: such as "align" or "models map"; see `questions`. options: of the command, with
    underscores: dataset="photos", k=5, x=["a", "b"]. Raise UnknownNameError for a command or an
    option, InputError for a value.
    """
    from core.questions.asking import answer
    from core.questions.moved import present_words
    from core.questions.topics import every_kind, find_kind
    from core.questions.words import build_checked

    command = " ".join(present_words(command.split()))
    kind = find_kind(command)
    if kind is None:
        raise UnknownNameError("question", command, [one.command for one in every_kind()])
    question, study = build_checked(kind, options), None
    if isinstance(question, StudyQuestion):
        if store is None:
            raise InputError(f"{command!r} is about models of a store; give one: ask(…, store)")
        study = question.scope.open(store, device=device or question.device or "cpu")
    answered = answer(question, study)
    complete = question.complete(study)
    return Answer(complete, answered.table, answered.findings, answered.recipe, study)


def align(
    store: Store, dataset: str, x: Sequence[str] = (), y: Sequence[str] = (), **options: Any
) -> Answer:
    """Align models x with models y, pair by pair, with chance: `ask("align", …)`."""
    return ask("align", store, dataset=dataset, x=x, y=y, **options)


def figure(answer: Answer) -> go.Figure:
    """Draw an answer's main figure with Plotly; raise InputError if it has none."""
    from core.plans.report import picture

    drawn = picture(answer.question, answer.table, answer.study)
    if drawn is None:
        raise InputError(f"{answer.question.command!r} has no figure; use the answer's table")
    return drawn


def _layers(features: np.ndarray | Sequence[np.ndarray]) -> list[np.ndarray]:
    from core.encoders.imported import narrowed

    if isinstance(features, np.ndarray):
        features = list(features.swapaxes(0, 1)) if features.ndim == 3 else [features]
    layers = [np.asarray(layer, np.float64) for layer in features]
    if not layers or any(layer.ndim != 2 or len(layer) != len(layers[0]) for layer in layers):
        raise FeatureError(
            "expected features (n, d), (n, layers, d), or an (n, d) array for each layer; got"
            f" {[layer.shape for layer in layers]}"
        )
    return [narrowed(layer, Path("the features")) for layer in layers]
