"""Controls of which stimuli are studied, those with some values of factors and those of a set, and
of how their features are clamped.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from core.errors import StimuliError
from core.study.parts import Scope
from core.study.selections import decode
from pages._shared import address, controls, queries
from pages._shared.queries import Place

MOST_VALUES = 16  # of a factor to choose by; a number that differs everywhere chooses nothing


def pick_scope(at: Place) -> Scope:
    """Choose which stimuli are studied, and how their features are clamped. at: of all stimuli."""
    one = controls.option_named(Scope, "where")
    pairs = _factor_values(queries.stimuli(at))
    where = st.multiselect(
        one.label,
        list(pairs),
        placeholder="all stimuli",
        help=controls.sentence(one.help),
        **address.bind(one.name, [], pairs, kind="value of a factor"),
    )
    chosen = tuple(pairs[text] for text in where)
    q = float(controls.pick_between(controls.option_named(Scope, "q"), 0.0, 1.0, 0.01))
    return replace(at.scope, q=q, where=chosen, stimuli=pick_set(queries.card(at).size))


def _factor_values(stimuli: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return each value of each factor that has few, by the words of the command line."""
    few = [name for name in stimuli.columns if 2 <= stimuli[name].nunique() <= MOST_VALUES]
    return {
        f"{name}={value}": (name, value)
        for name in few
        for value in sorted(stimuli[name].dropna().astype(str).unique())
    }


def pick_set(size: int) -> str:
    """Return the set of stimuli that the address names, "" for all; a chip of the bar shows it."""
    code = address.mark("stimuli")
    if code:
        address.name_mark("stimuli", _set_text(code, size))
    return code


def _set_text(code: str, size: int) -> str:
    try:
        return f"{len(decode(code, size)):,} of {size:,} stimuli"
    except StimuliError:  # the page says what is wrong with it
        return "A set of stimuli that cannot be read"
