"""Fetching files of the hub, or finding them in its cache; what goes wrong is a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.error import HTTPError, URLError

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
    DisabledRepoError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)
from huggingface_hub.utils._http import hf_request_event_hook

from core.errors import EncoderError, OfflineError, PlatoscopeError, StimuliError
from core.hub.repository import Repository
from core.settings import check_readable

README = "README.md"
LINE = 200  # characters of what a library or a server says
ODD = (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError)  # of odd answers

MISSING = (
    "is neither a folder here nor on the hub; check the id, log in with `hf auth login` if it is"
    " private, or use {instead}"
)
CLOSED = "is closed to you on the hub (error {said}); log in with `hf auth login`, or use {instead}"
AWAY = (
    "is not in the cache folder {cache} and the hub may not be asked: HF_HUB_OFFLINE is set;"
    " connect and unset it, set HF_HOME to a folder whose hub/ has it, or use {instead}"
)
TROUBLE = (
    "cannot be fetched: the hub ({endpoint}) cannot be reached or does not answer as it should"
    " ({said}); try again later, set HF_HOME to a folder whose hub/ has it, or use {instead}"
)
KEPT = (
    "cannot be kept: the cache folder {cache} cannot be written ({said}); make room, or set HF_HOME"
    " to another folder"
)
# the first kind that fits decides; what a model or dataset is refused for, then what keeps the hub
REFUSED: Mapping[type[BaseException], str] = {
    GatedRepoError: "is gated on the hub; accept its terms there and log in with `hf auth login`",
    DisabledRepoError: "is disabled on the hub; use {instead}",
    RepositoryNotFoundError: MISSING,
    HFValidationError: MISSING,
    RevisionNotFoundError: "has no revision {revision} on the hub; name one that it has",
    RemoteEntryNotFoundError: "has no file {file} on the hub; check the id, or use {instead}",
}
OFFLINE: Mapping[type[BaseException], str] = {
    OfflineModeIsEnabled: AWAY,
    LocalEntryNotFoundError: AWAY,
    **dict.fromkeys((FileMetadataError, HfHubHTTPError, HTTPError, URLError), TROUBLE),
    **dict.fromkeys((httpx2.TooManyRedirects, httpx2.RequestError, httpx2.InvalidURL), TROUBLE),
    **dict.fromkeys((XetDownloadError, TimeoutError, ConnectionError), TROUBLE),
}


@cache
def _limit_requests() -> None:
    """Give each request a timeout: the library asks the hub's API without one."""

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
    """Ask the hub for something. downloading: see `explain`.

    Raise OfflineError if the hub is out of reach or does not answer as it should; EncoderError for
    a model, StimuliError for a dataset, that it does not have or keeps closed; InputError if the
    store is read-only.
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
    commit; raise as `asking`.
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
    """Return the path of a file, in a folder named by its commit; raise as `asking`."""
    with asking(wanted, downloading=True):
        return Path(
            hf_hub_download(wanted.id, name, repo_type=wanted.kind, revision=wanted.revision)
        )


def commit_of(wanted: Repository) -> str | None:
    """Return the commit of a repository's revision now, or when it was fetched; None if neither the
    hub nor its cache says. To be called within `asking`.
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


def explain(
    error: BaseException, wanted: Repository, *, downloading: bool = False
) -> PlatoscopeError | None:
    """Return what an error means and what to do; None for an error that is not the hub's.
    downloading: whether only the hub's library was at work, so that any error is the hub's.
    """
    refused = EncoderError if wanted.kind == "model" else StimuliError
    each: BaseException | None = error
    while each:
        is_closed = isinstance(each, HfHubHTTPError) and each.response.status_code in (401, 403)
        # an error of the cache that has a cause only says that the cache cannot help out
        if not (isinstance(each, LocalEntryNotFoundError) and each.__cause__):
            if text := _text_of(each, REFUSED) or CLOSED * is_closed:
                return refused(_filled(text, wanted, each))
            if text := _text_of(each, OFFLINE):
                return OfflineError(_filled(text, wanted, each))
        each = each.__cause__
    if not (downloading and isinstance(error, ODD)):
        return None
    is_full = isinstance(error, OSError) and error.errno is not None
    return OfflineError(_filled(KEPT if is_full else TROUBLE, wanted, error))


def _text_of(error: BaseException, texts: Mapping[type[BaseException], str]) -> str:
    kind = next((kind for kind in texts if isinstance(error, kind)), None)
    is_away = kind is ConnectionError and constants.is_offline_mode()
    return AWAY if is_away else texts[kind] if kind else ""


def _filled(text: str, wanted: Repository, error: BaseException) -> str:
    said, file = next(iter(str(error).splitlines()), type(error).__name__)[:LINE], ""
    if isinstance(error, HfHubHTTPError):
        server = error.server_message.splitlines()[0][:LINE] if error.server_message else ""
        said = f"{error.response.status_code}{server and f': {server}'}"
        file = str(error.response.url).partition("/resolve/")[2].partition("/")[2]
    elif isinstance(error, OSError) and error.strerror and not isinstance(error, URLError):
        said = error.strerror
    said = text.format(
        said=said,
        file=file,
        instead=wanted.instead,
        cache=constants.HF_HUB_CACHE,
        endpoint=constants.ENDPOINT,
        revision=wanted.revision or "main",
    )
    return f"{wanted.title} {said}"
