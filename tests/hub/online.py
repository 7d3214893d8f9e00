"""Turns this process, and those that it begins, towards a hub of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.hub.server import LocalHub


def turn_to(hub: LocalHub, cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Let the hub's library here and in further processes ask that hub, and keep what it fetches
    in a cache.
    """
    template = hub.address + "/{repo_id}/resolve/{revision}/{filename}"
    patch.setattr(constants, "ENDPOINT", hub.address)
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    patch.setattr(constants, "HF_HUB_CACHE", str(cache))
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    for name, value in (
        ("HF_ENDPOINT", hub.address),
        ("HF_HUB_CACHE", str(cache)),
        ("HF_HUB_OFFLINE", "0"),
        ("HF_HUB_DISABLE_XET", "1"),
    ):
        patch.setenv(name, value)
