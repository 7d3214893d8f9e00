"""Where the store is and which device computes: from flags and the environment."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import DeviceError, InputError, ReadOnlyError

if TYPE_CHECKING:
    import torch

CHECKOUT = Path(__file__).resolve().parent.parent
INSTALLED = CHECKOUT / "platoscope_app"  # in a wheel, see setup.py
ROOT = INSTALLED if INSTALLED.is_dir() else CHECKOUT  # where app.py, pages/ and data/ are
CAVE_WEIGHTS = ROOT / "data" / "cave"
DEMO_ANSWERS = ROOT / "data" / "demo.tar.xz"
WORKERS = "PLATOSCOPE_WORKERS"
READ_ONLY = "PLATOSCOPE_READ_ONLY"
DEVICES = ("auto", "cpu", "cuda", "mps")


def store_path(path: str | Path | None = None) -> Path:
    """Return the store's folder: the flag, else PLATOSCOPE_STORE, else ./store."""
    return expand(path or os.environ.get("PLATOSCOPE_STORE") or "store")


def expand(path: str | Path) -> Path:
    """Return a path in which `~` is the user's home, unchanged for an unknown user."""
    return Path(os.path.expanduser(path))  # Path.expanduser raises RuntimeError


def picture_workers() -> int | None:
    """Return how many processes prepare pictures: PLATOSCOPE_WORKERS, else None for as many as suit
    the device; raises InputError for what is no whole number from 0 on.
    """
    text = os.environ.get(WORKERS, "")
    if text and not text.isdecimal():
        raise InputError(f"{WORKERS} must be a whole number of processes, 0 for none, got {text!r}")
    return int(text) if text else None


def is_read_only() -> bool:
    """Return whether the store is read-only, PLATOSCOPE_READ_ONLY being 1; raises InputError for
    what is neither 0 nor 1, so that no slip of the pen opens it.
    """
    text = os.environ.get(READ_ONLY) or "0"
    if text not in ("0", "1"):
        raise InputError(f"{READ_ONLY} must be 1, or 0 for a store that may change, got {text!r}")
    return text == "1"


def check_writable(what: object) -> None:
    """Raise ReadOnlyError if the store is read-only. what: would be written."""
    if is_read_only():
        raise ReadOnlyError(
            f"{what} is not written: this store is read-only; start the dashboard without"
            f" --read-only, or unset {READ_ONLY}"
        )


def check_readable(what: str) -> None:
    """Raise InputError if the store is read-only: visitors see what it holds, and nothing else
    of its server. what: they named, a file or a model of the hub.
    """
    if is_read_only():
        raise InputError(
            f"{what} is not read: this dashboard only shows a store (--read-only); choose what the"
            " store holds"
        )


@cache
def _has_driver() -> bool:
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True


def find_cuda(name: str) -> torch.device | None:
    """Return the CUDA device that `name` means, None if it means another one. Without a driver for
    one, torch is not imported, which takes two seconds and 500 MB.
    """
    if name == "cpu" or (name == "auto" and not _has_driver()):
        return None
    device = choose_device(name)
    return device if device.type == "cuda" else None


def choose_device(name: str = "auto") -> torch.device:
    """Return the torch device for `name` in DEVICES (also `cuda:1`); `auto` takes CUDA, then MPS,
    then the CPU.

    Raises DeviceError where that device is not on this machine.
    """
    import torch  # two seconds that readers of settings must not pay

    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if name == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if present[name]))
    if not present.get(name.partition(":")[0], False):
        have = ", ".join(name for name, there in present.items() if there)
        raise DeviceError(
            f"device {name!r} is not on this machine, which has {have}; use --device auto"
        )
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceError(
            f"{name!r} is not a device; use one of {', '.join(DEVICES)}, or cuda:1"
        ) from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(
            f"there is no {name}; this machine has {torch.cuda.device_count()} CUDA devices,"
            " counted from 0"
        )
    return device
