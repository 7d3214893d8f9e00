"""What the hub answers becomes a sentence that says what to do."""

from __future__ import annotations

from urllib.error import URLError

import pytest
from huggingface_hub import errors

from core.encoders.hub import hub_errors
from core.errors import EncoderError, OfflineError


@pytest.mark.parametrize(
    ("kind", "ours", "message"),
    [
        (
            errors.LocalEntryNotFoundError,
            OfflineError,
            "m is not in the cache folder .*HF_HUB_OFFLINE.*HF_HOME.*or use a copy",
        ),
        (errors.OfflineModeIsEnabled, OfflineError, "m is not in the cache folder"),
        (URLError, OfflineError, "m is not in the cache folder"),
        (
            errors.GatedRepoError,
            EncoderError,
            "m is gated on the hub; accept its terms there and log in",
        ),
        (
            errors.RepositoryNotFoundError,
            EncoderError,
            "m is neither a folder here nor on the hub; check the id, or use a copy",
        ),
        (
            errors.RemoteEntryNotFoundError,
            EncoderError,
            "m is neither a folder here nor on the hub",
        ),
        (errors.HFValidationError, EncoderError, "m is neither a folder here nor on the hub"),
    ],
)
def test_answers_of_the_hub(kind, ours, message):
    answer = kind.__new__(kind)  # the hub's own errors want a whole response
    with pytest.raises(ours, match=message), hub_errors("m", instead="a copy"):
        raise answer


def test_other_errors_pass():
    with pytest.raises(MemoryError), hub_errors("m", instead="a copy"):
        raise MemoryError
