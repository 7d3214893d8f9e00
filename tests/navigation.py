"""The one list of pages, as the navigation in `app.py` has them, each with an address to try."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.settings import ROOT

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
    "theory-contrastive": {"events": "6"},
    "theory-deep-linear": {"a": "3", "b": "3"},
    "theory-attention": {"models": "gpt2-xs", "captions": "2"},
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


def _read_navigation() -> Iterator[Page]:
    """Yield the pages that the source of `app.py` declares: outside of a session an `st.Page` keeps
    nothing of what it is given.
    """
    body = ast.parse((ROOT / "app.py").read_text()).body
    [declared] = [one for one in body if isinstance(one, ast.Assign)]
    assert isinstance(declared.value, ast.Dict)
    for section, pages in zip(declared.value.keys, declared.value.values, strict=True):
        for call in pages.elts:
            said = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
            script = ast.literal_eval(call.args[0]).removeprefix("pages/").removesuffix(".py")
            path = "" if said.get("default") else said["url_path"]
            over_store = ast.literal_eval(section) != "Theory"
            yield Page(script, path, said["title"], EXAMPLES[path], over_store)


PAGES = tuple(_read_navigation())
assert set(EXAMPLES) == {page.path for page in PAGES}
