"""What is kept over a dataset: which question each result answers, and whether it would still be
shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pandas as pd

from core.competence.records import suite_recipe
from core.errors import PlatoscopeError
from core.metrics import find_metric
from core.options import options_of
from core.questions.question import Question
from core.questions.topics import find_kind
from core.recipe import Recipe
from core.store.editing import ANSWERS, KeptResult, results_over
from core.store.schema import SUMMARY
from core.study.study import KEPT, Study

COLUMNS = ("name", "holds", "about", "models", "bytes", "made_at", "state")
FRESH, STALE = "fresh", "stale"


def list_results(study: Study) -> pd.DataFrame:
    """Return a row per result over a study's dataset: name, holds (the question, or what else it
    is), about (what was asked, if it differs from the defaults), models (how many it depends
    on), bytes, made_at, and state: fresh, or stale where it would be made again.
    """
    rows = [
        (
            one.name,
            _holds(one),
            _about(one.recipe),
            len(one.models),
            one.size,
            one.made_at,
            FRESH if _is_fresh(one, study) else STALE,
        )
        for one in results_over(study.store.root, study.dataset.name)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _holds(one: KeptResult) -> str:
    if kind := find_kind(one.recipe.kind):
        return kind.title()
    if one.sort == ANSWERS:
        return f"A former question ({one.recipe.kind})"
    name = one.sort
    of = one.name.removeprefix(SUMMARY) if one.recipe.kind == "captions" else ", ".join(one.models)
    return f"{name[:1].upper()}{name[1:]}{of and ': '}{of}"


def _about(recipe: Recipe) -> str:
    """Return in a few words what of a question differs from its defaults; names of models, which
    are many, are left out.
    """
    kind = find_kind(recipe.kind)
    if kind is None:
        return ""
    question = recipe.choices["question"]
    said = {**recipe.choices, **question, **question.get("settings", {})}
    return ", ".join(
        f"{one.name.replace('_', ' ')} {said[one.name]}"
        for one in options_of(kind)
        if said.get(one.name, one.default) not in (one.default, "")
        and not isinstance(said[one.name], list | dict)
    )


def _is_fresh(one: KeptResult, study: Study) -> bool:
    """Return whether the result would be taken from the store and not be made again."""
    recipe = one.recipe
    if recipe.choices.get("revision", study.dataset.revision) != study.dataset.revision:
        return False
    with suppress(PlatoscopeError, TypeError, ValueError, KeyError):
        if kind := find_kind(recipe.kind):
            return _same_answer(one, study, kind)
        if recipe.kind in ("captions", "imported-scores", "refused"):
            return True
        if recipe.kind == "stitches":
            return _same_models(recipe, study)
        return _same_model(one, study)
    return False


def _same_answer(one: KeptResult, study: Study, kind: type[Question]) -> bool:
    """Return whether an answer is of the present version and all that it read is the same."""
    versions = one.recipe.choices["versions"]
    present = versions.get(kind.command) == kind.version
    metrics = (name.partition("metric ")[2] for name in versions if name.startswith("metric "))
    same = all(find_metric(name).version == versions[f"metric {name}"] for name in metrics)
    return present and same and bool(one.reads) and study.store.is_fresh(one.reads)


def _same_models(recipe: Recipe, study: Study) -> bool:
    """Return whether the models of a result are still those that it was made of."""
    digests: Mapping[str, str] = recipe.choices["models"]
    return all(study.entry(name).digest == digest for name, digest in digests.items())


def _same_model(one: KeptResult, study: Study) -> bool:
    """Return whether the one model of a result is still the one that it was made of."""
    (name,) = one.models
    entry, choices = study.entry(name), one.recipe.choices
    if one.recipe.kind == "neighbors":
        depth = min(KEPT, study.size - 1)
        return one.recipe == study.recipe("neighbors", [name], k=depth)
    if one.recipe.kind == "competence":
        return one.recipe == suite_recipe(entry)
    return bool(
        choices.get("weights") == entry.card.weights and choices.get("embedding") == entry.digest
    )
