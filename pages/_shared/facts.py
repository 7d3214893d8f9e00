"""Stimuli, captions, neighbors and competence of a dataset. Sessions share matrices, which are
read-only.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Int32

from core.errors import InputError, MetricError, NotEmbeddedError, PlatoscopeError
from core.figures.palette import Look, assign
from core.questions import captions as retold
from core.questions.alignment import question as alignment
from core.questions.benefits import learners
from core.questions.models.pairs import ModelPairs
from core.questions.models.pairs import closest_two as closest_of
from core.questions.simple import QUICK, ControlFeatures
from core.study import spaces
from core.study.models import groups_by_age
from core.study.parts import Measure
from core.study.study import KEPT
from pages._shared import queries
from pages._shared.queries import Place

MOST_VALUES = 16  # of a factor in the choice of stimuli


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def stimuli(at: Place) -> pd.DataFrame:
    """Return a row per stimulus with its factors."""
    return queries.view(at).stimuli(at.dataset)


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def default_spaces(at: Place) -> list[str]:
    """Return `core.study.spaces.default_spaces`."""
    return spaces.default_spaces(queries.study(at))


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def has_implications(at: Place) -> bool:
    """Return whether transfer, bias or hallucination can be measured: it takes models trained with
    and without transfer, or a world of known frequencies.
    """
    return bool(queries.card(at).world or learners(queries.study(at)))


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def captions(at: Place) -> pd.DataFrame:
    """Return index, level, text."""
    return queries.view(at).captions(at.dataset)


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def default_captions(at: Place) -> list[str]:
    """Return the default caption of every stimulus, or its id."""
    if not queries.card(at).levels:  # images alone
        return stimuli(at)["stimulus"].tolist()
    every = captions(at)
    return every[every["level"] == queries.card(at).levels[0]].sort_values("index")["text"].tolist()


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def factor_values(at: Place) -> dict[str, list[str]]:
    """Return each factor's values as text: numbers by size, words by the alphabet."""
    factors = stimuli(at).drop(columns="stimulus")
    return {
        name: list(factors[name].dropna().sort_values().astype(str).unique()) for name in factors
    }


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def factor_choices(at: Place) -> dict[str, tuple[str, str]]:
    """Return factor and value by "factor=value", for factors with few values."""
    return {
        f"{name}={value}": (name, value)
        for name, values in factor_values(at).items()
        if 2 <= len(values) <= MOST_VALUES
        for value in values
    }


@st.cache_data(max_entries=256, show_spinner=False, hash_funcs=queries.HASHES)
def thumbnails(at: Place, indices: tuple[int, ...]) -> list[str]:
    """Return WebP images as data addresses, "" for each if the dataset has no images. Streamlit's
    own media files may be gone before a busy browser asks for them.
    """
    if not queries.card(at).has_images:
        return [""] * len(indices)
    return [
        f"data:image/webp;base64,{b64encode(webp).decode()}"
        for webp in queries.view(at).thumbnails(at.dataset, indices)
    ]


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=queries.HASHES)
def texts(at: Place, level: str) -> list[tuple[str, ...]]:
    """Return the captions of each stimulus at a level; see `core.questions.captions.texts_at`."""
    return retold.texts_at(queries.study(at), level)


@st.cache_data(max_entries=8, show_spinner=False, hash_funcs=queries.HASHES)
def embedded_levels(at: Place) -> pd.DataFrame:
    """Return model, level, name; see `core.questions.captions.embedded_levels`."""
    return retold.embedded_levels(queries.study(at))


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=queries.HASHES)
def best_models(at: Place, names: tuple[str, ...], *, k: int) -> tuple[str, str]:
    """Return the best aligned two; see `core.questions.alignment.question.best_models`."""
    every = queries.models(at)
    models = every[every["model"].isin(names)]
    return alignment.best_models(at.scope, queries.study(at), models, k=k)


def closest_two(at: Place) -> tuple[str, str] | None:
    """Return the most aligned two of different setups, None if no two have an alignment."""
    with suppress(InputError):
        queries.ask(at, ModelPairs(at.scope))  # with its progress
        return closest_of(at.scope, queries.study(at))
    return None


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=queries.HASHES)
def competence(at: Place) -> pd.DataFrame:
    """Return model, value, unit, reason for each language model."""
    return queries.study(at).competence()


def without_neighbors(at: Place, names: Sequence[str], *, k: int) -> dict[str, str]:
    """Find every model's neighbors under a progress bar, and return why some have none."""
    began, bar, refused = time.monotonic(), None, {}
    for done, name in enumerate(dict.fromkeys(names)):
        try:
            queries.study(at).neighbors(
                name, k=min(k, KEPT)
            )  # more are not kept: every click would find them again
        except NotEmbeddedError:  # it is not left out
            continue
        except MetricError as error:
            refused[name] = str(error)
        if time.monotonic() - began > 0.5:
            bar = bar or st.empty()
            bar.progress(
                (done + 1) / len(names), f"Finding neighbors: {done + 1} of {len(names)} models"
            )
    if bar:
        bar.empty()
    return refused


def neighbors(at: Place, model: str, layer: int, *, k: int) -> Int32[np.ndarray, "n k"]:
    """Return the k nearest stimuli of every stimulus in one layer, most similar first."""
    return queries.study(at).neighbors(model, k=k)[layer, :, :k]


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=queries.HASHES)
def looks(at: Place) -> dict[str, Look]:
    """Return how each group of the dataset's models is drawn; see `core.figures.palette.assign`."""
    made_at = {entry.card.name: entry.made_at for entry in queries.view(at).models(at.dataset)}
    return assign(groups_by_age(queries.models(at), made_at))


def features(at: Place, models: Sequence[str], measure: Measure) -> ControlFeatures | None:
    """Return the question how aligned simple features are with models, answered; None if its answer
    is neither kept nor quick, or has no score.
    """
    question = ControlFeatures(at.scope, tuple(models), measure)
    quick = queries.size(at) <= QUICK and (len(models) <= 2 or measure.metric == "mutual_knn")
    with suppress(PlatoscopeError):
        if quick or queries.recall(at, question) is not None:
            return question if queries.answer(at, question).findings else None
    return None
