"""Devices take jobs in turn: one job at a time on each.

A machine has a lane for the CPU and one for each CUDA device. Without CUDA the CPU's lane takes
every job; with it, jobs that name no device go to the first CUDA device that is free. A cluster has
lanes for any job: which device is free there, it knows itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from core.settings import cluster_address

COUNT = "import torch; print(torch.cuda.device_count())"
ANY = "auto"
ON_CLUSTER = "cluster"
MOST_ON_CLUSTER = 16  # jobs at once
VISIBLE = "CUDA_VISIBLE_DEVICES"


def named_device(words: Sequence[str]) -> str:
    """Return the device that the words of a command name, `auto` where they name none."""
    for word, after in zip(words, [*words[1:], ANY], strict=True):
        option, _, value = word.partition("=")
        if option == "--device":
            return value or after
    return ANY


def count_gpus() -> int:
    """Return how many CUDA devices this machine has."""
    if shutil.which("nvidia-smi") is None:
        return 0
    # torch in a process of its own: the worker stays small
    answer = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True)
    return int(answer.stdout) if answer.returncode == 0 else 0


def find_lanes() -> list[str]:
    """Return the lanes of the cluster that the settings name, else those of this machine."""
    if cluster_address():
        return [f"{ON_CLUSTER} {number}" for number in range(1, MOST_ON_CLUSTER + 1)]
    return lanes(count_gpus())


def lanes(gpus: int) -> list[str]:
    """Return the lanes of a machine with so many CUDA devices."""
    return ["cpu", *(f"cuda:{index}" for index in range(gpus))]


def takes(lane: str, device: str, lanes: Sequence[str]) -> bool:
    """Return whether one of the lanes takes jobs of a device; each device has one that does."""
    if is_on_cluster(lane):
        return True
    if len(lanes) == 1 or device == "cpu":
        return lane == "cpu"
    if device in lanes:
        return lane == device
    if device in (ANY, "cuda"):
        return lane != "cpu"
    return lane == "cuda:0"  # a device that is not there: the command says so


def is_on_cluster(lane: str) -> bool:
    """Return whether a lane is that of a cluster."""
    return lane.startswith(ON_CLUSTER)


def visible(lane: str, device: str) -> dict[str, str]:
    """Return the environment in which a job that may take any CUDA device sees its lane's alone."""
    if not lane.startswith("cuda:") or device not in (ANY, "cuda"):
        return {}
    index = lane.partition(":")[2]
    names = os.environ.get(VISIBLE, "").split(",")  # where the worker itself sees some alone
    return {VISIBLE: names[int(index)] if names[0] else index}
