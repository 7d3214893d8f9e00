"""Controls of the parts that questions share: which stimuli are studied and how their features are
clamped, and how spaces are compared: the metric, its parameters, and which layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from core.errors import MetricError, StimuliError
from core.metrics import METRICS
from core.spaces.choices import EXACT, Clamp, Clamping
from core.study.layers import read_choice
from core.study.parts import Candidates, Comparison, LayerRule, Measure, Scope
from core.study.selections import decode
from pages._shared import address, controls, facts, frame, queries
from pages._shared.address import bind
from pages._shared.queries import Place

LAYERS = {
    "best": "best aligned pair",
    "last": "last layers",
    "0.75": "three quarters deep",
    "0.5": "middle layers",
    "0.25": "a quarter deep",
    "0": "first layers",
}
LAYERS_HELP = """Best aligned: the pair of layers with the highest score. Or the last layers, the
middle ones (0.5), any relative depth from 0 to 1, or a fixed pair such as 2:3, counted from 0."""
CLAMPS: dict[Clamp, str] = {
    "exact": "one quantile of the model",
    "average": "the stimuli's mean quantile",
    "layers": "each layer's own, if widths differ",
}
CANDIDATES: dict[Candidates, str] = {
    "released": "released code",
    "paper": "paper: also all side by side",
}


def pick_scope(at: Place) -> Scope:
    """Choose which stimuli are studied, and how their features are clamped. at: of all stimuli."""
    one = controls.option_named(Scope, "where")
    pairs = facts.factor_choices(at)
    where = st.multiselect(
        one.label,
        list(pairs),
        placeholder="all stimuli",
        help=controls.sentence(one.help),
        **bind(one.name, [], pairs, kind="value of a factor"),
    )
    chosen = tuple(pairs[text] for text in where)
    q = float(controls.pick_between(controls.option_named(Scope, "q"), 0.0, 1.0, 0.01))
    one = controls.option_named(Scope, "clamp")
    clamp = controls.pick_labeled(one, CLAMPS) if q < 1 else EXACT
    stimuli = pick_set(queries.card(at).size)
    return replace(at.scope, clamping=Clamping(q, clamp), where=chosen, stimuli=stimuli)


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


def pick_k(size: int) -> int:
    """Choose how many neighbors are compared: 1 … n − 1."""
    most = size - 1
    one = controls.option_named(Measure, "k")
    text = (
        f"How many nearest neighbors of each stimulus are compared, 1 to {most:,} here. Small k"
        " looks at the local neighborhood."
    )
    bound = bind(one.name, min(10, most), within=(1, most))
    return int(st.number_input(one.label, 1, most, help=text, **bound))


def pick_metric(*, start: str = "mutual_knn") -> str:
    """Choose a metric by its title."""
    titles = {name: metric.spec.title for name, metric in METRICS.items()}
    one = controls.option_named(Measure, "metric")
    return st.selectbox(
        one.label, list(titles), format_func=titles.get, **bind(one.name, start, titles)
    )


def pick_parameters(metric: str, size: int) -> dict[str, Any]:
    """Choose the parameters of a metric; k first, where it compares neighbors."""
    chosen: dict[str, Any] = {}
    choices = METRICS[metric].spec.choices
    for name, start in METRICS[metric].spec.defaults.items():
        label, key = name.capitalize(), f"set:{name}"
        if name == "k":
            chosen["k"] = pick_k(size)
        elif name in choices:
            chosen[name] = st.selectbox(label, choices[name], **bind(key, start, choices[name]))
        else:
            numbers = METRICS[metric].spec.ranges[name]
            number = int if isinstance(start, int) else float
            low, high = number(numbers.least), number(numbers.most)
            bound = bind(key, start, within=(low, high))
            chosen[name] = st.number_input(label, low, high, **bound)
    return chosen


def pick_measure(size: int, *, start: str = "mutual_knn") -> Measure:
    """Choose a metric and its parameters. size: number of stimuli."""
    metric = pick_metric(start=start)
    return Measure.of(metric, pick_parameters(metric, size))


def pick_comparison(size: int) -> Comparison:
    """Choose a metric, its parameters, and which layers stand for two models."""
    metric = pick_metric()
    return Comparison.of(metric, pick_parameters(metric, size), **vars(pick_rule()))


def pick_rule() -> LayerRule:
    """Choose which layers stand for two models."""
    layers = pick_layers()
    if layers != "best":
        return LayerRule(layers)
    one = controls.option_named(LayerRule, "as")
    return LayerRule(candidates=controls.pick_labeled(one, CANDIDATES))


def pick_layers() -> str:
    """Choose which layers stand for two models, in the words of `core.study.layers.read_choice`."""
    one = controls.option_named(LayerRule, "layers")
    chosen = st.selectbox(
        one.label,
        list(LAYERS),
        format_func=lambda each: LAYERS.get(each, each),
        accept_new_options=True,
        help=LAYERS_HELP,
        **bind(one.name, one.default),
    )
    try:
        read_choice(chosen)
    except MetricError as error:
        st.warning(frame.plain(error))
        return str(one.default)
    return chosen


def pick_size(sizes: Sequence[int], total: int) -> int:
    """Choose on how many stimuli metrics are compared; the fewest that distinguish models at first,
    since all take longer.
    """
    names = {size: f"all {size:,}" if size == total else f"{size:,} of {total:,}" for size in sizes}
    return controls.pick_segment("Stimuli", names, "size", start=sizes[min(1, len(sizes) - 1)])
