"""Controls of a question, bound to the address: a control per option, whose label, help, default,
range and choices it takes; a page says only what differs.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InputError, MetricError, StimuliError
from core.figures.numbers import count_text
from core.metrics import METRICS
from core.options import Option, Range, build, options_of, values_of
from core.questions.alignment.pairs import best_layers
from core.questions.question import Question
from core.spaces.choices import EXACT, Clamp, Clamping
from core.study.layers import read_choice
from core.study.models import usual as usual_models
from core.study.parts import Candidates, LayerPair, LayerRule, Measure, Scope
from core.study.selections import decode
from pages._shared import address, bar, facts, frame, queries, selection
from pages._shared.address import bind, named_by
from pages._shared.queries import Place

T = TypeVar("T")
Q = TypeVar("Q", bound=Question)
KINDS = ("modality", "family", "objective")
MOST_NUMBERS = 16
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


@dataclass(frozen=True)
class Look:
    """How a page shows an option, where that differs from what the option says itself.

    labels: all that can be chosen, by value what it is called. start: what is shown at first, in
    place of the default. least, most, step: of a number. follow: whether a control that was not set
    follows a start that depends on others. row: whether choices are side by side. empty: what a
    list says in which nothing is chosen. example: the placeholder of an empty text.
    """

    label: str = ""
    help: str = ""
    labels: Mapping[Any, str] | None = None
    start: Any = None
    least: float | None = None
    most: float | None = None
    step: float | None = None
    follow: bool = True
    row: bool = False
    empty: str = "all"
    example: str = ""
    width: Literal["stretch"] | int = "stretch"

    @classmethod
    def of_models(cls, models: pd.DataFrame, *, usual: int | None = None) -> Look:
        """Return the look of an option that names models; usual: how many are meant if none is."""
        titles = models.set_index("model")["title"].to_dict()
        empty = f"all {len(titles)}" if usual in (None, len(titles)) else f"the usual {usual}"
        return cls(labels=titles, empty=empty, follow=False)


PLAIN = Look()


def pick(
    kind: type[Q],
    at: Place | None = None,
    looks: Mapping[str, Look] = {},
    *,
    more: Collection[str] = (),
    leave: Collection[str] = (),
) -> Q:
    """Draw a control for every option of a question, and return the question that they ask.

    looks: by option, how it is shown. more: options that are seldom needed, behind
    “Options” with the choice of stimuli. leave: options that have their default here. An option
    whose default leaves it open, such as a layer, is drawn only with a start.
    """
    options = {one.name: one for one in options_of(kind) if one.name not in leave}
    shared = {one.name for one in options.values() if one.path[0] == "scope"}
    values: dict[str, Any] = {}
    behind = bar.more() if more or (at and shared - {"dataset"}) else None
    if at and behind:
        with behind:
            scope = pick_scope(at)
        at = replace(at, scope=scope)
        values |= values_of(scope)
    for name, one in options.items():
        if name in values or name in shared:
            continue
        with behind if behind and name in more else nullcontext():
            if name == "metric" and not one.many and at:
                measure = pick_measure(queries.size(at), start=one.default)
                values |= values_of(measure)
            elif name == "layers" and "as" in options:
                values |= values_of(pick_rule())
            else:
                look = looks.get(name) or _usual_look(one, at)
                if look.start is not None or one.default is not None:
                    values[name] = pick_option(one, look)
    return build(kind, values)


def _usual_look(one: Option, at: Place | None) -> Look:
    """Return how an option is shown of which a page says nothing."""
    if at and one.many and one.metavar == "M":
        return Look.of_models(pick_usual(queries.models(at)))
    if at and one.name == "k" and not one.many:
        most = queries.size(at) - 1
        return Look(help=f"1 to {most:,} here.", start=min(one.default or 10, most), most=most)
    return PLAIN


def pick_option(one: Option, look: Look = PLAIN) -> Any:
    """Draw the control of an option and return its value."""
    label, help = look.label or one.label, look.help or tip_of(one)
    start = one.default if look.start is None else look.start
    labels = {each: each for each in one.choices} if look.labels is None else look.labels
    address.label(one.name, label)
    if one.kind == "switch":
        return st.toggle(label, help=help, **bind(one.name, start))
    if look.labels is not None or labels:
        start, kind = [*start] if one.many else start, label.lower()
        bound = bind(one.name, start, labels, kind=kind, follow=look.follow)
        shown: dict[str, Any] = {"format_func": named_by(labels), "help": help, **bound}
        if one.many:  # Enter takes the best match, not all
            shown |= {"placeholder": look.empty, "select_all": False}
            return tuple(st.multiselect(label, [*labels], **shown))
        if look.row:
            return st.segmented_control(label, [*labels], required=True, wrap=True, **shown)
        return st.selectbox(label, [*labels], width=look.width, **shown)
    if one.range and one.many:
        return _pick_numbers(one, label, help, start)
    if one.range:
        number = int if one.range.whole else float
        least = number(one.range.least if look.least is None else look.least)
        most = number(one.range.most if look.most is None else min(look.most, one.range.most))
        bound = bind(one.name, number(start), within=(least, most), follow=look.follow)
        step = None if look.step is None else number(look.step)
        return st.number_input(label, least, most, step=step, help=help, width=look.width, **bound)
    joint = "\n" if one.many else ""
    bound = bind(one.name, joint.join(start) if one.many else start, joint=joint)
    if one.many:
        text = st.text_area(label, help=help, placeholder=look.example, **bound)
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    return st.text_input(label, help=help, placeholder=look.example, **bound).strip()


def _pick_numbers(one: Option, label: str, help: str, start: Sequence[float]) -> tuple[float, ...]:
    """Draw a text of numbers with commas between them; what cannot be read gives way to the
    start.
    """
    assert one.range
    text = st.text_input(
        label, help=help, **bind(one.name, ", ".join(f"{each:g}" for each in start), joint=", ")
    )
    if not text.strip():
        return ()
    try:
        return read_numbers(text, one.range, most=MOST_NUMBERS)
    except InputError as error:
        st.warning(frame.plain(error))
        return tuple(start)


def options_by_name(kind: type) -> dict[str, Option]:
    """Return the options of a question or part."""
    return {one.name: one for one in options_of(kind)}


def option_named(kind: type, name: str) -> Option:
    """Return a question's, or a part's, option by its name."""
    return options_by_name(kind)[name]


def tip_of(one: Option) -> str:
    """Return what a control says if a person points at it: the option's tip, else its help."""
    return one.tip or f"{one.help[:1].upper()}{one.help[1:].replace('%%', '%')}."


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


