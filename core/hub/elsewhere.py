"""Files that lie on other servers than the hub, by the same time limit."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2

from core.errors import OfflineError
from core.hub.client import PatientClient, reason_of, status_of
from core.hub.patience import HubTroubleError, waiting
from core.progress import ConsoleProgress
from core.settings import hub_seconds


def fetch_url(what: str, url: str, target: Path, *, instead: str) -> None:
    """Fetch a file from an address, where it is not here yet.

    Raises OfflineError where the server does not answer in time, or not as it should, and where the
    file cannot be kept.
    """
    if target.exists():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent) as folder:
            new = Path(folder, target.name)
            with waiting(what, ConsoleProgress()):
                _download(url, new)
            os.replace(new, target)
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
