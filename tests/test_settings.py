"""Flags win over the environment, which wins over the default."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from core.errors import DeviceError
from core.settings import choose_device, find_cuda, store_path


def test_store_path_prefers_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATOSCOPE_STORE", "from-environment")
    assert store_path("flag") == Path("flag")
    assert store_path() == Path("from-environment")
    monkeypatch.delenv("PLATOSCOPE_STORE")
    assert store_path() == Path("store")


def test_a_device_that_is_not_there_is_refused() -> None:
    missing = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(
        DeviceError,
        match=rf"device '{missing}' is not on this machine, which has .*cpu; use --device auto",
    ):
        choose_device(missing)


@pytest.mark.parametrize("given", ["cpu:", "cpu:one"])
def test_what_torch_cannot_read_is_no_device(given: str) -> None:
    with pytest.raises(
        DeviceError, match=rf"'{given}' is not a device; use one of auto, cpu, cuda, mps, or cuda:1"
    ):
        choose_device(given)


def test_auto_always_finds_one() -> None:
    assert choose_device("auto").type in {"cuda", "mps", "cpu"}
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("there", [True, False])
def test_only_a_driver_makes_torch_look_for_cuda(
    there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    monkeypatch.setattr("core.settings._has_driver", lambda: there)
    monkeypatch.setattr(
        "core.settings.choose_device", lambda name: looked.append(name) or torch.device("cuda")
    )
    assert (find_cuda("auto"), find_cuda("cpu")) == (torch.device("cuda") if there else None, None)
    assert looked == ["auto"] * there
