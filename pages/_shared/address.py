"""The address holds the whole state: a link opens it, Back returns to it.

A control is bound under a key; several of a kind under KIND:NAME, in the address KIND=NAME=VALUE.
A new address (a link, Back, another page) sets the controls. It is written once at the end of a
redraw, so that changes made together are one step of the browser's history.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qs

import pandas as pd
import streamlit as st
from streamlit.navigation.page import Page

from core.errors import InputError, UnknownNameError, quoted
from core.options import Range, options_of
from core.questions.topics import every_kind

MOVED: dict[str, str] = {  # old address of a page: present one with its query
    "adapters": "transfer?tab=adapters",
    "alignment": "trends?tab=across",
    "benefits": "implications",
    "captions": "why?tab=captions",
    "competence": "trends?tab=across",
    "convergence": "trends?tab=within",
    "dispersion": "images?tab=language",
    "jobs": "data?tab=jobs",
    "library": "data",
    "metrics": "robustness",
    "neurons": "models?tab=compare",
    "reading": "transfer?tab=prefixes",
    "stimuli": "images",
    "stitching": "transfer?tab=stitching",
    "theory-attention": "models?tab=table",
    "theory-contrastive": "theory?tab=co-occurrence",
    "theory-deep-linear": "theory",
    "translation": "transfer?tab=unpaired",
}
_KEY = "address"
P = ParamSpec("P")
T = TypeVar("T", str, list[str])


@dataclass
class View:
    """The state of a page's address and controls.

    texts: as last read or written. settled: as of the last redraw. unread: for controls that are
    not drawn yet. fresh: whether the address sets the controls, for one whole redraw, however often
    that is cut short. touched: whether a person changed something meanwhile. whole: whether a
    changed part concerns the whole page. By key: starts: what a control shows at first, seen: what
    it last showed, bound: the controls of this redraw, with the separator of several values, marks:
    texts without a control, such as the open stimulus, named: names of values, labels: of controls,
    stale: the error of a link's value, with the value shown instead.
    """

    page: str
    texts: Texts
    unread: Texts
    fresh: bool = True
    touched: bool = False
    drawing: bool = True
    whole: bool = False
    settled: Texts = field(default_factory=dict)
    starts: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)
    bound: dict[str, str] = field(default_factory=dict)
    marks: Texts = field(default_factory=dict)
    named: dict[str, Mapping[Any, str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    stale: dict[str, tuple[str, Any]] = field(default_factory=dict)


def former_pages(pages: Iterable[Page]) -> list[Page]:
    """Return a hidden page for each old address, which opens the present page with its query."""
    present = {page.url_path: page for page in pages}

    def open_present(new: str) -> None:
        path, _, more = new.partition("?")
        query = {key: st.query_params.get_all(key) for key in st.query_params}
        st.switch_page(present[path], query_params={**query, **parse_qs(more)})

    return [
        st.Page(partial(open_present, new), title=old, url_path=old, visibility="hidden")
        for old, new in MOVED.items()
    ]


def begin(page: str) -> None:
    """Begin a redraw of a page; a new address decides what it shows."""
    view: View | None = st.session_state.get(_KEY)
    texts = {key: st.query_params.get_all(key) for key in st.query_params}
    changed = _take_changes(view) if view else False
    if view is None or page != view.page or (texts != view.texts and not changed):
        st.session_state[_KEY] = View(page, texts, split(texts))
    else:
        view.touched |= changed
        view.bound, view.drawing, view.whole = {}, True, False


def page() -> str:
    """Return the name of this page in the address; "" for the first one."""
    return _view().page


def _take_changes(view: View) -> bool:
    """Return whether a control was changed since the last redraw began. If none was, another
    address is Back, even if a redraw is cut short.
    """
    state = st.session_state
    now = {key: state[key] for key in view.seen if key in state}
    changed = any(view.seen[key] != value for key, value in now.items())
    view.seen |= now
    return changed


def write() -> None:
    """End a redraw: write into the address all that differs from the start."""
    view, state = _view(), st.session_state
    there = [key for key in view.bound if key in state]  # a part's redraw may outlive its page
    chosen = {key: state[key] for key in there if state[key] != view.starts[key]}
    view.seen |= {key: state[key] for key in there}
    texts = join({key: to_texts(value, view.bound[key]) for key, value in chosen.items()})
    texts |= view.marks
    before = view.texts if view.fresh else view.settled
    if (view.touched or not view.fresh) and texts != before:
        st.query_params.from_dict(texts)
        view.texts = texts
    view.settled, view.fresh, view.touched, view.drawing = texts, False, False, False


def fragment(draw: Callable[P, None], *, run_every: str | None = None) -> Callable[P, None]:
    """Let a part of a page be redrawn without the rest if a control in it changes, and at an
    interval: run_every, such as 2s.
    """

    @st.fragment(run_every=run_every)
    @wraps(draw)
    def draw_part(*args: P.args, **kwargs: P.kwargs) -> None:
        if _view().whole:
            st.rerun(scope="app")
        draw(*args, **kwargs)
        if not _view().drawing:  # the whole page writes at its own end
            write()

    return draw_part


def redraw_page() -> None:
    """Redraw the whole page after a change in a fragment."""
    _view().whole = True


def bind(
    key: str,
    start: Any,
    among: Collection[Any] | None = None,
    *,
    within: Bounds = (-math.inf, math.inf),
    joint: str = "",
    kind: str = "",
    follow: bool = True,
) -> dict[str, str]:
    """Bind a control to the address and return its key as a keyword argument for Streamlit.

    start: value if nothing was chosen; a list for several. follow: whether an unset control follows
    a changed start. among: all values, with their names if a mapping. within: range of a number.
    joint: separator of several values in a text. kind: noun for error messages. A value that is no
    longer valid, as after a change of dataset, is replaced by the start.
    """
    view, state = _view(), st.session_state
    last = view.starts.get(key, start)
    value = state[key] if key in state else view.seen.get(key, start)
    if key in view.unread:
        texts = view.unread.pop(key)
        read = partial(read_value, kind or key.replace("_", " "), among, within)
        value = joint.join(texts) if joint else _read(read, key, texts, start)
    elif key not in view.starts and view.fresh:
        value = start  # another view's value may still lie in the session
    elif (follow and value == last) or not fits(value, among, within):
        value = start
    state[key] = view.seen[key] = value
    view.starts[key] = start
    view.bound[key] = joint
    view.named[key] = among if isinstance(among, Mapping) else {}
    return {"key": key}


def peek(key: str, start: T) -> T:
    """Return the value of a control before it is drawn."""
    view = _view()
    if key in view.unread:
        if isinstance(start, list):
            return view.unread[key]
        return view.unread[key][-1]
    if key not in view.starts and view.fresh:
        return start
    value: T = st.session_state.get(key, view.seen.get(key, start))
    return value


def names(keys: Collection[str]) -> bool:
    """Return whether a new address names one of these controls, none of which is drawn yet."""
    return not _view().unread.keys().isdisjoint(keys)


def take(key: str) -> list[str]:
    """Return and remove the texts of a new address under a key."""
    return _view().unread.pop(key, [])


def hand(key: str, texts: list[str]) -> None:
    """Set texts under a key as if they came from the address."""
    _view().unread[key] = texts


def release(keys: Iterable[str]) -> None:
    """Reset controls to their start."""
    view = _view()
    for key in keys:
        if key in view.starts:
            st.session_state[key] = view.seen[key] = view.starts[key]


def shown() -> frozenset[str]:
    """Return the keys of all controls and named marks drawn so far."""
    view = _view()
    return frozenset(view.bound) | (frozenset(view.marks) & frozenset(view.named))


def departures(keys: Collection[str]) -> dict[str, str]:
    """Return by key a text for each control and mark that differs from its start."""
    view, state = _view(), st.session_state
    texts = {key: view.named[key][mark(key)] for key in view.marks if key in keys}
    changed = [key for key in view.bound if key in keys and state[key] != view.starts[key]]
    return texts | {key: _describe(key, state[key], view.named[key]) for key in changed}


def label(key: str, text: str) -> None:
    """Set the label of a control if it differs from its key."""
    _view().labels[key] = text


def drop(key: str) -> None:
    """Reset a control or mark."""
    if key in _view().marks:
        set_mark(key, "")
    else:
        release([key])


def _describe(key: str, value: Any, names: Mapping[Any, str]) -> str:
    name = key.rpartition(":")[2].replace("_", " ").capitalize()
    name = _view().labels.get(key, name)
    if isinstance(value, bool):
        return name if value else f"{name}: no"
    values = list(value) if isinstance(value, list | tuple) else [value]
    if len(values) > 2:
        return f"{name}: {len(values)} chosen"
    return f"{name}: {', '.join(str(names.get(one, one)) for one in values) or 'none'}"


def mark(key: str) -> str:
    """Return the text of the address under a key without a control; "" for none."""
    view = _view()
    if key in view.unread:
        view.marks[key] = view.unread.pop(key)
    return view.marks.get(key, [""])[-1]


def name_mark(key: str, text: str) -> None:
    """Name a mark, so that the bar of controls shows it as a chip."""
    view = _view()
    view.named[key] = {mark(key): text}


def set_mark(key: str, text: str) -> None:
    """Write a text into the address under a key without a control; "" removes it."""
    view = _view()
    view.touched = True
    view.marks.pop(key, None)
    if text:
        view.marks[key] = [text]


def chosen(key: str) -> Texts:
    """Return the query of a link to a page with the same choice; empty for the start."""
    view = _view()
    if key not in view.bound:
        return {key: list(view.marks[key])} if mark(key) else {}
    value = st.session_state[key]
    return {} if value == view.starts[key] else {key: to_texts(value, view.bound[key])}


def stale() -> list[str]:
    """Return sentences on values of the link that this view cannot show, until they change."""
    view, state = _view(), st.session_state
    taken = {key.partition(":")[0] for key in view.bound}
    unread = [key for key in view.unread if key in view.texts and key not in taken]
    return [
        *(text for key, (text, value) in view.stale.items() if state.get(key) == value),
        *(f"a control for {key}" for key in unread if key in _option_names()),
    ]


@cache
def _option_names() -> frozenset[str]:
    """Return the names of the options of all questions, which takes seconds; other keys are
    foreign.
    """
    return frozenset(one.name for kind in every_kind() for one in options_of(kind))


def _view() -> View:
    view: View = st.session_state[_KEY]
    return view


def _read(read: Callable[[str, Any], Any], key: str, texts: list[str], start: Any) -> Any:
    """Return the valid values of a link, or the start if none is; keep a sentence on the others."""
    many = isinstance(start, list | tuple)
    if isinstance(start, list) and texts == [""]:
        return []
    sample = (start[0] if start else "") if many else start
    values, wrong = [], []
    for text in texts if many else texts[-1:]:
        try:
            values.append(read(text, sample))
        except InputError as error:
            wrong.append(str(error))
    if not values or (isinstance(start, tuple) and len(values) != len(start)):
        value = start
    else:
        value = type(start)(values) if many else values[-1]
    if wrong:
        more = [f"and {len(wrong) - 2} more"] if len(wrong) > 2 else []
        _view().stale[key] = "; ".join([*wrong[:2], *more]), value
    return value


Texts = dict[str, list[str]]  # of an address, by key
Bounds = tuple[float, float]


def read_value(
    kind: str, among: Collection[Any] | None, within: Bounds, text: str, sample: Any
) -> Any:
    """Return the value of a text, of the sample's type; raise InputError for an invalid one."""
    if among is not None:
        for value in among:
            if to_text(value) == text:
                return value
        raise UnknownNameError(kind, text, map(to_text, among))
    if isinstance(sample, bool):
        if text not in ("true", "false"):
            raise InputError(f"{kind} is true or false, not {quoted(text)}")
        return text == "true"
    if not isinstance(sample, int | float):
        return text
    low, high = within
    try:
        return Range(low, high, whole=isinstance(sample, int)).read(text)
    except InputError as error:
        bounds = "a number" if math.isinf(high) else f"{low:,.10g} to {high:,.10g}"
        raise InputError(f"{kind} is {bounds}, not {quoted(text)}") from error


