"""What the simulations share: one thread, and descent on any smooth objective over matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from core.errors import TrainingError

Matrix = Float64[Tensor, "_ _"]
Objective = Callable[[Sequence[Matrix]], Tensor]
MOST_STEPS = 1500  # of L-BFGS
_SETTLED = 1e-10  # relative change between two looks below which nothing moves any more


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Compute with one thread: matrices are so small that several would wait for each other."""
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    with ThreadpoolController().limit(limits=1):
        yield


def descend(
    weights: Sequence[Matrix], objective: Objective, *, every: int = 25
) -> Iterator[list[Matrix]]:
    """Minimize an objective by L-BFGS; yield the weights every so many steps until nothing moves.

    Raises TrainingError if the objective stops being a number.
    """
    moving = [weight.clone().requires_grad_() for weight in weights]
    solver = torch.optim.LBFGS(
        moving,
        max_iter=every,
        history_size=60,
        tolerance_grad=0.0,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def evaluate() -> Tensor:
        solver.zero_grad()
        value = objective(moving)
        value.backward()
        return value

    last = np.inf
    for _ in range(MOST_STEPS // every):
        value = float(solver.step(evaluate).detach())  # before these steps
        if not np.isfinite(value):
            raise TrainingError(
                "the loss is no longer a number; start from smaller weights, or take a smaller step"
            )
        yield [weight.detach().clone() for weight in moving]
        if last - value <= _SETTLED * abs(value):
            return
        last = value
