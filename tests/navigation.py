"""The one list of pages and their tabs, as the navigation in `pages/frame.py` has them, each with
an address to try.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from pages.frame import PAGES as ENTRIES
from pages.frame import START

Query = Mapping[str, str | list[str]]

# By page and tab: a query with which it draws its first figure over the store that
# `tests.pages.world.build` makes of sixty stimuli. Captions draw once `tests.pages.levels.retell`
# was called too; stitching, soft prompts and probes offer what takes long; data and jobs have
# tables instead.
EXAMPLES: dict[str, Query] = {
    "overview": {},
    "trends/across": {},
    "trends/within": {},
    "trends/training": {},
    "why/hypotheses": {},
    "why/captions": {},
    "models/map": {"color": "family"},
    "models/table": {},
    "models/tree": {},
    "models/compare": {},
    "images/explore": {"map": "pca"},
    "images/extremes": {},
    "images/language": {},
    "color": {"source": ["pixels:cifar10"]},
    "robustness/metrics": {},
    "robustness/k": {},
    "robustness/n": {},
    "robustness/controls": {},
    "transfer/adapters": {},
    "transfer/stitching": {},
    "transfer/prefixes": {},
    "transfer/probes": {},
    "transfer/unpaired": {"method": "qap", "size": "12", "starts": "1", "draws": "1"},
    "implications": {},
    "theory/deep-linear": {},
    "theory/co-occurrence": {"events": "6"},
    "data/models": {},
    "data/datasets": {},
    "data/results": {},
    "data/jobs": {},
}


@dataclass(frozen=True)
class Page:
    """A page, or one of its tabs.

    name: of the page's file in pages/, and of the tab after a slash. path: of its address, "" for
    the first page. example: a query to open it with. over_store: whether it is about a store.
    """

    name: str
    path: str
    title: str
    example: Query
    over_store: bool

    @property
    def tab(self) -> str:
        """Return the tab's name in the address, "" for a page without tabs."""
        return self.name.partition("/")[2]

    @property
    def link(self) -> str:
        """Return its example's address on a server."""
        query = urlencode(self.example, doseq=True)
        return f"/{self.path}?{query}" if query else f"/{self.path}"


def _list_pages() -> list[Page]:
    entries = {one.file.removesuffix(".py"): one for one in ENTRIES}
    pages = []
    for name, example in EXAMPLES.items():
        script, _, tab = name.partition("/")
        entry = entries[script]
        path = "" if entry is START else entry.path
        query = {"tab": tab, **example} if tab else example
        pages.append(Page(name, path, entry.title, query, entry.over_store))
    return pages


VIEWS = tuple(_list_pages())  # each page's tabs
PAGES = tuple({one.path: one for one in reversed(VIEWS)}.values())[::-1]  # with the first tab
assert len(PAGES) == len(ENTRIES)
