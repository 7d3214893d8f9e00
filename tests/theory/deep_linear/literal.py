"""A slow oracle of deep linear networks: plain numbers and loops, gradients by hand from the note's
equations.

An expectation over normal inputs and noise is a sum over the nodes of Gauss and Hermite, exact for
the polynomials of these networks. Nothing here is imported from what it tests.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

Rows = list[list[float]]


def rows_of(matrix) -> Rows:
    return [[float(value) for value in row] for row in matrix]


def times(matrix: Rows, vector: list[float]) -> list[float]:
    return [sum(entry * value for entry, value in zip(row, vector, strict=True)) for row in matrix]


def turned(matrix: Rows) -> Rows:
    return [list(column) for column in zip(*matrix, strict=True)]


def root_of(matrix: Rows) -> Rows:
    values, vectors = np.linalg.eigh(np.array(matrix))
    return rows_of(vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T)


def samples(world, *, x_nodes: int, noise_nodes: int) -> Iterator[tuple[float, list, list]]:
    """Yield weight, x and y of every node; y = V x + C (z² − 1) / √2 + ε."""
    curve = 0 * world.target if world.curve is None else world.curve
    of_x, of_noise, target = (
        root_of(rows_of(world.inputs)),
        root_of(rows_of(world.noise)),
        rows_of(world.target),
    )
    nodes = [np.polynomial.hermite_e.hermegauss(count) for count in (x_nodes, noise_nodes)]
    of_z, of_e = (
        list(zip(points, weights / math.sqrt(2 * math.pi), strict=True))
        for points, weights in nodes
    )
    for zs in itertools.product(of_z, repeat=len(of_x)):
        z = [point for point, _ in zs]
        x = times(of_x, z)
        bent = times(rows_of(curve), [(value**2 - 1) / math.sqrt(2) for value in z])
        clean = [sum(both) for both in zip(times(target, x), bent, strict=True)]
        for es in itertools.product(of_e, repeat=len(of_noise)):
            weight = math.prod(share for _, share in (*zs, *es))
            missed = times(of_noise, [point for point, _ in es])
            yield weight, x, [a + b for a, b in zip(clean, missed, strict=True)]


def gradients(weights: list[Rows], before: Rows, after: Rows, x, y) -> tuple[float, list[Rows]]:
    """Return the loss of one sample and its gradient by every matrix, by hand: ∇_{W_i} ℓ = 2 g^i
    h^{i−1}ᵀ, with g^D = M^Oᵀ (f − y) and g^{i−1} = W_iᵀ g^i.
    """
    hidden = [times(before, x)]
    for weight in weights:
        hidden.append(times(weight, hidden[-1]))
    error = [value - label for value, label in zip(times(after, hidden[-1]), y, strict=True)]
    back = times(turned(after), error)
    found: list[Rows] = []
    for weight, layer in zip(reversed(weights), reversed(hidden[:-1]), strict=True):
        found.insert(0, [[2 * g * h for h in layer] for g in back])
        back = times(turned(weight), back)
    return sum(value**2 for value in error), found


def moments(weights, net) -> tuple[float, float, list[tuple[np.ndarray, np.ndarray]]]:
    """Return loss, entropy, and for every hidden layer E[∇W_i ∇W_iᵀ] and E[∇W_{i+1}ᵀ ∇W_{i+1}]."""
    plain = [rows_of(weight) for weight in weights]
    before, after = rows_of(net.before), rows_of(net.after)
    loss = entropy = 0.0
    sides = [[np.zeros((len(w), len(w))) for _ in range(2)] for w in plain[:-1]]
    for share, x, y in samples(net.world, x_nodes=4, noise_nodes=2):
        value, found = gradients(plain, before, after, x, y)
        loss += share * value
        entropy += share * sum(entry**2 for one in found for row in one for entry in row)
        for i, (inward, outward) in enumerate(sides):
            for j, k in itertools.product(range(len(inward)), repeat=2):
                inward[j, k] += share * sum(
                    a * b for a, b in zip(found[i][j], found[i][k], strict=True)
                )
                outward[j, k] += share * sum(row[j] * row[k] for row in found[i + 1])
    return loss, entropy, [(inward, outward) for inward, outward in sides]


def descend(weights, net, xs, ys, *, step: float, batch: int) -> list[Rows]:
    """Return the weights after one step of SGD for each batch of inputs and labels."""
    moving = [rows_of(weight) for weight in weights]
    before, after = rows_of(net.before), rows_of(net.after)
    for inputs, labels in zip(xs, ys, strict=True):
        change = [[[0.0] * len(row) for row in weight] for weight in moving]
        for x, y in zip(inputs, labels, strict=True):
            _, found = gradients(moving, before, after, x, y)
            for total, one in zip(change, found, strict=True):
                for place, row in itertools.product(range(len(one)), range(len(one[0]))):
                    total[place][row] += one[place][row] / batch
        for weight, total in zip(moving, change, strict=True):
            for place, row in itertools.product(range(len(weight)), range(len(weight[0]))):
                weight[place][row] -= step * total[place][row]
    return moving


def cka(first: Rows, second: Rows, between, of_first, of_second) -> float:
    """Return linear CKA of two layers' maps: ‖E[h_a h_bᵀ]‖² / (‖E[h_a h_aᵀ]‖ ‖E[h_b h_bᵀ]‖), entry
    by entry.
    """

    def square(x: Rows, y: Rows, moment) -> float:
        total = 0.0
        for row, other in itertools.product(x, y):
            entry = sum(
                row[i] * float(moment[i][j]) * other[j]
                for i, j in itertools.product(range(len(row)), range(len(other)))
            )
            total += entry**2
        return total

    sizes = square(first, first, of_first) * square(second, second, of_second)
    return square(first, second, between) / math.sqrt(sizes)
