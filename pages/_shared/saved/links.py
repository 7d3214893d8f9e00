"""Links to pages with everything chosen there, as saved views have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit

import streamlit as st
from streamlit.navigation.page import Page

from core.store.notes.views import LONGEST, SavedView, is_link, tidy
from pages._shared import address

_KEY = "pages"
SIDE_BY_SIDE = "views"  # the page that shows two views; it is none of those that it shows


def remember_pages(groups: Mapping[str, Sequence[Page]]) -> None:
    """Remember the pages that links lead to, by their name in the address."""
    st.session_state[_KEY] = {page.url_path: page for group in groups.values() for page in group}


def page_of(link: str) -> Page | None:
    """Return the page that a link leads to; None where it leads to no page, or out of the
    dashboard.
    """
    pages: dict[str, Page] = st.session_state[_KEY]
    return pages.get(urlsplit(link).path.removeprefix("/")) if is_link(link) else None


def query_of(link: str) -> list[tuple[str, str]]:
    """Return keys and values of a link's query."""
    return parse_qsl(urlsplit(link).query, keep_blank_values=True)


def this_view() -> str:
    """Return the link of what is shown, with its dataset."""
    texts = address.settled()
    query = urlencode(texts, doseq=True)
    return f"/{address.page()}?{query}" if query else f"/{address.page()}"


def suggest_name() -> str:
    """Return a name for what is shown: the page and what differs there from the default."""
    page = page_of(f"/{address.page()}")
    chosen = address.departures(address.shown()).values()
    return _shorten(": ".join([page.title if page else "", "; ".join(chosen)]))


def describe(link: str) -> str:
    """Return a name for a link that was not saved: its page and what its query says."""
    page = page_of(link)
    query = ", ".join(f"{key} {value}" for key, value in query_of(link))
    return _shorten(": ".join([page.title if page else "", query]))


def options(views: Iterable[SavedView], links: Iterable[str]) -> dict[str, str]:
    """Return the views that can be shown, by link what they are called: saved ones, further links,
    and every page as it is at first.
    """
    pages: dict[str, Page] = st.session_state[_KEY]
    further = [*links, *(f"/{name}" for name in pages)]
    named = {view.link: view.name for view in views}
    named |= {link: describe(link) for link in further if link not in named}
    return {link: name for link, name in named.items() if page_of(link)}


def _shorten(text: str) -> str:
    name = tidy(text).rstrip(": ")
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip()}…"
