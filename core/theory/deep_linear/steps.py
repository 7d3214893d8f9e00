"""The compiled loop behind `run_sgd`. It imports numba: import this on first use only."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from core.pairs.loops import compiled


@compiled
@no_type_check
def take_steps(weights, before, after, inputs, labels, step):
    """Take one step for each batch of inputs (steps, batch, d) and labels (steps, batch, c);
    changes `weights` (D, m, m), padded with zeros.
    """
    depth, width, _ = weights.shape
    hidden = np.zeros((depth + 1, width))
    errors = np.zeros((depth + 1, width))
    change = np.zeros_like(weights)
    for t in range(len(inputs)):
        change[:] = 0.0
        for b in range(inputs.shape[1]):
            hidden[0, : before.shape[0]] = before @ inputs[t, b]
            for i in range(depth):
                hidden[i + 1] = weights[i] @ hidden[i]
            missed = after @ hidden[depth, : after.shape[1]] - labels[t, b]
            errors[depth, : after.shape[1]] = 2.0 * (after.T @ missed)
            for i in range(depth - 1, -1, -1):
                change[i] += np.outer(errors[i + 1], hidden[i])
                errors[i] = weights[i].T @ errors[i + 1]
        weights -= step / inputs.shape[1] * change
