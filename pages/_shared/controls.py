"""Controls of single options, bound to the address: label, help and default are the option's."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.figures.numbers import count_text
from core.options import Option, Range, options_of
from core.study.models import has_unfinished
from core.study.models import usual as usual_models
from pages._shared import address, frame
from pages._shared.address import bind
from pages._shared.texts import named_by

T = TypeVar("T")
KINDS = ("modality", "family", "objective")


def options_by_name(kind: type) -> dict[str, Option]:
    """Return the options of a question or part."""
    return {one.name: one for one in options_of(kind)}


def option_named(kind: type, name: str) -> Option:
    """Return a question's, or a part's, option by its name."""
    return options_by_name(kind)[name]


def sentence(phrase: str) -> str:
    """Return an option's help as a sentence for a control."""
    return f"{phrase[:1].upper()}{phrase[1:].replace('%%', '%')}."


def pick_usual(models: pd.DataFrame) -> pd.DataFrame:
    """Return the usual models, and all others too where they are wanted."""
    counted = usual_models(models)
    text = (
        "Also other seeds of a recipe, models that vary one on purpose, untrained models, and"
        " checkpoints: models as they were at some step of their training."
    )
    if len(counted) < len(models) and st.toggle("Every model", help=text, **bind("every", False)):
        return models
    return counted


def pick_unfinished(one: Option, models: pd.DataFrame) -> bool:
    """Choose whether models count whose training is not finished, where there are any."""
    return has_unfinished(models) and pick_switch(one)


def pick_models(one: Option, models: pd.DataFrame, *, usual: int | None = None) -> tuple[str, ...]:
    """Choose some of these models; none chosen means all, or as many as are usual."""
    titles = models.set_index("model")["title"]
    address.label(one.name, one.label)
    chosen = st.multiselect(
        one.label,
        list(titles.index),
        format_func=named_by(titles),
        placeholder=f"all {len(titles)}" if usual in (None, len(titles)) else f"the usual {usual}",
        select_all=False,  # Enter takes the best match
        **bind(one.name, [], titles.to_dict(), kind="model"),
    )
    return tuple(chosen)


def pick_model(
    label: str, models: pd.DataFrame, key: str, *, default: str, follow: bool = False
) -> str:
    """Choose one of these models. follow: whether another default replaces one that was kept."""
    titles = models.set_index("model")["title"].to_dict()
    return st.selectbox(
        label,
        list(titles),
        format_func=titles.get,
        **bind(key, default, titles, kind="model", follow=follow),
    )


def pick_layer(layers: Sequence[str], key: str, *, best: int) -> int:
    """Choose one of a model's layers by its name; at first the best one, whichever that is."""
    names = {-1: "best aligned", **dict(enumerate(layers))}
    chosen = st.selectbox(
        "Layer", list(names), format_func=names.get, **bind(key, -1, names, kind="layer")
    )
    if chosen >= 0:
        return chosen
    st.caption(f"Best aligned with the other model: {frame.plain(layers[best])}")
    return best


def pick_switch(one: Option) -> bool:
    """Choose yes or no."""
    return st.toggle(one.label, help=sentence(one.help), **bind(one.name, one.default))


def pick_text(one: Option, *, start: str = "", example: str = "") -> str:
    """Choose a text. start: what it is at first; example: what stands in an empty field."""
    text = st.text_input(
        one.label, placeholder=example, help=sentence(one.help), **bind(one.name, start)
    )
    return text.strip()


def pick_number(one: Option, most: int | None = None, *, usual: int | None = None) -> int:
    """Choose a whole number. most: where a page offers fewer than the option's range has. usual:
    what it is at first, in place of the default.
    """
    assert one.range
    start, least = one.default if usual is None else usual, int(one.range.least)
    highest = int(one.range.most) if most is None else min(int(one.range.most), most)
    bound = bind(one.name, start, within=(least, highest))
    return int(st.number_input(one.label, least, highest, help=sentence(one.help), **bound))


def pick_share(
    one: Option, low: float, high: float, *, step: float, usual: float | None = None
) -> float:
    """Choose a number on a slider. usual: what it is at first, in place of the default."""
    start = float(one.default if usual is None else usual)
    bound = bind(one.name, start, within=(low, high))
    number = st.slider(one.label, low, high, step=step, help=sentence(one.help), **bound)
    return round(number, 6)


