"""Controls that are bound to the address: a link opens the same view."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import MetricError, StimuliError, UnknownNameError
from core.metrics import METRICS
from core.options import Option, options_of
from core.study.layers import read_choice
from core.study.models import trained
from core.study.parts import Comparison, Measure, Scope
from core.study.selections import decode
from pages._shared import frame, queries
from pages._shared.queries import Place

MOST_VALUES = (
    16  # of a factor that stimuli are chosen by; a number that differs everywhere chooses nothing
)
LAYERS = ("best", "best+concatenated", "last", "0.5")

T = TypeVar("T")


def pick_finished(models: pd.DataFrame) -> pd.DataFrame:
    """Return the models whose training is finished, and the others too where they are asked for."""
    finished = trained(models)
    text = (
        "Untrained models, and checkpoints: models as they were at some step of their training."
        " They count in no statistic."
    )
    label = "Unfinished models too"
    if len(finished) < len(models) and st.toggle(
        label, key="unfinished", help=text, bind="query-params"
    ):
        return models
    return finished


def pick_unfinished(one: Option, models: pd.DataFrame) -> bool:
    """Choose whether models count whose training is not finished, where there are any."""
    return len(trained(models)) < len(models) and pick_switch(one)


def choose_models(
    one: Option, models: pd.DataFrame, *, usual: int | None = None
) -> tuple[str, ...]:
    """Choose some of these models; none chosen means all, or as many as are usual."""
    titles = models.set_index("model")["title"]
    chosen = st.multiselect(
        one.label,
        list(titles.index),
        format_func=titles.get,
        key=one.name,
        placeholder=f"all {len(titles)}" if usual in (None, len(titles)) else f"the usual {usual}",
        bind="query-params",
    )
    return tuple(chosen)


def forget(key: str, choices: Container[Any]) -> None:
    """Drop a choice that is no longer there: that of another dataset, or of models that are not
    chosen any more.
    """
    if st.session_state.get(key) not in choices:
        st.session_state.pop(key, None)


def pick_model(label: str, models: pd.DataFrame, key: str, *, default: str) -> str:
    """Choose one of these models."""
    titles = models.set_index("model")["title"]
    names = list(titles.index)
    return st.selectbox(
        label,
        names,
        index=names.index(default),
        format_func=titles.get,
        key=key,
        bind="query-params",
    )


def heed(
    pick: Callable[[], T], key: str, names: Sequence[str], *, kind: str, above: DeltaGenerator
) -> T:
    """Choose by `pick`, and draw above the page, until another choice is made, a warning of each
    name of a link that is not there.

    names: as the control under this key shows them. kind: what they are of, for the sentence.
    """
    notice = f"{key}-unknown"
    unknown = [
        name for name in st.query_params.get_all(key) if name not in names
    ]  # the control drops them from the address
    chosen = pick()
    if unknown:
        st.session_state[notice] = unknown, chosen
    unknown, then = st.session_state.get(notice, ([], chosen))
    for name in unknown if then == chosen else ():
        above.warning(frame.plain(UnknownNameError(kind, name, names)), icon=":material/error:")
    return chosen


def pick_layer(layers: Sequence[str], key: str, *, best: int) -> int:
    """Choose one of a model's layers by its name; at first the best one, whichever that is."""
    names = {-1: "best aligned", **dict(enumerate(layers))}
    chosen = st.selectbox("Layer", list(names), format_func=names.get, key=key, bind="query-params")
    if chosen >= 0:
        return chosen
    st.caption(f"Best aligned with the other model: {layers[best]}")
    return best


def pick_k(size: int) -> int:
    """Choose how many neighbors are compared: 1 … n − 1."""
    most = size - 1
    if st.session_state.get("k", 1) > most:  # another dataset was larger
        st.session_state["k"] = most
    text = (
        f"How many nearest neighbors of each stimulus are compared, 1 to {most:,} here. Small k"
        " looks at the local neighborhood."
    )
    return int(
        st.number_input(
            "Neighbors k", 1, most, min(10, most), key="k", help=text, bind="query-params"
        )
    )


