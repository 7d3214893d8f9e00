"""The address holds the whole view: a link opens it, Back returns to it.

Controls are bound under a key; several of a kind under KIND:NAME, which the address has as
KIND=NAME=VALUE, as the command line has it. The address decides what they show where it is new: a
link was opened, Back pressed, another page chosen. It is written once at the end of a redraw, so
that what a person changes at once is one step of the browser's history.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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

MOVED: dict[str, str] = {  # old address of a page: present one, with what it says besides
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
    """What the address says of a page, and what the page's controls make of it.

    texts: as last read or written. settled: what the last redraw would have written. unread: what
    no control has taken yet. fresh: whether the address decides, which it does for one whole
    redraw, however often that is cut short. touched: whether a person changed something meanwhile.
    whole: whether the change of a part concerns the whole page. starts: by control, what it shows
    if nothing was chosen. seen: by control, what it last showed. bound: the controls of this
    redraw, with what joins several values. marks: what lies in the address without a control, such
    as the stimulus that is open. named: what values of controls and marks are called. labels: of
    controls. stale: by key, in a sentence what a link says that is not there, and what is shown
    instead.
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
    """Return whether a control was changed since the last redraw began: its redraw may cross an
    address on its way. Where none was, another address is Back, even if a redraw is cut short.
    """
    state = st.session_state
    now = {key: state[key] for key in view.seen if key in state}
    changed = any(view.seen[key] != value for key, value in now.items())
    view.seen |= now
    return changed


def write() -> None:
    """End a redraw: put into the address what differs from what is shown at first."""
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


def write_part() -> None:
    """End the redraw of a part of a page that was drawn by itself."""
    if not _view().drawing:
        write()


def fragment(draw: Callable[P, None], *, run_every: str | None = None) -> Callable[P, None]:
    """Let a part of a page be drawn by itself when a control in it is changed, and every so often:
    run_every, such as 2s.
    """

    @st.fragment(run_every=run_every)
    @wraps(draw)
    def draw_part(*args: P.args, **kwargs: P.kwargs) -> None:
        if _view().whole:
            st.rerun(scope="app")
        draw(*args, **kwargs)
        write_part()

    return draw_part


def redraw_page() -> None:
    """Draw the whole page again, although a control in a part of it was changed."""
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
    """Bind a control to the address and return its key, as a keyword of Streamlit's.

    start: what it shows if nothing was chosen; a list where it takes several values. follow:
    whether a control that was not set follows a start that depends on others. among: all that
    can be chosen, where that is known, by value what it is called where that differs. within:
    least and most of a number. joint: what joins several values in the control's text. kind: what
    the values are, for a sentence. A value that is not there any more, since another dataset was
    chosen, gives way to the start.
    """
    view, state = _view(), st.session_state
    last = view.starts.get(key, start)
    value = state[key] if key in state else view.seen.get(key, start)
    if key in view.unread:
        texts = view.unread.pop(key)
        read = Reader(kind or key.replace("_", " "), among, within)
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
    """Return what a control will show, before it is drawn. start: a text, or a list of several."""
    view = _view()
    if key in view.unread:
        if isinstance(start, list):
            return view.unread[key]
        return view.unread[key][-1]
    if key not in view.starts and view.fresh:
        return start
    value: T = st.session_state.get(key, view.seen.get(key, start))
    return value


def take(key: str) -> list[str]:
    """Return what a new address says under a key, and hand it to no control."""
    return _view().unread.pop(key, [])


def hand(key: str, texts: list[str]) -> None:
    """Hand texts to the control under a key, as if the address said so."""
    _view().unread[key] = texts


def release(keys: Iterable[str]) -> None:
    """Let controls follow their start again, as if they had not been set."""
    view = _view()
    for key in keys:
        if key in view.starts:
            st.session_state[key] = view.seen[key] = view.starts[key]


def shown() -> frozenset[str]:
    """Return what this redraw has shown so far: the keys of controls, and of marks with a name."""
    view = _view()
    return frozenset(view.bound) | (frozenset(view.marks) & frozenset(view.named))


def departures(keys: Collection[str]) -> dict[str, str]:
    """Return in words, by key, what these controls and marks show other than at first."""
    view, state = _view(), st.session_state
    texts = {key: view.named[key][mark(key)] for key in view.marks if key in keys}
    changed = [key for key in view.bound if key in keys and state[key] != view.starts[key]]
    return texts | {key: _describe(key, state[key], view.named[key]) for key in changed}


def label(key: str, text: str) -> None:
    """Say what a control is called, where questions call it differently."""
    _view().labels[key] = text


def drop(key: str) -> None:
    """Show at a control, or a mark, what is shown at first."""
    if key in _view().marks:
        set_mark(key, "")
    else:
        release([key])


