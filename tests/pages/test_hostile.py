"""Every page over a store of one's own, whose texts would be obeyed, were they not shown as they
are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from core.visible import visible
from pages._shared.frame import UNSEEN, plain
from tests.navigation import VIEWS, Page, Query
from tests.pages.hostile import build_hostile

OPENED: list[tuple[Page, Query]] = [
    *((page, {}) for page in VIEWS if page.over_store),
    *(
        (page, query)
        for page in VIEWS
        for query in {
            "data/models": ({"model": "vision-1"},),
            "trends/across": ({"chosen": ["vision-1", "language-2"]},),
            "images/explore": ({"view": "gallery"}, {"stimulus": "1"}),
        }.get(page.name, ())
    ),
]
# what a browser shows as it is, whatever it says, and names that it does not show
SHOWN = {
    "selectbox.options",
    "selectbox.raw_value",
    "multiselect.options",
    "multiselect.raw_values",
    "code.code_text",
    "html.body",
    "text.body",
    "text_input.default",
    "text_input.value",
    "text_area.value",
    "text_input.placeholder",
    "image.imgs.alt",
    "plotly_chart.alt",
    "bidi_component.json",
}
NAMES = re.compile(r"\.(id|form_id|key|legendgroup|customdata|meta\.title)$")
OBEYED = {
    "markup": re.compile(r"(?<!\\)<img src=x|(?<!\\)\*\*b\*\*|(?<!\\)\$x|(?<!\\):red\["),
    "icon": re.compile(r":\\?material/home|(?<!\u2060)https?\\?://evil"),
}
OBEYED_BY_PLOTLY = re.compile(r"<img src=x|<b>b</b>|%\{meta")


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Path:
    return build_hostile(tmp_path_factory.mktemp("hostile"))


def texts_of(message: Message, place: str) -> Iterator[tuple[str, str]]:
    """Yield every text of what the server sends to draw an element, with its place."""
    for field, value in message.ListFields():
        here = f"{place}.{field.name}"
        if field.message_type and field.message_type.GetOptions().map_entry:
            continue  # query strings of links
        for one in value if field.is_repeated else [value]:
            if isinstance(one, Message):
                yield from texts_of(one, here)
            elif isinstance(one, str):
                yield here, one


def texts_in(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a figure with its place."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from texts_in(one, f"{place}.{key}")
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one, place)
    elif isinstance(value, str):
        yield place, value


def elements(node: Any) -> Iterator[Any]:
    for child in getattr(node, "children", {}).values():
        yield child
        yield from elements(child)


def obeyed(app: AppTest) -> list[tuple[str, str, str]]:
    """Return what of a page would be obeyed: its place, and what."""
    found = []
    for element in (*elements(app.main), *elements(app.sidebar)):
        if not isinstance(getattr(element, "proto", None), Message):
            continue
        for place, text in texts_of(element.proto, element.type):
            if place == "plotly_chart.spec":
                for spot, label in texts_in(json.loads(text), place):
                    if not NAMES.search(spot) and (
                        OBEYED_BY_PLOTLY.search(label) or visible(label) != label
                    ):
                        found.append((spot, "label", label))
            elif place not in SHOWN and not NAMES.search(place):
                kinds = [kind for kind, one in OBEYED.items() if one.search(text)]
                kinds += ["control"] if visible(text) != text else []
                found += [(place, kind, text) for kind in kinds]
    return found


@pytest.mark.parametrize(
    ("page", "query"),
    OPENED,
    ids=lambda one: one.name if isinstance(one, Page) else "-".join(map(str, one.values())),
)
def test_every_page_over_a_store_of_ones_own_shows_its_texts_and_obeys_none(
    opened, store, page, query
):
    app = opened(store, page.name, **query)
    assert not app.exception
    assert app.title
    assert obeyed(app) == []
    assert not any("<img src=x" in one.proto.body for one in app.get("html"))


def test_what_would_be_obeyed_is_found(opened, store, monkeypatch):
    monkeypatch.setattr("pages._shared.frame.plain", str)
    app = opened(store, "data/models", model="vision-1")
    assert {kind for _, kind, _ in obeyed(app)} == {"markup", "icon", "control"}


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a  b\n    c\td", "a b c d"),
        ("\x1b[1m\u202e", r"\\x1b\[1m\\u202e"),
        (":smile: 10:30:05 a:b", rf"\:{UNSEEN}smile\: 10\:30\:05 a\:b"),
        ("a -> b --c <-> >= d", rf"a \-{UNSEEN}\> b \-\-c \<{UNSEEN}\-\> \>{UNSEEN}= d"),
        ("http://a.b www.a.b", rf"{UNSEEN}http\://a\.b {UNSEEN}www\.a\.b"),
        ("a.b@c.d @e", rf"a\.b{UNSEEN}@c\.d @e"),
    ],
)
def test_what_streamlit_looks_for_is_broken_by_what_nobody_sees(text, escaped):
    assert plain(text) == escaped
