"""What all tests share; nothing here touches the network.

With PLATOSCOPE_TESTS=all, as `make test-all` sets it, every call is checked for the shapes in its
types, every figure by Plotly, and every property with a hundred examples, the same in each run.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from core.cave.weights import unpack
from tests.hub.server import LocalHub

MAIN = sys.modules["__main__"]
ROOT = Path(__file__).parents[1]
ALL = os.environ.get("PLATOSCOPE_TESTS") == "all"

os.environ.setdefault("HF_HUB_OFFLINE", "1")
unpack(ROOT / "data" / "cave")
if ALL:
    from jaxtyping import install_import_hook

    import tests.shapes  # noqa: F401 - the checked modules look it up by name

    shaped = [  # every module with a shape in its types
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "core").rglob("*.py")
        if "from jaxtyping" in path.read_text("utf-8")
    ]
    install_import_hook(shaped, "tests.shapes.checked")

# a busy machine is slow at random, which is no fault of a property
settings.register_profile(
    "same",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100 if ALL else 10,
    derandomize=True,
    database=None,
)
settings.load_profile("same")


def pytest_sessionfinish() -> None:
    if world := sys.modules.get("tests.pages.world"):
        for folder in world.MADE:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """Let what torch draws without a seed of its own be the same, whatever ran before."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _main_is_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what an earlier test of a page did: Streamlit takes the page for the main program, which
    each process that a later test starts would run again.
    """
    monkeypatch.setitem(sys.modules, "__main__", MAIN)


@pytest.fixture(autouse=True)
def _checked_by_plotly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Plotly check the figures that a test draws: building them leaves that out."""
    if not ALL and "figures" not in request.path.relative_to(ROOT).as_posix():
        return
    import plotly.graph_objects as go

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
