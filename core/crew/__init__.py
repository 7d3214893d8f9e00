"""Where the work of a command is done: in this process, or on many machines through Ray."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager, nullcontext

from core.crew.units import HERE, RETRIES, Crew
from core.errors import ClusterError, InputError
from core.settings import choose_device

RAY, CLUSTER = "ray", "ray://"
SETTINGS = {  # which Ray reads when it is imported
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_task_oom_retries": f"{RETRIES}",  # else without end
    # seconds of the first of three attempts to connect, and of each other at most: 9 in all
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "3",
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "3",
}


def open_crew(on: str, *, device: str) -> AbstractContextManager[Crew]:
    """Return who does the work, to be closed when the command ends: `here`, `ray` (this machine's
    cores and GPUs) or `ray://HEAD:10001` (a cluster). Raise InputError for another form,
    DeviceError or ClusterError if Ray or the device is missing.
    """
    if on == "here":
        choose_device(device)
        return nullcontext(HERE)
    if on != RAY and not on.startswith(CLUSTER):
        raise InputError(f"expected --on here, {RAY} or {CLUSTER}HEAD:10001; got {on!r}")
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
