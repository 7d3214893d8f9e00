"""What a unit needs of a machine: cores, memory, and a part of a GPU, a whole one or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PARTS = (1 / 8, 1 / 4, 1 / 2, 1.0)  # of a GPU
BESIDES = 1.25  # times the weights: a batch in flight
CONTEXT = 2 * 2**30  # bytes of a GPU that each process takes for itself, with a small batch


@dataclass(frozen=True)
class Node:
    """One machine. name: that Ray gave it. memory: bytes that may be asked for."""

    name: str
    cpus: float
    gpus: float
    memory: float

    @classmethod
    def of(cls, name: str, resources: dict[str, float]) -> Node:
        """Return a node by what Ray calls its resources."""
        return cls(name, *(resources.get(name, 0.0) for name in ("CPU", "GPU", "memory")))


def needs_on_cpus(units: int, weights: int | None, nodes: Sequence[Node]) -> dict[str, Any]:
    """Return what Ray is asked for: as many cores as a unit gets where all run at once, and room
    for the weights.

    No more than some node has, else the unit would wait forever.
    """
    each = math.ceil(units / len(nodes))
    needs: dict[str, Any] = {"num_cpus": max(1, int(min(node.cpus for node in nodes)) // each)}
    if weights:
        needs["memory"] = int(min(BESIDES * weights, max(node.memory for node in nodes)))
    return needs


def needs_on_gpus(
    weights: int | None, nodes: Sequence[Node], *, gpu_bytes: float
) -> dict[str, Any]:
    """Return what Ray is asked for: a part of a GPU, or several where one is too small, and that
    share of a node's cores.

    weights: one GPU where they are unknown. gpu_bytes: of the smallest GPU. What no node holds
    gets all GPUs of the largest one, and spills from there.
    """
    most = max(node.gpus for node in nodes)
    share = 1.0 if weights is None else (BESIDES * weights + CONTEXT) / gpu_bytes
    gpus = next((part for part in PARTS if part >= share), float(math.ceil(share)))
    gpus = min(gpus, most)
    able = [node for node in nodes if node.gpus >= gpus]
    cpus = min(node.cpus / node.gpus for node in able) * gpus
    return {"num_gpus": gpus, "num_cpus": max(1, int(cpus))}
