"""Shapes in the types are checked in every test; nothing here touches the network."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import plotly.graph_objects as go
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import config, install_import_hook

from tests.hub.server import LocalHub

MAIN = sys.modules["__main__"]

os.environ.setdefault("HF_HUB_OFFLINE", "1")
ROOT = Path(__file__).parents[1]
SHAPED = [  # every module with a shape in its types; mypy checks the others
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "core").rglob("*.py")
    if "from jaxtyping" in path.read_text("utf-8")
]
install_import_hook(SHAPED, "beartype.beartype")
# a busy machine is slow at random, which is no fault of a property; CI draws the same examples
# every time
settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("busy")


LONGEST = (  # of those that take a minute or more, the longest first
    "crew/test_on_ray",
    "browser/test_from_empty",
    "browser/test_browser",
    "browser/test_every_page",
    "pages/test_pages",
    "browser/test_promises",
    "test_demo",
    "competence/test_suite",
    "browser",
    "pages",
    "cli/test_cli",
    "embedding",
    "jobs",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that none of them is left alone at the end."""

    def rank(item: pytest.Item) -> int:
        name = item.nodeid.removeprefix("tests/")
        return next((at for at, one in enumerate(LONGEST) if name.startswith(one)), len(LONGEST))

    items.sort(key=rank)


@pytest.fixture(scope="module", autouse=True)
def _shapes_checked_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave the shapes of what pages and commands call to the tests of that: checking them once
    more takes a third of the time.
    """
    above = [Path(__file__).parent / name for name in ("pages", "cli", "test_demo.py")]
    config.update("jaxtyping_disable", any(request.path.is_relative_to(one) for one in above))
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def _main_is_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what an earlier test of a page did: Streamlit takes the page for the main program, which
    each process that a later test starts would run anew.
    """
    monkeypatch.setitem(sys.modules, "__main__", MAIN)


@pytest.fixture(autouse=True)
def _checked_by_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Plotly check every figure that a test draws: building them leaves that out."""
    from core.figures.drawing import Drawing  # typed by the hook above, so not imported before it

    draw = Drawing.figure

    def checked(drawing: Drawing) -> go.Figure:
        figure = draw(drawing)
        go.Figure(figure.to_dict())
        return figure

    monkeypatch.setattr(Drawing, "figure", checked)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    """Return a hub on this machine that hosts nothing yet."""
    hub = LocalHub()
    yield hub
    hub.close()


SHARED = Path(
    os.environ.get("PLATOSCOPE_SHARED", Path(__file__).resolve().parent.parent.parent / "shared")
)


def _shared(part: str) -> Path:
    path = SHARED / part
    if not path.exists():
        pytest.skip(f"{part} of the measuring data is not here; PLATOSCOPE_SHARED names its folder")
    return path


@pytest.fixture
def reference() -> Path:
    """Return the folder of reference values of the published metric code."""
    return _shared("reference")


@pytest.fixture
def facts() -> Path:
    """Return the folder of published figures as they were gathered, with their sources."""
    return _shared("facts")


@pytest.fixture
def flickr() -> Path:
    """Return a folder of 1,000 real photographs with five captions each."""
    return _shared("real/flickr8k_1000")


@pytest.fixture
def stories() -> Path:
    """Return the folder of a real language model of 260,032 parameters."""
    return _shared("real/stories260K-hf")
