"""The compiled loop of `core.questions.color.layout`. It imports numba: import this on
first use only.
"""

from __future__ import annotations

from functools import partial
from typing import no_type_check

import numpy as np

from core.pairs.loops import compiled


# sums in any order, so that four distances are taken at once: the result then varies between
# processors, by rounding
@partial(compiled, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
@no_type_check
def majorize(target, starts, iterations, tolerance, points, stresses):
    """Improve every start by Guttman transforms until one gains no more than `tolerance` or
    `iterations` are done.

    target: (n, n) dissimilarities. starts: (S, n, 3). tolerance: of the raw stress. Writes points
    (S, n, 3) and stresses (S,), each the stress of its points. Two points in one place do
    not push each other, as in the transform's definition.
    """
    n = starts.shape[1]
    x, y, z, new_x, new_y, new_z = np.empty((6, n))
    for s in range(len(starts)):
        new_x[:], new_y[:], new_z[:] = starts[s, :, 0], starts[s, :, 1], starts[s, :, 2]
        last = np.inf
        for iteration in range(iterations + 1):
            x[:], y[:], z[:] = new_x, new_y, new_z
            new_x[:], new_y[:], new_z[:] = 0.0, 0.0, 0.0
            stress = 0.0
            for i in range(n):
                sum_x = sum_y = sum_z = 0.0
                for j in range(i):
                    right, up, front = x[i] - x[j], y[i] - y[j], z[i] - z[j]
                    apart = np.sqrt(right * right + up * up + front * front)
                    stress += (apart - target[i, j]) ** 2
                    pull = target[i, j] / (apart * n) if apart > 0.0 else 0.0
                    sum_x += pull * right
                    sum_y += pull * up
                    sum_z += pull * front
                    new_x[j] -= pull * right
                    new_y[j] -= pull * up
                    new_z[j] -= pull * front
                new_x[i] += sum_x
                new_y[i] += sum_y
                new_z[i] += sum_z
            if iteration == iterations or last - stress <= tolerance:
                break
            last = stress
        points[s, :, 0], points[s, :, 1], points[s, :, 2] = x, y, z
        stresses[s] = stress
