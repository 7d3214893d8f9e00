"""What can go wrong between here and the Hugging Face hub, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import URLError

from huggingface_hub import constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from core.errors import EncoderError, OfflineError

UNREACHABLE = (LocalEntryNotFoundError, OfflineModeIsEnabled, URLError, ConnectionError)


@contextmanager
def hub_errors(what: str, *, instead: str) -> Iterator[None]:
    """Say what to do when `what` cannot be fetched; `instead` is the way that needs no network.

    Raises OfflineError where the hub is out of reach, EncoderError where it does not have it or
    keeps it closed.
    """
    try:
        yield
    except UNREACHABLE as error:
        raise OfflineError(
            f"{what} is not in the cache folder {constants.HF_HUB_CACHE} and the hub cannot be"
            " reached; connect (and unset HF_HUB_OFFLINE), set HF_HOME to a folder whose hub/ has"
            f" it, or use {instead}"
        ) from error
    except GatedRepoError as error:
        raise EncoderError(
            f"{what} is gated on the hub; accept its terms there and log in with `hf auth login`"
        ) from error
    except (RepositoryNotFoundError, EntryNotFoundError, HFValidationError) as error:
        raise EncoderError(
            f"{what} is neither a folder here nor on the hub; check the id, or use {instead}"
        ) from error
