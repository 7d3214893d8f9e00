"""Files that lie on other servers than the hub, by the same time limit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

import httpx2
from filelock import FileLock

from core.errors import OfflineError
from core.hub.client import FIRST_PAUSE, PatientClient, reason_of, status_of
from core.hub.patience import HubTroubleError, waiting
from core.progress import ConsoleProgress
from core.settings import check_readable, hub_seconds


def fetch_url(what: str, url: str, target: Path, *, instead: str) -> None:
    """Fetch a file from an address, where it is not here yet.

    Raises OfflineError where the server does not answer in time, or not as it should, and where the
    file cannot be kept; InputError where the store is only shown: nobody is asked then.
    """
    check_readable(what)
    if target.exists():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _part_of(target) as part:
            if not target.exists():  # another process has fetched it meanwhile
                with waiting(what, ConsoleProgress()):
                    _fetch(url, part)
                os.replace(part, target)
    except (HubTroubleError, httpx2.RequestError) as error:
        reason = str(error)
        if isinstance(error, httpx2.RequestError):
            reason = reason_of(error, hub_seconds())
        raise OfflineError(
            f"{what} cannot be fetched: {url} {reason}; try again later, or use {instead}"
        ) from error
    except OSError as error:
        raise OfflineError(
            f"{what} cannot be kept: {target.parent} cannot be written ({error.strerror}); make"
            " room, or set TORCH_HOME to another folder"
        ) from error


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Give one process at a time where to write a file before it is whole: what one that was killed
    left there is overwritten.
    """
    part = target.with_name(f"{target.name}.part")
    lock = FileLock(target.with_name(f"{target.name}.lock"))
    with lock:
        try:
            yield part
        finally:
            with suppress(OSError):  # Windows keeps an open file: it does no harm
                part.unlink(missing_ok=True)
                Path(lock.lock_file).unlink(missing_ok=True)


def _fetch(url: str, new: Path) -> None:
    """Download a file, and anew until the time limit after its body has first broken off."""
    end = inf
    while True:
        try:
            return _download(url, new)
        except httpx2.RemoteProtocolError:
            now = time.monotonic()
            end = min(end, now + hub_seconds())
            if now + FIRST_PAUSE > end:
                raise
            time.sleep(FIRST_PAUSE)


def _download(url: str, new: Path) -> None:
    with (
        PatientClient(follow_redirects=True, timeout=None) as client,
        client.stream("GET", url) as response,
        new.open("wb") as file,
    ):
        if not response.is_success:
            raise HubTroubleError(status_of(response))
        for part in response.iter_bytes():
            file.write(part)
