"""The one list of pages, as the navigation in `pages/frame.py` has them, each with an address to
try.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from pages import frame

Query = Mapping[str, str | list[str]]

# By url path: a query with which a page draws its first figure over the store that
# `tests.pages.world.build` makes of sixty stimuli. Captions draw once `tests.pages.levels.retell`
# was called too, the theory once it has run; Stitching and Reading across offer what takes long,
# and the library and the jobs have tables instead.
EXAMPLES: dict[str, Query] = {
    "": {},
    "alignment": {},
    "competence": {},
    "convergence": {},
    "benefits": {},
    "models": {"layout": "mds"},
    "metrics": {},
    "stimuli": {"view": "map", "map": "pca"},
    "dispersion": {},
    "captions": {},
    "color": {"source": ["pixels:cifar10"], "dims": "2"},
    "adapters": {},
    "stitching": {},
    "reading": {},
    "neurons": {"models": ["gpt-2-m", "vit-clip-m", "vit-mae-m"], "null": "19", "rotations": "1"},
    "translation": {"method": "qap", "size": "12", "starts": "1", "draws": "1"},
    "theory": {"tab": "co-occurrence", "events": "6"},
    "library": {},
    "jobs": {},
}


@dataclass(frozen=True)
class Page:
    """script: its file in pages/, without .py. path: of its address, "" for the first. example: a
    query to open it with. over_store: whether it is about a store.
    """

    script: str
    path: str
    title: str
    example: Query
    over_store: bool

    @property
    def name(self) -> str:
        """Return what a test that is made for each page calls it."""
        return self.path or "start"

    @property
    def link(self) -> str:
        """Return its example's address on a server."""
        query = urlencode(self.example, doseq=True)
        return f"/{self.path}?{query}" if query else f"/{self.path}"


def _list_pages(group: str) -> list[Page]:
    paths = {one: "" if one is frame.START else one.path for one in frame.PAGES[group]}
    return [
        Page(one.file.removesuffix(".py"), path, one.title, EXAMPLES[path], group != "Theory")
        for one, path in paths.items()
    ]


PAGES = tuple(page for group in frame.PAGES for page in _list_pages(group))
assert set(EXAMPLES) == {page.path for page in PAGES}
