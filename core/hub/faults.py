"""What can go wrong between here and the Hugging Face hub, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from urllib.error import URLError

import httpx2
from huggingface_hub import constants
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)

from core.errors import EncoderError, InputError, OfflineError, PlatoscopeError, StimuliError
from core.hub.client import reason_of
from core.hub.patience import HubTroubleError
from core.hub.repository import Repository
from core.settings import hub_seconds

INCOMPLETE = "Consistency check failed"  # what the library says of a file of another size
Sentence = Callable[[Repository, BaseException], PlatoscopeError]


def explain(error: BaseException, wanted: Repository) -> PlatoscopeError | None:
    """Return what an error means and what to do; None for an error that is not the hub's."""
    for each in _chain(error):
        for kind, sentence in SENTENCES.items():
            if isinstance(each, kind) and not _is_for_its_cause(each):
                return sentence(wanted, each)
    if any(isinstance(each, FileMetadataError) for each in _contexts(error)):
        return _foreign(wanted, error)  # `datasets` says of it that there is no such data set
    if isinstance(error, OSError) and str(error).startswith(INCOMPLETE):
        return explain_download(error, wanted)
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__


def _contexts(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__ or error.__context__


def _is_for_its_cause(error: BaseException) -> bool:
    """Return whether an error only says that the cache cannot help out after another."""
    return isinstance(error, LocalEntryNotFoundError) and error.__cause__ is not None


def _trouble(wanted: Repository, reason: object) -> OfflineError:
    return OfflineError(
        f"{wanted.title} cannot be fetched: the hub ({constants.ENDPOINT}) {reason}; try again"
        f" later, set HF_HOME to a folder whose hub/ has it, or use {wanted.instead}"
    )


def _offline(wanted: Repository, _: BaseException) -> OfflineError:
    return OfflineError(
        f"{wanted.title} is not in the cache folder {constants.HF_HUB_CACHE} and the hub may not be"
        " asked: HF_HUB_OFFLINE is set; connect and unset it, set HF_HOME to a folder whose hub/"
        f" has it, or use {wanted.instead}"
    )


def refused(wanted: Repository, text: str) -> InputError:
    """Return the error of a repository that cannot be used."""
    kind = EncoderError if wanted.kind == "model" else StimuliError
    return kind(f"{wanted.title} {text}")


def _gated(wanted: Repository, _: BaseException) -> PlatoscopeError:
    return refused(
        wanted, "is gated on the hub; accept its terms there and log in with `hf auth login`"
    )


def _disabled(wanted: Repository, _: BaseException) -> PlatoscopeError:
    return refused(wanted, f"is disabled on the hub; use {wanted.instead}")


def _missing(wanted: Repository, _: BaseException) -> PlatoscopeError:
    return refused(
        wanted,
        "is neither a folder here nor on the hub; check the id, log in with `hf auth login` where"
        f" it is private, or use {wanted.instead}",
    )


def _no_revision(wanted: Repository, _: BaseException) -> PlatoscopeError:
    return refused(
        wanted, f"has no revision {wanted.revision or 'main'} on the hub; name one that it has"
    )


def _no_file(wanted: Repository, error: BaseException) -> PlatoscopeError:
    url = error.response.url if isinstance(error, HfHubHTTPError) else ""
    file = str(url).partition("/resolve/")[2].partition("/")[2]
    return refused(wanted, f"has no file {file} on the hub; check the id, or use {wanted.instead}")


def _status(wanted: Repository, error: BaseException) -> PlatoscopeError:
    assert isinstance(error, HfHubHTTPError)
    code = error.response.status_code
    said = f": {error.server_message.splitlines()[0][:200]}" if error.server_message else ""
    if code in (401, 403):
        return refused(
            wanted,
            f"is closed to you on the hub (error {code}{said}); log in with `hf auth login`, or use"
            f" {wanted.instead}",
        )
    return _trouble(wanted, f"answers with error {code}{said}")


def _foreign(wanted: Repository, _: BaseException) -> OfflineError:
    return _trouble(wanted, "does not answer as a hub does; HF_ENDPOINT or a proxy may be wrong")


def _broken_off(wanted: Repository, error: BaseException) -> OfflineError:
    assert isinstance(error, httpx2.RequestError)
    return _trouble(wanted, reason_of(error, hub_seconds()))


def _unreachable(wanted: Repository, error: BaseException) -> OfflineError:
    if constants.is_offline_mode():
        return _offline(wanted, error)
    return _trouble(wanted, f"cannot be reached ({error})")


SENTENCES: Mapping[type[BaseException], Sentence] = {  # the first kind that fits
    HubTroubleError: _trouble,
    OfflineModeIsEnabled: _offline,
    GatedRepoError: _gated,
    DisabledRepoError: _disabled,
    RepositoryNotFoundError: _missing,
    HFValidationError: _missing,
    RevisionNotFoundError: _no_revision,
    LocalEntryNotFoundError: _offline,
    EntryNotFoundError: _no_file,
    FileMetadataError: _foreign,
    HfHubHTTPError: _status,
    httpx2.RequestError: _broken_off,
    httpx2.InvalidURL: _unreachable,
    XetDownloadError: _unreachable,
    URLError: _unreachable,
    ConnectionError: _unreachable,
    TimeoutError: _unreachable,
}


def explain_download(error: BaseException, wanted: Repository) -> OfflineError:
    """Return what an error of another kind means that came up while files were fetched."""
    if isinstance(error, OSError) and error.errno is not None:
        return OfflineError(
            f"{wanted.title} cannot be kept: the cache folder {constants.HF_HUB_CACHE} cannot be"
            f" written ({error.strerror}); make room, or set HF_HOME to another folder"
        )
    text = next(iter(str(error).splitlines()), "")[:200]  # then comes advice of the library's own
    return _trouble(wanted, f"sends something other than it should ({text})")
