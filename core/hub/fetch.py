"""Fetching files of the hub, or finding them in its cache. Timeouts and retries are those of its
library: HF_HUB_DOWNLOAD_TIMEOUT, HF_HUB_ETAG_TIMEOUT.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx2
from huggingface_hub import (
    HfApi,
    constants,
    hf_hub_download,
    set_client_factory,
    snapshot_download,
    try_to_load_from_cache,
)
from huggingface_hub.errors import (
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
)
from huggingface_hub.utils._http import hf_request_event_hook

from core.errors import PlatoscopeError
from core.hub.faults import explain
from core.hub.repository import Repository
from core.settings import check_readable

README = "README.md"


@cache
def _limit_requests() -> None:
    """Let no request wait for ever: the library asks the hub's API without a timeout."""

    def limit(request: httpx2.Request) -> None:
        limits = request.extensions.get("timeout", {})
        timeout = {step: limits[step] or constants.HF_HUB_DOWNLOAD_TIMEOUT for step in limits}
        request.extensions = {**request.extensions, "timeout": timeout}

    hooks = {"request": [hf_request_event_hook, limit]}
    set_client_factory(
        lambda: httpx2.Client(event_hooks=hooks, follow_redirects=True, timeout=None)
    )


@contextmanager
def asking(wanted: Repository, *, downloading: bool = False) -> Iterator[None]:
    """Ask the hub for something; what goes wrong is a sentence that says what to do. downloading:
    see `explain`.

    Raises OfflineError if the hub is out of reach or does not answer as it should; EncoderError for
    a model, StimuliError for a dataset, that it does not have or keeps closed; InputError if the
    store is only shown: then the hub is not asked.
    """
    check_readable(wanted.title)
    _limit_requests()
    try:
        yield
    except PlatoscopeError:
        raise
    except Exception as error:  # of any library that asks
        if sentence := explain(error, wanted, downloading=downloading):
            raise sentence from error
        raise


def fetch_snapshot(wanted: Repository, patterns: Sequence[str]) -> Path:
    """Return the folder of a repository's files that match any of the patterns, named by its
    commit; raises as `asking`.
    """
    with asking(wanted, downloading=True):
        folder = snapshot_download(
            wanted.id,
            repo_type=wanted.kind,
            revision=wanted.revision,
            allow_patterns=list(patterns),
        )
        return Path(folder)


def fetch_file(wanted: Repository, name: str) -> Path:
    """Return the path of a file of a repository in the cache, in a folder named by its commit;
    raises as `asking`.
    """
    with asking(wanted, downloading=True):
        return Path(
            hf_hub_download(wanted.id, name, repo_type=wanted.kind, revision=wanted.revision)
        )


def commit_of(wanted: Repository) -> str | None:
    """Return the commit that a repository's revision stands for now, or did when it was fetched;
    None if neither the hub nor its cache says. To be called within `asking`.
    """
    kind, revision = wanted.kind, wanted.revision
    try:
        file = hf_hub_download(wanted.id, README, repo_type=kind, revision=revision)
        return Path(file).parent.name
    except RemoteEntryNotFoundError:
        return HfApi().repo_info(wanted.id, repo_type=kind, revision=revision).sha
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        return None


def cached(wanted: Repository, file: str) -> Path | None:
    """Return the path of a file of a repository on this machine, None if it is not there."""
    path = try_to_load_from_cache(wanted.id, file, revision=wanted.revision, repo_type=wanted.kind)
    return Path(path) if isinstance(path, str) else None
