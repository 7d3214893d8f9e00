"""Controls of a question, bound to the address: one per option, with its label, help, default,
range and choices. A page passes only what differs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import InputError, MetricError, StimuliError
from core.metrics import METRICS
from core.options import Option, build, options_of, values_of
from core.questions.alignment.question import best_layers
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
    """How a page shows an option, if that differs from the option.

    labels: all values with their names. start: in place of the default. least, most, step: of a
    number. follow: whether an unset control follows a changed start. row: whether choices are side
    by side. empty: the placeholder of an empty list. example: of an empty text.
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
        """Return the look of a list of models. usual: how many an empty list means."""
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
    """Draw a control for every option of a question, and return the question.

    more: options behind “Options”, next to the choice of stimuli. leave: options that keep their
    default. An option without a default, such as a layer, is drawn only with a start.
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
    """Draw a text of numbers with commas; return the start if it cannot be read."""
    assert one.range
    bound = bind(one.name, ", ".join(f"{each:g}" for each in start), joint=", ")
    text = st.text_input(label, help=help, **bound)
    words = text.replace(",", " ").split()
    try:
        if len(words) > MOST_NUMBERS:
            raise InputError(f"expected at most {MOST_NUMBERS} numbers; got {len(words)}")
        return tuple(one.range.read(word) for word in words)
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
    """Return the tooltip of a control."""
    return f"{one.help[:1].upper()}{one.help[1:].replace('%%', '%')}."


def pick_usual(models: pd.DataFrame) -> pd.DataFrame:
    """Draw the toggle of models beyond the usual ones; return the chosen ones."""
    counted = usual_models(models)
    text = (
        "Also other seeds of a recipe, models that vary one on purpose, untrained models, and"
        " checkpoints, that is models at some step of their training."
    )
    if len(counted) < len(models) and st.toggle("Every model", help=text, **bind("every", False)):
        return models
    return counted


def pick_model(
    label: str, models: pd.DataFrame, key: str, *, default: str, follow: bool = False
) -> str:
    """Draw the choice of one model, the usual ones first; follow: see `address.bind`."""
    titles = models.set_index("model")["title"].to_dict()
    address.label(key, label)
    return st.selectbox(
        label,
        list(dict.fromkeys([*usual_models(models)["model"], *titles])),
        format_func=titles.get,
        **bind(key, default, titles, kind="model", follow=follow),
    )


def pick_layer(layers: Sequence[str], key: str, *, best: int) -> int:
    """Draw the choice of a layer by its name; at first the best aligned one."""
    names = {-1: "best aligned", **dict(enumerate(layers))}
    chosen = st.selectbox(
        "Layer", list(names), format_func=names.get, **bind(key, -1, names, kind="layer")
    )
    if chosen >= 0:
        return chosen
    st.caption(f"Best aligned with the other model: {frame.plain(layers[best])}")
    return best


def filter_models(models: pd.DataFrame) -> pd.DataFrame:
    """Draw a search field; return the models whose title or kinds have words that begin so."""
    text = st.text_input("Search", placeholder="name, family, objective", **bind("search", ""))
    about = models[["title", *KINDS]].agg(" ".join, axis=1)
    for word in text.split():
        about = about[about.str.contains(rf"(?<!\w){re.escape(word)}", case=False)]
    return models.loc[about.index]


def pick_segment(
    label: str, labels: Mapping[T, str], key: str, *, start: T, hidden: bool = False
) -> T:
    """Draw a few values side by side. hidden: whether only screen readers get the label."""
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
    """Draw the choice of a page, if there are several."""
    if pages < 2:
        return 1
    return st.pagination(pages, **bind(key, 1, within=(1, pages)))


def pick_scope(at: Place) -> Scope:
    """Draw the choice of stimuli and of the clamping of features."""
    one = option_named(Scope, "where")
    address.label(one.name, one.label)
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
    """Return the set of stimuli in the address, "" for all, and name it for the bar's chip."""
    code = address.mark("stimuli")
    if code:
        try:
            text = f"{len(decode(code, size)):,} of {size:,} stimuli"
        except StimuliError:  # the page shows the error
            text = "A set of stimuli that cannot be read"
        address.name_mark("stimuli", text)
    return code


def pick_k(size: int) -> int:
    """Draw the number of neighbors, 1 … n − 1."""
    most = max(1, size - 1)
    one = option_named(Measure, "k")
    address.label(one.name, one.label)
    text = (
        f"How many nearest neighbors of each stimulus are compared, 1 to {most:,}. Larger k"
        " compares coarser structure."
    )
    bound = bind(one.name, min(10, most), within=(1, most))
    return int(st.number_input(one.label, 1, most, help=text, **bound))


def pick_metric(*, start: str = "mutual_knn") -> str:
    """Draw the choice of a metric by its short name."""
    shorts = {name: metric.spec.short for name, metric in METRICS.items()}
    titles = {name: f"{short[:1].upper()}{short[1:]}" for name, short in shorts.items()}
    one = option_named(Measure, "metric")
    address.label(one.name, one.label)
    return st.selectbox(
        one.label, list(titles), format_func=titles.get, **bind(one.name, start, titles)
    )


def pick_parameters(metric: str, size: int) -> dict[str, Any]:
    """Draw the parameters of a metric."""
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
    """Draw a metric and its parameters. size: number of stimuli."""
    metric = pick_metric(start=start)
    return Measure.of(metric, pick_parameters(metric, size))


def pick_rule() -> LayerRule:
    """Draw the choice of layers; see `core.study.layers.read_choice`."""
    one = option_named(LayerRule, "layers")
    address.label(one.name, one.label)
    layers = st.selectbox(
        one.label,
        list(LAYERS),
        format_func=lambda each: LAYERS.get(each, each),
        accept_new_options=True,
        help=LAYERS_HELP,
        **bind(one.name, one.default),
    )
    try:
        read_choice(layers)
    except MetricError as error:
        st.warning(frame.plain(error))
        layers = one.default
    if layers != "best":
        return LayerRule(layers)
    return LayerRule(candidates=pick_option(option_named(LayerRule, "as"), Look(labels=CANDIDATES)))


def pick_two(at: Place, models: pd.DataFrame, *, k: int, closest: bool = False) -> tuple[str, str]:
    """Draw the choice of two models with neighbors: at first the selected ones, else of those fully
    trained the best-aligned vision and language model or, if asked for, the closest two of
    different setups. Raise NeededError for fewer, or for the same model twice.
    """
    names = models["model"].tolist()
    models = models[~models["model"].isin(facts.without_neighbors(at, names, k=k))]
    if len(models) < 2:
        how = frame.command("embed", "--dataset", at.dataset, "--model", "hf:gpt2")
        raise frame.NeededError(f"Needs 2 models; {len(models)} loaded.", how)
    trained = usual_models(models)["model"].tolist()
    best = facts.closest_two(at) if closest else None
    if best is None:
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
    at: Place,
    models: pd.DataFrame,
    *,
    k: int,
    left: DeltaGenerator,
    right: DeltaGenerator,
    among: Collection[str] = (),
) -> LayerPair:
    """Draw the choice of two models with neighbors and a layer of each: at first the selected
    models, else the best aligned at this k, of those in `among` if these are at least two.
    """
    few = models.loc[models["model"].isin(among), "model"]
    best = facts.best_models(at, tuple(few if len(few) > 1 else models["model"]), k=k)
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
