"""Models: which of them are alike?"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.questions.models.pairs import Roster
from core.questions.models.question import ModelMap
from core.study.models import has_unfinished, is_measured, is_reality, reads, without_variants
from pages._parts.models import atlas, beside, table, tree
from pages._shared import bar, controls, frame, queries
from pages._shared.queries import Place


def show(at: Place, view: str) -> None:
    """Draw models as a map, a table or a tree, then the chosen ones side by side."""
    frame.need_stimuli(at)
    every = queries.models(at)
    if every.empty:
        frame.need_readers(at, "caption", "image")
    options, answer = controls.options_by_name(ModelMap), st.empty()
    with bar.controls_bar():
        with bar.more():
            roster, models = _pick(every)
            at = replace(at, scope=controls.pick_scope(at))
            seed = controls.pick_number(options["seed"])
        comparison = controls.pick_comparison(queries.size(at))
    _need_two(models, at)
    if view == "map":
        atlas.show(at, models, ModelMap(at.scope, roster, comparison, seed=seed), answer)
    elif view == "table":
        table.show(at, models, roster, comparison)
        if queries.card(at).levels and reads(models, "caption").any():
            table.show_balance(at)
    else:
        tree.show(at, models, roster, comparison)
    beside.show(at, models, roster, comparison)


def _pick(every: pd.DataFrame) -> tuple[Roster, pd.DataFrame]:
    """Choose which kinds of models are compared, then some of them; return these described, too."""
    options = controls.options_by_name(Roster)
    unfinished, variants, with_world, measured = (
        controls.pick_switch(options[name]) if some else options[name].default
        for name, some in (
            ("unfinished", has_unfinished(every)),
            ("variants", len(without_variants(every)) < len(every)),
            ("world", is_reality(every).any()),
            ("measured", is_measured(every).any()),
        )
    )
    kinds = Roster((), unfinished, variants, with_world, measured)
    models = kinds.of_kinds(every)
    names = controls.pick_models(options["models"], models) if len(models) else ()
    chosen = models[models["model"].isin(names)] if names else models
    return replace(kinds, names=names), chosen


def _need_two(models: pd.DataFrame, at: Place) -> None:
    """Raise NeededError for fewer than two models."""
    if len(models) < 2:
        how = frame.command(
            "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
        )
        raise frame.NeededError("A comparison needs at least two models: embed another one.", how)