def _describe(key: str, value: Any, names: Mapping[Any, str]) -> str:
    name = key.rpartition(":")[2].replace("_", " ").capitalize()
    name = _view().labels.get(key) or _option_labels().get(key, name)
    if isinstance(value, bool):
        return name if value else f"{name}: no"
    values = list(value) if isinstance(value, list | tuple) else [value]
    if len(values) > 2:
        return f"{name}: {len(values)} chosen"
    return f"{name}: {', '.join(str(names.get(one, one)) for one in values) or 'none'}"


def mark(key: str) -> str:
    """Return what the address says under a key that no control has; "" for nothing."""
    view = _view()
    if key in view.unread:
        view.marks[key] = view.unread.pop(key)
    return view.marks.get(key, [""])[-1]


def name_mark(key: str, text: str) -> None:
    """Say in words what a mark is, so that a bar of controls can show and drop it."""
    view = _view()
    view.named[key] = {mark(key): text}


def set_mark(key: str, text: str) -> None:
    """Put a text into the address under a key that no control has; "" drops it."""
    view = _view()
    view.touched = True
    view.marks.pop(key, None)
    if text:
        view.marks[key] = [text]


def chosen(key: str) -> Texts:
    """Return what the address of another page says of the same choice; nothing where it is what
    is shown at first.
    """
    view = _view()
    if key not in view.bound:
        return {key: list(view.marks[key])} if mark(key) else {}
    value = st.session_state[key]
    return {} if value == view.starts[key] else {key: to_texts(value, view.bound[key])}


def stale() -> list[str]:
    """Return what the link says that is not there, in sentences, until something else is chosen."""
    view, state = _view(), st.session_state
    taken = {key.partition(":")[0] for key in view.bound}
    unread = [key for key in view.unread if key in view.texts and key not in taken]
    return [
        *(text for key, (text, value) in view.stale.items() if state.get(key) == value),
        *(f"a control for {key}" for key in unread if key in _option_labels()),
    ]


@cache
def _option_labels() -> dict[str, str]:
    """Return what a question's link may say, with the label of its control; other keys are a
    stranger's, or of a later control.
    """
    return {one.name: one.label for kind in every_kind() for one in options_of(kind)}


def _view() -> View:
    view: View = st.session_state[_KEY]
    return view


def _read(read: Reader, key: str, texts: list[str], start: Any) -> Any:
    """Return what a link says, without what is not there; the start where nothing is left."""
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
        _view().stale[key] = say_first(wrong), value
    return value


Texts = dict[str, list[str]]  # of an address, by key
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Reader:
    """How one value of a link is read; kind, among and within as of `bind`."""

    kind: str
    among: Collection[Any] | None
    within: Bounds

    def __call__(self, text: str, sample: Any) -> Any:
        """Return the value that a text says, of the sample's type; raises InputError."""
        if self.among is not None:
            return self._find(text, self.among)
        if isinstance(sample, bool):
            return self._switch(text)
        if isinstance(sample, int | float):
            return self._number(text, type(sample))
        return text

    def _find(self, text: str, among: Collection[Any]) -> Any:
        for value in among:
            if to_text(value) == text:
                return value
        raise UnknownNameError(self.kind, text, map(to_text, among))

    def _switch(self, text: str) -> bool:
        if text not in ("true", "false"):
            raise InputError(f"{self.kind} is true or false, not {quoted(text)}")
        return text == "true"

    def _number(self, text: str, kind: type[float]) -> float:
        low, high = self.within
        try:
            return Range(low, high, whole=issubclass(kind, int)).read(text)
        except InputError as error:
            bounds = "a number" if math.isinf(high) else f"{low:,.10g} to {high:,.10g}"
            raise InputError(f"{self.kind} is {bounds}, not {quoted(text)}") from error


def named_by(titles: Mapping[Any, str] | pd.Series) -> Callable[[str], str]:
    """Return what tells the title of a choice; of one that is gone meanwhile, its name."""
    return lambda name: titles.get(name, name)


def fits(value: Any, among: Collection[Any] | None, within: Bounds) -> bool:
    """Return whether a value, or each of several, can be chosen; among and within as of `bind`."""
    values = value if isinstance(value, list | tuple) else [value]
    if among is not None:
        return all(one in among for one in values)
    low, high = within
    return all(low <= one <= high for one in values if isinstance(one, int | float))


def to_texts(value: Any, joint: str) -> list[str]:
    """Return what the address says of a control's value; joint: what joins several in a text."""
    if joint:
        return str(value).split(joint)
    values: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [to_text(one) for one in values] or [""]  # nothing chosen is a choice


def to_text(value: Any) -> str:
    """Return how the address, as the command line, writes one value."""
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


def say_first(mistakes: Sequence[str], most: int = 2) -> str:
    """Return the first mistakes in one control's values as one sentence, and how many more."""
    more = [f"and {len(mistakes) - most} more"] if len(mistakes) > most else []
    return "; ".join([*mistakes[:most], *more])
