"""Files that lie on other servers than the hub, by the same time limit."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from core.errors import OfflineError
from core.settings import hub_seconds


@contextmanager
def fetching(what: str, url: str, *, instead: str) -> Iterator[None]:
    """Let a library fetch from an address with Python's own means, which have no time limit.

    Raises OfflineError where the server does not answer in time, or not as it should.
    """
    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(hub_seconds())
    try:
        yield
    except (OSError, HTTPException) as error:
        raise OfflineError(
            f"{what} cannot be fetched from {url} ({error or type(error).__name__}); try again"
            f" later, or use {instead}"
        ) from error
    finally:
        socket.setdefaulttimeout(usual)
