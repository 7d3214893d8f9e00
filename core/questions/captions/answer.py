"""Alignment by caption level: a study's language models over all levels that they are embedded at,
against vision and reality.

Every table that takes long is kept in the store with its recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.embedding.texts import read_texts
from core.encoders.encoder import REALITY
from core.errors import MetricError, UnknownNameError
from core.metrics import METRICS
from core.metrics.knn import mutual_terms
from core.progress import Progress
from core.questions.captions.trends import by_share
from core.stimuli.levels import Texts
from core.stimuli.statistics import split_words
from core.store.schema import embedding_file
from core.study.comparing import align_models, choose_engine
from core.study.keeping import keep
from core.study.layers import read_choice
from core.study.models import UNTRAINED, reads
from core.study.spaces import default_language
from core.study.study import Study

EDGES = np.linspace(0, 1, 11)  # bins of the share of facts told
FEWEST = 16  # stimuli of a bin
NOT_KNOWN = "what a caption tells is known of the Cave alone, whose events and words are given"


def tellings(study: Study) -> pd.DataFrame:
    """Return a row per language model and level that it is embedded at: model, level, name (what
    the store calls the embedding).

    Of embeddings of the same level, which hold the same texts in the same weights, the one whose
    name comes first is the row. Those of texts that their level holds no more are left out; see
    `tell_outdated`.
    """
    retold, outdated = study.store.retellings(study.dataset.name), _outdated(study)
    rows = [
        (retold.get(entry.card.name, entry.card.name), entry.level, entry.card.name)
        for entry in study.store.embeddings(study.dataset.name)
        if entry.level is not None and entry.card.name not in outdated
    ]
    table = pd.DataFrame(rows, columns=["model", "level", "name"])
    return (
        table.sort_values("name", kind="stable")
        .drop_duplicates(["model", "level"])
        .sort_index(ignore_index=True)
    )


def tell_outdated(study: Study) -> list[str]:
    """Return a sentence for each embedding that is left out, since its level was written again: it
    read other texts.
    """
    folder = study.store.root, study.dataset.name
    return [
        f"{name} is left out: the captions of level {level!r} were written again since; delete"
        f" {embedding_file(*folder, name)} and embed it again"
        for name, level in _outdated(study).items()
    ]


def _outdated(study: Study) -> dict[str, str]:
    """Return the level of each embedding whose recipe names other texts than its level has now."""
    written = {
        level: recipe.digest for level, recipe in study.store.summaries(study.dataset.name).items()
    }
    read = {
        entry.card.name: (entry.level, entry.recipe.choices.get("texts"))
        for entry in study.store.embeddings(study.dataset.name)
    }
    return {
        name: level
        for name, (level, texts) in read.items()
        if level is not None and texts != written.get(level)
    }


def texts_at(study: Study, level: str) -> Texts:
    """Return what is read of each stimulus of a study at a level; see
    `core.embedding.texts.read_texts`.
    """
    texts = read_texts(study.store, study.dataset.name, level)
    return texts if study.rows is None else [texts[row] for row in study.rows]


def told_at(study: Study, level: str) -> Float64[np.ndarray, "n"]:
    """Return the share of each stimulus's facts that its caption tells, all NaN outside the Cave;
    see `share_told`.
    """
    if not study.dataset.knows_factors:
        return np.full(study.size, np.nan)
    from core.stimuli.cave.events import events
    from core.stimuli.cave.mentions import share_told

    known = list(events(study.dataset.source.get("split", "test"), study.dataset.size))
    rows = np.arange(study.size) if study.rows is None else study.rows
    return np.array(
        [
            share_told(known[row], " ".join(texts))
            for row, texts in zip(rows, texts_at(study, level), strict=True)
        ]
    )


def caption_levels(study: Study, *, report: Progress | None = None) -> pd.DataFrame:
    """Return a row per level that a language model is embedded at, from the fewest words to the
    most.

    Columns level, words and bytes (UTF-8) of a stimulus's text or texts, told (the share of the
    facts; NaN where `reason` says why), all means over stimuli, and models (how many are embedded
    at it).
    """
    found = tellings(study)
    levels = found.groupby("level", sort=False)["model"].nunique()

    def describe() -> pd.DataFrame:
        rows = []
        for done, (level, models) in enumerate(levels.items(), start=1):
            texts = [" ".join(several) for several in texts_at(study, str(level))]
            words, size = (
                np.mean([len(part) for part in parts])
                for parts in (map(split_words, texts), map(str.encode, texts))
            )
            told = float(told_at(study, str(level)).mean())
            rows.append((level, words, size, told, models, NOT_KNOWN if np.isnan(told) else ""))
            if report:
                report(done, len(levels), "caption levels")
        table = pd.DataFrame(rows, columns=["level", "words", "bytes", "told", "models", "reason"])
        return table.sort_values("words", kind="stable", ignore_index=True)

    return keep(study, study.recipe("caption-levels", found["name"].tolist()), describe)


def retold_models(study: Study) -> list[str]:
    """Return the language models that are embedded at two levels or more, untrained ones and copies
    included.
    """
    counts = tellings(study)["model"].value_counts()
    return [str(name) for name, levels in counts.items() if levels > 1]


def default_models(study: Study) -> list[str]:
    """Return the finished, trained language models that are embedded at two levels or more."""
    several = retold_models(study)
    return [name for name in default_language(study) if name in several]


def default_targets(study: Study) -> list[str]:
    """Return the finished, trained vision models, and reality where it is known."""
    models = study.models()
    vision = reads(models, "image") & ~models["copy"] & (models["objective"] != UNTRAINED)
    return models.loc[vision | (models["model"] == REALITY), "model"].tolist()


def compare_levels(
    study: Study,
    *,
    models: Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    metric: str = "mutual_knn",
    layers: str = "best",
    report: Progress | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Align language models at every level that they are embedded at with vision models and
    reality.

    models, against: `default_models` and `default_targets` where None. metric, layers, parameters:
    as for `align_models`. Returns model, level, words, bytes, told (of `caption_levels`), then
    `align_models`'s columns with the embedding as name. Raises MetricError where no model is
    embedded at two levels or there is nothing to compare with, UnknownNameError for a model of
    models that is not, or one of against that is neither a vision model nor reality, and what
    `align_models` raises.
    """
    read_choice(layers)  # every pair of layers would be several rows of a model and level
    choose_engine(study, metric, **parameters)  # refuses what cannot be asked before any work
    named, targets = _readers(study, models), _targets(study, against)
    read = tellings(study).query("model in @named")
    recipe = study.recipe(
        "caption-density",
        [*read["name"], *targets],
        language=named,
        against=targets,
        metric=metric,
        layers=layers,
        parameters=METRICS[metric].complete(parameters),
    )
    align = partial(align_models, study, metric=metric, layers=layers, **parameters)
    return keep(
        study, recipe, lambda: _align_levels(read, targets, align, caption_levels(study), report)
    )


