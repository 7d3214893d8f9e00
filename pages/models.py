"""Models: which of them are alike?"""

from __future__ import annotations

import pandas as pd

from core.questions.models.question import ModelMap, Roster
from core.study.models import is_reality, trained
from pages._parts.models import atlas, tree
from pages._shared import bar, comparing, controls, frame, queries
from pages._shared.queries import Place


def show(at: Place) -> None:
    """Draw the map of models, what is beside the one that is opened, then their tree."""
    frame.need_stimuli(at)
    every = queries.models(at)
    if every.empty:
        frame.need_readers(at, "caption", "image")
    options = controls.options_by_name(ModelMap)
    with bar.controls_bar():
        with bar.more():
            roster, models = _pick(every)
            seed = controls.pick_number(options["seed"], 2**31 - 1)
        comparison = comparing.pick_comparison(queries.size(at))
    _need_two(models, at)
    atlas.show(at, models, ModelMap(at.scope, roster, comparison, seed=seed))
    tree.show(at, models, roster, comparison)


def _pick(every: pd.DataFrame) -> tuple[Roster, pd.DataFrame]:
    """Choose which kinds of models are compared, then some of them; return these described, too."""
    options = controls.options_by_name(Roster)
    finished, world = trained(every), is_reality(every)
    unfinished = len(finished) == len(every) or controls.pick_switch(options["unfinished"])
    models = every if unfinished else finished
    with_world = not world.any() or controls.pick_switch(options["world"])
    models = models if with_world else models[~is_reality(models)]
    names = controls.pick_models(options["models"], models) if len(models) else ()
    chosen = models[models["model"].isin(names)] if names else models
    return Roster(names, unfinished, with_world), chosen


def _need_two(models: pd.DataFrame, at: Place) -> None:
    """Raise NeededError for fewer than two models."""
    if len(models) < 2:
        how = frame.command(
            "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
        )
        raise frame.NeededError("A comparison needs at least two models: embed another one.", how)


frame.draw("Which models are alike?", show)
