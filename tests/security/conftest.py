"""A dashboard whose environment asks it to let go of its guards, as a careless machine would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.server import serve
from tests.pages.world import SMALL, PaintedDataset, build

LOOSE = {
    "STREAMLIT_SERVER_ADDRESS": "0.0.0.0",
    "STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false",
    "STREAMLIT_SERVER_ENABLE_CORS": "false",
    "STREAMLIT_SERVER_ENABLE_STATIC_SERVING": "true",
    "STREAMLIT_SERVER_ENABLE_AGENT_API": "true",
    "STREAMLIT_SERVER_ALLOWED_HOSTS": "*",
}


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Path:
    """Return a small store, to be read and not changed."""
    return build(tmp_path_factory.mktemp("secure"), PaintedDataset(30), **SMALL)


@pytest.fixture(scope="session")
def port(store, tmp_path_factory) -> Iterator[int]:
    """Return where the dashboard listens."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    with serve(store, log=log, **LOOSE) as address:
        yield urlsplit(address).port or 0
