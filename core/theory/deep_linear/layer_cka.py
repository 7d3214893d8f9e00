"""How alike two layers of deep linear networks are, over all inputs at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from core.errors import MetricError
from core.theory.deep_linear.world import Matrix, root


def linear_cka(x: Matrix, y: Matrix, *, of_x: Matrix, of_y: Matrix, between: Matrix) -> float:
    """Return linear CKA without centering of two layers, its expectation over all pairs of inputs.

        CKA = ‖T_x E[x yᵀ] T_yᵀ‖² / (‖T_x E[x xᵀ] T_xᵀ‖ ‖T_y E[y yᵀ] T_yᵀ‖)

    x, y: the maps T from input to layer. of_x, of_y, between: second moments of the inputs that the
    two networks see, and of both together. Range [0, 1], higher is more aligned. Raises MetricError
    for a layer that is 0 for every input. Source: Kornblith et al. 2019, as the kernel alignment of
    Ziyin and Chuang 2025, definition 1.
    """
    sizes = [
        torch.linalg.matrix_norm(layer @ moment @ layer.T)
        for layer, moment in ((x, of_x), (y, of_y))
    ]
    if min(sizes) == 0:
        raise MetricError("a layer that is 0 for every input has no representation to align")
    return float((x @ between @ y.T).square().sum() / (sizes[0] * sizes[1]))


def align_layers(maps: Sequence[Matrix], others: Sequence[Matrix], moment: Matrix) -> torch.Tensor:
    """Return linear CKA of every layer (rows) with every layer of `others` (columns), where all see
    the same inputs.
    """
    root_moment = root(moment)
    left, right = ([layer @ root_moment for layer in layers] for layers in (maps, others))
    eye = torch.eye(len(moment), dtype=torch.float64)
    scores = [[linear_cka(x, y, of_x=eye, of_y=eye, between=eye) for y in right] for x in left]
    return torch.tensor(scores, dtype=torch.float64)


def disproportion(x: Matrix, y: Matrix) -> float:
    """Return how far two layers are from definition 1: the least ‖c G_x − G_y‖ / ‖G_y‖ over c, with
    G = TᵀT.

    Then c h_x(a)ᵀ h_x(b) = h_y(a)ᵀ h_y(b) for all inputs a and b just where it is 0. Range [0, 1],
    lower is more aligned. Source: Ziyin and Chuang 2025, equation 1.
    """
    first, second = (layer.T @ layer for layer in (x, y))
    first, second = (gram / torch.linalg.matrix_norm(gram) for gram in (first, second))
    return float(torch.linalg.matrix_norm(second - (first * second).sum() * first))
