"""Tabs of a page: each answers one part of the page's question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pages._shared import address, controls
from pages._shared.queries import Place


class Tab(NamedTuple):
    """offered: whether this store has what the tab is about."""

    title: str
    show: Callable[[Place], None]
    offered: Callable[[Place], bool] = lambda _: True


def tabbed(tabs: Mapping[str, Tab], views: Mapping[str, str] = {}) -> Callable[[Place], None]:
    """Return what draws the tabs that a store has, and the one that is chosen.

    tabs: by what the address calls them; the first that is offered is open at first. views: by what
    an old link says under `view`, the tab that took over.
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
