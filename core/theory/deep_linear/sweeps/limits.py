"""The two limits that do not commute: of small steps, and of long time.

Gradient flow is where steps are small first, at every time. SGD of any size of steps is where time
is long first. Source: Ziyin and Chuang 2025, equation 72.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from core.theory.deep_linear.descent.entropic import flow
from core.theory.deep_linear.descent.sgd import Descent, run_sgd
from core.theory.deep_linear.nets import Net
from core.theory.deep_linear.network import Weights
from core.theory.deep_linear.runs import look
from core.theory.looks import Look

UNTIL = 300.0  # time t: η times the number of steps
LOOKS = 9


def sweep_limits(nets: tuple[Net, Net], descents: Sequence[Descent]) -> Iterator[Look]:
    """Train both networks by gradient flow, then by SGD of every size of steps, and look at the
    same times.

    Figures: step, η, and 0 for gradient flow; batch; time, η times the number of steps; and those
    of `look`, none of them where a run has diverged.
    """
    times = np.geomspace(UNTIL / 1e4, UNTIL, LOOKS)
    flows = [flow(net.start, net.frame, net.world, until=UNTIL, looks=LOOKS) for net in nets]
    for time, *held in zip(times, *flows, strict=True):
        yield _look_at(nets, held, Descent(0.0, 0), float(time))
    for descent in descents:
        counts = [max(1, round(time / descent.step)) for time in times]
        runs = [run_sgd(net, descent, counts=counts) for net in nets]
        for time, *held in zip(times, *runs, strict=True):
            yield _look_at(nets, held, descent, float(time))


def _look_at(nets: tuple[Net, Net], held: Sequence[Weights], descent: Descent, time: float) -> Look:
    figures: dict[str, float | str] = {**asdict(descent), "time": time}
    if not all(weight.isfinite().all() for weights in held for weight in weights):
        return Look({**figures, "min_alignment": float("nan")})
    seen = look(nets, held, at=0)
    return Look(
        {**figures, **seen.figures, "at": round(time / descent.step) if descent.step else 0},
        seen.matrix,
    )
