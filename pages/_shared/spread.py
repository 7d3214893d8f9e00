"""Whose consensus, how dispersion is summarized, and how large the sets are: what Stimuli and
Dispersion choose alike.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.questions.dispersion.effect import SetEffect
from core.questions.dispersion.question import Ranking, Spaces, StimulusDispersion
from core.study.selections import ends
from core.study.spaces import (
    LEAST,
    default_language,
    default_spaces,
    describe_spaces,
    find_space,
)
from pages._shared import controls, frame, queries
from pages._shared.address import bind, hand, named_by, take
from pages._shared.queries import Place

SUMMARIES = {
    "mean": "mean over models",
    "pc1": "first component",
    "median": "median",
    "trimmed": "trimmed mean",
}
MEANING = """Each model's space is centered, scaled to norm 1 and turned onto those of the
others; their mean is the **consensus**. A **residual** is how far one model lies
from it at one stimulus. The **dispersion** of a stimulus summarizes its
residuals: it is high where the models disagree."""
LEAST_SET, USUAL_SET = 4, 256  # stimuli


def pick_spaces(at: Place) -> tuple[str, ...]:
    """Choose at least LEAST layers of models, at first those of
    `core.study.spaces.default_spaces`; NeededError for fewer.
    """
    every = controls.pick_usual(queries.models(at))
    names = {
        f"{row['model']}:{layer}": f"{row['title']}, {name}"
        for row in every.to_dict("records")
        for layer, name in enumerate(row["layers"])
    }
    if len(every) < LEAST:
        how = frame.command(
            "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
        )
        raise frame.NeededError(
            f"A consensus takes at least {LEAST} models: embed another one.", how
        )
    one = controls.option_named(Spaces, "spaces")
    if named := take(one.name):  # a command may name a model and leave its layer out
        hand(one.name, [_whole_name(at, name) for name in named])
    chosen = st.multiselect(
        one.label,
        list(names),
        format_func=named_by(names),
        help=controls.tip_of(one),
        select_all=False,  # Enter takes the best match
        **bind(one.name, default_spaces(queries.study(at)), names, kind="layer of a model"),
    )
    if len(chosen) < LEAST:
        raise frame.NeededError(
            f"Choose at least {LEAST} layers under “{one.label}”: each of two is equally far from"
            " their consensus by construction."
        )
    parts = {
        space: names[space].rpartition(", ")[::2] for space in chosen
    }  # the chips have no room for the layers
    layers = dict.fromkeys(layer for _, layer in parts.values())
    read = (
        layers if len(layers) == 1 else [f"{layer} of {title}" for title, layer in parts.values()]
    )
    st.caption(f"Read in {frame.plain(', '.join(read))}")
    return tuple(chosen)


def _whole_name(at: Place, space: str) -> str:
    """Return the name of a space with its layer; unchanged where there is no such space."""
    try:
        return str(find_space(queries.study(at), space))
    except InputError:
        return space


def of_language(at: Place) -> tuple[str, ...]:
    """Return the spaces of the language models whose consensus may rank the stimuli."""
    study = queries.study(at)
    return tuple(str(find_space(study, name)) for name in default_language(study))


def pick_summary(at: Place, spaces: tuple[str, ...], *, own: bool = True) -> str:
    """Choose the summary that ranks stimuli: over the models or, where `own` is allowed, one
    model's own residual.
    """
    names = {by: name_of(at, spaces, by) for by in (*SUMMARIES, *(spaces if own else ()))}
    one = controls.option_named(Ranking, "by")
    return controls.pick_choice(one, list(names), labels=names)


def pick_set_size(n: int) -> int:
    """Choose how many stimuli are in the set of low and of high dispersion: at most half of them
    each.
    """
    most = n // 2
    if most < LEAST_SET:
        raise frame.NeededError(
            f"Sets of low and high dispersion need at least {2 * LEAST_SET} stimuli; this dataset"
            f" has {n}."
        )
    if most == LEAST_SET:
        return most
    one = controls.option_named(SetEffect, "size")
    usual = min(USUAL_SET, max(LEAST_SET, n // 4))
    bound = bind(one.name, usual, within=(LEAST_SET, most))
    return st.slider(one.label, LEAST_SET, most, **bound)


def name_of(at: Place, spaces: tuple[str, ...], by: str) -> str:
    """Return what a person calls a summary, or one model's own residual."""
    return SUMMARIES.get(by) or f"{described(at, spaces).set_index('space')['title'][by]} alone"


def described(at: Place, spaces: tuple[str, ...]) -> pd.DataFrame:
    """Return a row per space with its title, group and layer; see
    `core.study.spaces.describe_spaces`.
    """
    return describe_spaces(spaces, queries.models(at))


def titled(at: Place, table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a table whose column of spaces says what a person calls them."""
    spaces = described(at, tuple(dict.fromkeys(table[column])))
    return table.assign(**{column: table[column].map(spaces.set_index("space")["title"])})


def residuals(at: Place, spaces: tuple[str, ...]) -> pd.DataFrame:
    """Return a row per stimulus with the summaries and its residual in each space."""
    return queries.ask(at, StimulusDispersion(at.scope, Spaces(spaces)))


def low_and_high(
    at: Place, spaces: tuple[str, ...], *, by: str, size: int
) -> tuple[list[int], list[int]]:
    """Return the stimuli of least dispersion, the least first, and those of most, the most
    first.
    """
    values = residuals(at, spaces)[by]
    low, high = ends(values.to_numpy(), size)
    return (
        values[low].sort_values().index.tolist(),
        values[high].sort_values(ascending=False).index.tolist(),
    )
