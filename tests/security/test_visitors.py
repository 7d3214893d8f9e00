"""Visitors name only what SECURITY.md allows."""

from __future__ import annotations

import pytest

from core.errors import InputError
from pages._parts.library import add_dataset


def test_the_form_of_the_hub_takes_no_local_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(add_dataset, "pick_option", lambda *_, **__: str(tmp_path))
    with pytest.raises(InputError, match=r"got '/.*; for a local folder .* in a terminal"):
        add_dataset._pick_hub()