def read_numbers(text: str, numbers: Range, *, most: int) -> tuple[int | float, ...]:
    """Return the numbers of "16, 64", at most so many; raises InputError."""
    words = text.replace(",", " ").split()
    if not 1 <= len(words) <= most:
        raise InputError(
            f"expected 1 to {most} numbers with commas between them; got {reprlib.repr(text)}"
        )
    return tuple(numbers.read(word) for word in words)


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
    """Choose one of a few values that are side by side. hidden: whether the label is for screen
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


def pick_scope(at: Place) -> Scope:
    """Choose which stimuli are studied, and how their features are clamped. at: of all stimuli."""
    one = option_named(Scope, "where")
    pairs = facts.factor_choices(at)
    where = st.multiselect(
        one.label,
        list(pairs),
        placeholder="all stimuli",
        help=tip_of(one),
        **bind(one.name, [], pairs, kind="value of a factor"),
    )
    chosen = tuple(pairs[text] for text in where)
    q = float(pick_option(option_named(Scope, "q"), Look(step=0.01)))
    clamp = pick_option(option_named(Scope, "clamp"), Look(labels=CLAMPS)) if q < 1 else EXACT
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
    most = max(1, size - 1)
    one = option_named(Measure, "k")
    text = (
        f"How many nearest neighbors of each stimulus are compared, 1 to {most:,} here. Small k"
        " looks at the local neighborhood."
    )
    bound = bind(one.name, min(10, most), within=(1, most))
    return int(st.number_input(one.label, 1, most, help=text, **bound))


def pick_metric(*, start: str = "mutual_knn") -> str:
    """Choose a metric by its short name, which a control has room for."""
    shorts = {name: metric.spec.short for name, metric in METRICS.items()}
    titles = {name: f"{short[:1].upper()}{short[1:]}" for name, short in shorts.items()}
    one = option_named(Measure, "metric")
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


def pick_rule() -> LayerRule:
    """Choose which layers stand for two models."""
    layers = pick_layers()
    if layers != "best":
        return LayerRule(layers)
    return LayerRule(candidates=pick_option(option_named(LayerRule, "as"), Look(labels=CANDIDATES)))


def pick_layers() -> str:
    """Choose which layers stand for two models, in the words of `core.study.layers.read_choice`."""
    one = option_named(LayerRule, "layers")
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


def pick_two(at: Place, models: pd.DataFrame, *, k: int) -> tuple[str, str]:
    """Choose two models that have neighbors; at first those that were selected anywhere, else the
    best aligned of those fully trained. Raises NeededError for fewer, and for one chosen twice.
    """
    names = models["model"].tolist()
    models = models[~models["model"].isin(facts.without_neighbors(at, names, k=k))]
    if len(models) < 2:
        how = frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2")
        raise frame.NeededError(f"Needs 2 models; {len(models)} loaded.", how)
    trained = usual_models(models)["model"].tolist()
    best = facts.best_models(at, tuple(trained if len(trained) > 1 else models["model"]), k=k)
    follow, start = bool(selection.chosen()), selection.pair(models, models, best)
    a, b = (
        pick_model(label, models, key, default=default, follow=follow)
        for label, key, default in zip(("Model A", "Model B"), "ab", start, strict=True)
    )
    if a == b:
        raise frame.NeededError("Choose two different models.")
    return a, b


def pick_pair(
    at: Place, models: pd.DataFrame, *, k: int, left: DeltaGenerator, right: DeltaGenerator
) -> LayerPair:
    """Choose two of at least two models that have neighbors, and a layer of each; at first those
    that were chosen anywhere, else those that agree most at this k.
    """
    best = facts.best_models(at, tuple(models["model"]), k=k)
    first, second = selection.pair(models, models, best)
    follow = bool(selection.chosen())
    a, b = (option_named(LayerPair, name) for name in ("a", "b"))
    with left:
        x = pick_model(a.label, models, a.name, default=first, follow=follow)
    with right:
        y = pick_model(b.label, models, b.name, default=second, follow=follow)
    best_x, best_y = best_layers(at.scope, queries.study(at), x, y, k=k)
    layers = models.set_index("model")["layers"]
    with left:
        layer_x = pick_layer(layers[x], "layer_a", best=best_x)
    with right:
        layer_y = pick_layer(layers[y], "layer_b", best=best_y)
    return LayerPair(x, layer_x, y, layer_y)