def _align_levels(
    read: pd.DataFrame,
    targets: Sequence[str],
    align: Callable[..., pd.DataFrame],
    levels: pd.DataFrame,
    report: Progress | None,
) -> pd.DataFrame:
    """Align what reads each level, rows of `tellings`, with the targets; levels: of
    `caption_levels`.
    """
    tables = []
    for done, (level, names) in enumerate(read.groupby("level")["name"], start=1):
        tables.append(
            align(list(names), targets).rename(columns={"model_x": "name"}).assign(level=level)
        )
        if report:
            report(done, read["level"].nunique(), "caption levels")
    about = levels.set_index("level")[["words", "bytes", "told"]]
    joined = (
        pd.concat(tables, ignore_index=True)
        .join(about, on="level")
        .merge(read[["model", "name"]], on="name")
    )
    first = ["model", "level", "words", "bytes", "told", "name"]
    rest = [column for column in joined if column not in first]
    return joined.sort_values("words", kind="stable", ignore_index=True)[first + rest]


def _readers(study: Study, models: Sequence[str] | None) -> list[str]:
    known = retold_models(study)
    named = list(dict.fromkeys(models or default_models(study)))
    if not (known and named):
        raise MetricError(
            "a trained language model that is embedded at two or more caption levels expected;"
            " there is none: embed one with --caption-level, naming several"
        )
    if unknown := [name for name in named if name not in known]:
        raise UnknownNameError("language model at two or more caption levels", unknown[0], known)
    return named


def _targets(study: Study, against: Sequence[str] | None) -> list[str]:
    """Check that no language model is among them: it would be compared with itself."""
    models = study.models()
    known = models.loc[~reads(models, "caption"), "model"].tolist()
    named = list(dict.fromkeys(against or default_targets(study)))
    if not named:
        raise MetricError(
            "a vision model to compare with expected; there is none that is trained: embed or"
            " import one"
        )
    if unknown := [name for name in named if name not in known]:
        raise UnknownNameError("vision model", unknown[0], known)
    return named


def compare_told(
    study: Study,
    *,
    models: Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    k: int = 10,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Return how mutual kNN of single stimuli goes with what their captions tell, by target and
    level.

    A stimulus's score is the mean over language models of the share of its k neighbors that both
    spaces have in common, in the layers that `compare_levels` finds best. Returns model_y, level,
    told, score, stimuli (see `by_share`), chance. Raises MetricError outside the Cave and as
    `compare_levels`.
    """
    if not study.dataset.knows_factors:
        raise MetricError(f"{NOT_KNOWN}; ask for alignment by level instead")
    rows = compare_levels(study, models=models, against=against, k=k, report=report).dropna(
        subset="score"
    )
    names = [*rows["name"].unique(), *rows["model_y"].unique()]
    recipe = study.recipe(
        "caption-facts",
        names,
        pairs=rows[["name", "model_y"]].values.tolist(),
        k=k,
        edges=EDGES.tolist(),
        fewest=FEWEST,
    )

    def compare() -> pd.DataFrame:
        tables = []
        told = {level: told_at(study, level) for level in rows["level"].unique()}
        for _, pairs in rows.groupby(["model_y", "level"], sort=False):
            about = {str(name): pairs[name].iloc[0] for name in ("model_y", "level", "chance")}
            scores = np.mean([_shared(study, pair, k) for pair in pairs.to_dict("records")], axis=0)
            tables.append(
                by_share(told[about["level"]], scores, edges=EDGES, fewest=FEWEST).assign(**about)
            )
        columns = ["model_y", "level", "told", "score", "stimuli", "chance"]
        return pd.concat(tables, ignore_index=True)[columns]

    return keep(study, recipe, compare)


def _shared(study: Study, pair: Mapping[Any, Any], k: int) -> Float64[np.ndarray, "n"]:
    x, y = (
        study.neighbors(pair[name], k=k)[pair[layer], :, :k]
        for name, layer in (("name", "layer_x"), ("model_y", "layer_y"))
    )
    return mutual_terms(x, y)
