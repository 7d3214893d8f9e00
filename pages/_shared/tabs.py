"""Tabs of a page: each answers one part of the page's question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pages._shared import address, controls
from pages._shared.queries import Place


class Tab(NamedTuple):
    """offered: whether this store has the data of the tab."""

    title: str
    show: Callable[[Place], None]
    offered: Callable[[Place], bool] = lambda _: True


def tabbed(tabs: Mapping[str, Tab], views: Mapping[str, str] = {}) -> Callable[[Place], None]:
    """Return a function that draws the offered tabs and the open one, at first the first.

    tabs: by name in the address. views: the tab that replaces a `view` of old links.
    """

    def show(at: Place) -> None:
        for view in address.take("view") if views else ():
            if view in views:
                address.hand("tab", [views[view]])
        titles = {name: tab.title for name, tab in tabs.items() if tab.offered(at)}
        first = next(iter(titles))
        name = first
        if len(titles) > 1:
            name = controls.pick_segment("Part", titles, "tab", start=first, hidden=True)
        tabs[name].show(at)

    return show
