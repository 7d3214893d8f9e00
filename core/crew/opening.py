"""From `--on` to a crew."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager, nullcontext

from core.crew.crew import HERE, Crew
from core.crew.units import RETRIES
from core.errors import ClusterError, InputError
from core.settings import choose_device

RAY, CLUSTER = "ray", "ray://"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
FOR_WANT_OF_MEMORY = "RAY_task_oom_retries"  # which Ray counts by themselves, without end
CONNECTING = {  # seconds of the first of three attempts, and of each other at most: 9 in all
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "3",
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "3",
}


def open_crew(on: str, *, device: str) -> AbstractContextManager[Crew]:
    """Return the crew that `on` names, to be closed when the command ends: `here`, `ray` (this
    machine's cores and GPUs) or `ray://HEAD:10001` (a cluster).

    device: that units will choose. Raises InputError for another form, DeviceError for a device
    that is not here, ClusterError where Ray is missing, does not answer or has no such device.
    """
    if on == "here":
        choose_device(device)
        return nullcontext(HERE)
    if on != RAY and not on.startswith(CLUSTER):
        raise InputError(f"expected --on here, {RAY} or {CLUSTER}HEAD:10001; got {on!r}")
    _import_ray()
    from core.crew.on_ray import open_ray  # optional, and a second that others must not pay

    return open_ray("" if on == RAY else on, device=device)


def _import_ray() -> None:
    """Import Ray with the settings that it reads then; raises ClusterError where it is missing."""
    os.environ.update(QUIET)
    os.environ.setdefault(FOR_WANT_OF_MEMORY, str(RETRIES))
    for name, seconds in CONNECTING.items():
        os.environ.setdefault(name, seconds)
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        import ray  # noqa: F401 (optional)
    except ImportError as error:
        raise ClusterError(
            "--on ray needs Ray, which is not installed; pip install 'platoscope[cluster]', or"
            " leave --on out"
        ) from error
