"""Where the work of a command is done: in this process, or on many machines through Ray."""

from __future__ import annotations

import logging
import os
import re
from contextlib import AbstractContextManager, nullcontext

from core.crew.units import HERE, RETRIES, Crew
from core.errors import ClusterError, InputError
from core.settings import choose_device

RAY = "ray"
SETTINGS = {  # which Ray reads when it is imported
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_task_oom_retries": f"{RETRIES}",  # else without end
}


def open_crew(on: str, *, device: str) -> AbstractContextManager[Crew]:
    """Return who does the work, to be closed when the command ends: `here`, `ray` (this machine's
    cores and GPUs) or `HEAD:6379` (a cluster that this machine is part of). Raise InputError for
    another form, DeviceError or ClusterError if Ray or the device is missing.
    """
    if on == "here":
        choose_device(device)
        return nullcontext(HERE)
    if on != RAY and not re.fullmatch(r"[^\s:/]+:\d{1,5}", on):
        raise InputError(f"expected --on here, {RAY} or a cluster's HEAD:6379; got {on!r}")
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        from core.crew.on_ray import open_ray  # optional, and takes a second
    except ImportError as error:
        raise ClusterError(
            "--on ray needs Ray, which is not installed; pip install 'platoscope[cluster]', or"
            " leave --on out"
        ) from error
    return open_ray("" if on == RAY else on, device=device)