def pick_metric(*, default: str = "mutual_knn") -> str:
    """Choose a metric by its title."""
    titles = {name: metric.spec.title for name, metric in METRICS.items()}
    one = option_named(Comparison, "metric")
    metric = st.selectbox(
        one.label,
        list(titles),
        index=list(titles).index(default),
        format_func=titles.get,
        key=one.name,
        bind="query-params",
    )
    st.caption(METRICS[metric].spec.sees)
    return metric


def pick_parameters(metric: str, size: int) -> dict[str, Any]:
    """Choose the parameters of a metric; k first, where it compares neighbors."""
    chosen: dict[str, Any] = {}
    choices = METRICS[metric].spec.choices
    for name, default in METRICS[metric].spec.defaults.items():
        key: dict[str, Any] = {"key": f"{metric}-{name}", "bind": "query-params"}
        if name == "k":
            chosen["k"] = pick_k(size)
        elif name in choices:
            chosen[name] = st.selectbox(name.capitalize(), choices[name], **key)
        else:
            chosen[name] = st.number_input(name.capitalize(), value=default, **key)
    return chosen


def pick_measure(size: int, *, default: str = "mutual_knn") -> Measure:
    """Choose a metric and its parameters. size: number of stimuli."""
    metric = pick_metric(default=default)
    return Measure.of(metric, pick_parameters(metric, size))


def pick_comparison(size: int) -> Comparison:
    """Choose a metric, its parameters, and which layers stand for two models."""
    metric = pick_metric()
    return Comparison.of(metric, pick_parameters(metric, size), layers=pick_layers())


def pick_layers() -> str:
    """Choose which layers stand for two models, in the words of `core.study.layers.read_choice`."""
    text = """Best aligned: the pair of layers with the most aligned score; all layers side by
side may be one more. Or the last     layers, the middle ones (0.5), any relative
depth from 0 to 1, or a fixed pair such as 2:3, counted from 0."""
    names = {
        "best": "best aligned pair",
        "best+concatenated": "best, or all side by side",
        "last": "last layers",
        "0.5": "middle layers",
    }
    chosen = st.selectbox(
        "Layers",
        LAYERS,
        format_func=lambda each: names.get(each, each),
        key="layers",
        accept_new_options=True,
        help=text,
        bind="query-params",
    )
    try:
        read_choice(chosen)
    except MetricError as error:
        st.warning(str(error))
        return LAYERS[0]
    return chosen


def options_by_name(kind: type) -> dict[str, Option]:
    """Return the options of a question or part."""
    return {one.name: one for one in options_of(kind)}


def option_named(kind: type, name: str) -> Option:
    """Return a question's, or a part's, option by its name."""
    return next(one for one in options_of(kind) if one.name == name)


def sentence(phrase: str) -> str:
    """Return an option's help as a sentence for a control."""
    return f"{phrase[:1].upper()}{phrase[1:].replace('%%', '%')}."


def pick_switch(one: Option) -> bool:
    """Choose yes or no."""
    return st.toggle(
        one.label, one.default, key=one.name, help=sentence(one.help), bind="query-params"
    )


def pick_number(one: Option, most: int, *, usual: int | None = None) -> int:
    """Choose a whole number up to `most`. usual: what it is at first, in place of the default."""
    value = one.default if usual is None else usual
    number = st.number_input(
        one.label,
        int(one.least or 0),
        most,
        value,
        key=one.name,
        help=sentence(one.help),
        bind="query-params",
    )
    return int(number)


def pick_share(
    one: Option, low: float, high: float, *, step: float, usual: float | None = None
) -> float:
    """Choose a number on a slider. usual: what it is at first, in place of the default."""
    value = one.default if usual is None else usual
    number = st.slider(
        one.label,
        low,
        high,
        value,
        step,
        key=one.name,
        help=sentence(one.help),
        bind="query-params",
    )
    return round(number, 6)


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
    value = one.default if usual is None else usual
    return st.selectbox(
        one.label,
        choices,
        index=list(choices).index(value),
        format_func=labels.get if labels else str,
        key=one.name,
        help=sentence(one.help),
        bind="query-params",
    )


