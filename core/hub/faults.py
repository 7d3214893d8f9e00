"""What can go wrong between here and the Hugging Face hub, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.error import HTTPError, URLError

import httpx2
from huggingface_hub import constants
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

from core.errors import EncoderError, OfflineError, PlatoscopeError, StimuliError
from core.hub.repository import Repository

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
    "cannot be fetched: the hub ({endpoint}) %s; try again later, set HF_HOME to a folder whose"
    " hub/ has it, or use {instead}"
)
FOREIGN = TROUBLE % "does not answer as a hub does; HF_ENDPOINT or a proxy may be wrong"
UNREACHABLE = TROUBLE % "cannot be reached ({said})"
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
    FileMetadataError: FOREIGN,
    HfHubHTTPError: TROUBLE % "answers with error {said}",
    HTTPError: TROUBLE % "answers with error {said}",
    httpx2.TooManyRedirects: TROUBLE % "redirects without end; HF_ENDPOINT or a proxy may be wrong",
    httpx2.TimeoutException: TROUBLE % "has not answered in time",
    httpx2.ConnectError: UNREACHABLE,
    httpx2.RequestError: TROUBLE % "breaks off the connection ({said})",
    **dict.fromkeys((httpx2.InvalidURL, XetDownloadError, URLError, TimeoutError), UNREACHABLE),
    ConnectionError: UNREACHABLE,
}


def explain(
    error: BaseException, wanted: Repository, *, downloading: bool = False
) -> PlatoscopeError | None:
    """Return what an error means and what to do; None for an error that is not the hub's.

    downloading: whether nothing but the hub's library was at work, so that any error is the hub's.
    """
    each: BaseException | None = error
    while each:
        # an error of the cache that has a cause only says that the cache cannot help out
        if not (isinstance(each, LocalEntryNotFoundError) and each.__cause__):
            for kind, text in REFUSED.items():
                if isinstance(each, kind):
                    return refused(wanted, _filled(text, wanted, each))
            if isinstance(each, HfHubHTTPError) and each.response.status_code in (401, 403):
                return refused(wanted, _filled(CLOSED, wanted, each))
            for kind, text in OFFLINE.items():
                if isinstance(each, kind):
                    is_away = kind is ConnectionError and constants.is_offline_mode()
                    return _offline(AWAY if is_away else text, wanted, each)
        each = each.__cause__
    if not (downloading and isinstance(error, ODD)):
        return None
    if isinstance(error, OSError) and error.errno is not None:
        return _offline(KEPT, wanted, error)
    return _offline(TROUBLE % "sends something other than it should ({said})", wanted, error)


def refused(wanted: Repository, text: str) -> PlatoscopeError:
    kind = EncoderError if wanted.kind == "model" else StimuliError
    return kind(f"{wanted.title} {text}")


def _offline(text: str, wanted: Repository, error: BaseException) -> OfflineError:
    return OfflineError(f"{wanted.title} {_filled(text, wanted, error)}")


def _filled(text: str, wanted: Repository, error: BaseException) -> str:
    said, file = next(iter(str(error).splitlines()), type(error).__name__)[:LINE], ""
    if isinstance(error, HfHubHTTPError):
        server = error.server_message.splitlines()[0][:LINE] if error.server_message else ""
        said = f"{error.response.status_code}{server and f': {server}'}"
        file = str(error.response.url).partition("/resolve/")[2].partition("/")[2]
    elif isinstance(error, OSError) and error.strerror and not isinstance(error, URLError):
        said = error.strerror
    return text.format(
        said=said,
        file=file,
        instead=wanted.instead,
        cache=constants.HF_HUB_CACHE,
        endpoint=constants.ENDPOINT,
        revision=wanted.revision or "main",
    )