def named_by(titles: Mapping[Any, str] | pd.Series) -> Callable[[str], str]:
    """Return a function from a name to its title, or to itself if it is gone."""
    return lambda name: titles.get(name, name)


def fits(value: Any, among: Collection[Any] | None, within: Bounds) -> bool:
    """Return whether a value, or each of several, is valid; see `bind`."""
    values = value if isinstance(value, list | tuple) else [value]
    if among is not None:
        return all(one in among for one in values)
    low, high = within
    return all(low <= one <= high for one in values if isinstance(one, int | float))


def to_texts(value: Any, joint: str) -> list[str]:
    """Return the texts of a control's value; see `bind`."""
    if joint:
        return str(value).split(joint)
    values: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [to_text(one) for one in values] or [""]  # nothing chosen is a choice


def to_text(value: Any) -> str:
    """Return one value as the address and the command line write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def split(texts: Texts) -> Texts:
    """Return the texts by key, with KIND=NAME=VALUE under KIND:NAME as well."""
    named = {
        f"{key}:{text.partition('=')[0]}": [text.partition("=")[2]]
        for key, each in texts.items()
        for text in each
        if "=" in text
    }
    return {**texts, **named}


def join(texts: Texts) -> Texts:
    """Return the texts by key, with those of KIND:NAME as NAME=VALUE under KIND."""
    joined: Texts = {}
    for key, each in texts.items():
        kind, colon, name = key.partition(":")
        joined.setdefault(kind, []).extend([f"{name}={text}" for text in each] if colon else each)
    return joined