def pick_draws(one: Option, counts: Sequence[int], *, text: str = "") -> int:
    """Choose how many permutations or draws are made. text: in place of the option's help."""
    return st.selectbox(
        one.label,
        counts,
        index=counts.index(one.default),
        format_func=lambda count: f"{count:,}" if count else "none",
        key=one.name,
        help=text or sentence(one.help),
        bind="query-params",
    )


def pick_between(
    one: Option, low: float, high: float, step: float, *, text: str = "", **look: Any
) -> float:
    """Choose a number, a whole one where the option is. text: in place of the option's help."""
    whole = one.kind == "whole"
    low, high, start, step = (
        int(value) if whole else float(value) for value in (low, high, one.default, step)
    )
    return st.number_input(
        one.label,
        low,
        high,
        start,
        step,
        key=one.name,
        help=text or sentence(one.help),
        bind="query-params",
        **look,
    )


def pick_labeled(one: Option, labels: Mapping[T, str], *, text: str = "") -> T:
    """Choose one of a few values by its label. text: in place of the option's help."""
    values = list(labels)
    return st.selectbox(
        one.label,
        values,
        index=values.index(one.default),
        format_func=labels.get,
        key=one.name,
        help=text or sentence(one.help),
        bind="query-params",
    )


def pick_segment(label: str, labels: Mapping[T, str], key: str, *, default: T) -> T:
    """Choose one of a few values that stand side by side."""
    return st.segmented_control(
        label,
        list(labels),
        default=default,
        required=True,
        wrap=True,
        format_func=labels.get,
        key=key,
        bind="query-params",
    )


def pick_scope(at: Place) -> Scope:
    """Choose which stimuli are studied: those with some values of factors, and of a set."""
    one = option_named(Scope, "where")
    pairs = _factor_values(queries.stimuli(at))
    where = st.multiselect(
        one.label,
        list(pairs),
        key=one.name,
        placeholder="all stimuli",
        help=sentence(one.help),
        bind="query-params",
    )
    chosen = tuple(pairs[text] for text in where)
    return replace(at.scope, where=chosen, stimuli=pick_set(queries.card(at).size))


def _factor_values(stimuli: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return each value of each factor that has few, by the words of the command line."""
    few = [name for name in stimuli.columns if 2 <= stimuli[name].nunique() <= MOST_VALUES]
    return {
        f"{name}={value}": (name, value)
        for name in few
        for value in sorted(stimuli[name].dropna().astype(str).unique())
    }


def pick_set(size: int) -> str:
    """Return the set of stimuli that the address names, "" for all; it is said, and can be left."""
    code = st.query_params.get("stimuli", "")
    if code:
        with st.container(border=True):
            st.markdown(f"**{_set_text(code, size)}**")
            st.button(
                "Take all stimuli",
                icon=":material/close:",
                type="tertiary",
                on_click=st.query_params.pop,
                args=("stimuli", ""),
            )
    return code


def _set_text(code: str, size: int) -> str:
    try:
        return f"A chosen set of {len(decode(code, size)):,} of {size:,} stimuli"
    except StimuliError:  # the page says what is wrong with it
        return "A set that cannot be read"


def pick_size(sizes: Sequence[int], total: int) -> int:
    """Choose on how many stimuli metrics are compared; the fewest that tell models apart at first,
    since all take longer.
    """
    names = {size: f"all {size:,}" if size == total else f"{size:,} of {total:,}" for size in sizes}
    start = min(1, len(sizes) - 1)
    return st.segmented_control(
        "Stimuli",
        list(names),
        default=sizes[start],
        required=True,
        format_func=names.get,
        key="size",
        bind="query-params",
    )