def read_numbers(text: str, numbers: Range, *, most: int) -> tuple[int | float, ...]:
    """Return the numbers of "16, 64", at most so many; raises InputError."""
    words = text.replace(",", " ").split()
    if not 1 <= len(words) <= most:
        raise InputError(
            f"expected 1 to {most} numbers with commas between them; got {reprlib.repr(text)}"
        )
    return tuple(numbers.read(word) for word in words)


def pick_choice(
    one: Option,
    choices: Sequence[str],
    *,
    labels: Mapping[str, str] | None = None,
    usual: str | None = None,
) -> str:
    """Choose one of a few words. labels: how they are shown. usual: what it is at first, in place
    of the default.
    """
    return st.selectbox(
        one.label,
        choices,
        format_func=labels.get if labels else str,
        help=sentence(one.help),
        **bind(
            one.name,
            one.default if usual is None else usual,
            labels or choices,
            kind=one.label.lower(),
        ),
    )


def pick_draws(one: Option, counts: Sequence[int], *, text: str = "") -> int:
    """Choose how many permutations or draws are made. text: in place of the option's help."""
    return st.selectbox(
        one.label,
        counts,
        format_func=lambda count: f"{count:,}" if count else "none",
        help=text or sentence(one.help),
        **bind(one.name, one.default, counts),
    )


def pick_between(
    one: Option, low: float, high: float, step: float, *, text: str = "", **look: Any
) -> float:
    """Choose a number, a whole one where the option is. text: in place of the option's help."""
    kind = int if one.kind == "whole" else float
    bound = bind(one.name, kind(one.default), within=(low, high))
    return st.number_input(
        one.label,
        kind(low),
        kind(high),
        step=kind(step),
        help=text or sentence(one.help),
        **bound,
        **look,
    )


def pick_labeled(one: Option, labels: Mapping[T, str], *, text: str = "") -> T:
    """Choose one of a few values by its label. text: in place of the option's help."""
    address.label(one.name, one.label)
    return st.selectbox(
        one.label,
        list(labels),
        format_func=labels.get,
        help=text or sentence(one.help),
        **bind(one.name, one.default, labels),
    )


def filter_models(models: pd.DataFrame) -> pd.DataFrame:
    """Choose models by their words, kind and size; return those that pass."""
    text = st.text_input("Search", placeholder="part of a name", **bind("search", ""))
    passing = models["title"].str.contains(text, case=False, regex=False)
    sorted_models = models.sort_values("parameters")
    kinds = {name: sorted_models[name] for name in KINDS}
    for name, values in (kinds | {"size": sorted_models["parameters"].map(_decade)}).items():
        offered = list(dict.fromkeys(values))
        bound = bind(name, [], offered)
        wanted = st.multiselect(name.capitalize(), offered, placeholder="all", **bound)
        passing &= values.isin(wanted or offered)
    return models[passing]


def _decade(parameters: float) -> str:
    """Return between which powers of ten a number of parameters lies."""
    if math.isnan(parameters):
        return "unknown"
    power = math.floor(math.log10(parameters))
    return f"{count_text(10**power)} to {count_text(10 ** (power + 1))}"


def pick_segment(
    label: str, labels: Mapping[T, str], key: str, *, start: T, hidden: bool = False
) -> T:
    """Choose one of a few values that stand side by side. hidden: whether the label is for screen
    readers alone.
    """
    return st.segmented_control(
        label,
        list(labels),
        required=True,
        wrap=True,
        format_func=labels.get,
        label_visibility="collapsed" if hidden else "visible",
        **bind(key, start, labels),
    )


def pick_page(pages: int, key: str) -> int:
    """Choose a page of many, where there is more than one."""
    if pages < 2:
        return 1
    return st.pagination(pages, **bind(key, 1, within=(1, pages)))


def pick_some(one: Option, names: Collection[str]) -> tuple[str, ...]:
    """Choose some of these names; none chosen means all."""
    return tuple(
        st.multiselect(one.label, list(names), placeholder="all", **bind(one.name, [], names))
    )
