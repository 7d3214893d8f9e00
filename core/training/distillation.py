"""Self-distillation without labels: a student learns to say of each view of an image what its own
running mean says of another.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import product
from typing import Any

import timm
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from core.training.vision import Batch, normalize, random_view

_LARGE, _SMALL = (0.4, 1.0), (0.15, 0.4)  # share of the image's area that a view shows
_CENTERED = 0.9  # of the center is kept at each step


class SelfDistillation(nn.Module):
    """Self-distillation of the kind of DINO (Caron et al. 2021): momentum teacher, centering,
    sharpening and views of two sizes.

    Both see two large views, the student `small` views of a quarter of the pixels as well. Loss:
    mean cross-entropy of the student's answer to each view with the teacher's to another one, which
    is centered by a running mean and sharpened. As in the paper it is the teacher that is
    published. Since an image has 48 pixels a side, a small view shows 15 to 40 % of its area, not 5
    to 40. width: of the projection. outputs: classes that nobody names. momentum: what the teacher
    keeps of itself at each step, constant. temperatures: of student and teacher. spread: weight of
    `crowding`, which DINOv2 (Oquab et al. 2023) adds.
    """

    center: Tensor

    def __init__(
        self,
        model: Any,
        *,
        width: int,
        outputs: int,
        small: int,
        momentum: float,
        temperatures: Sequence[float],
        spread: float,
    ) -> None:
        super().__init__()
        self.small, self.momentum, self.spread = small, momentum, spread
        self.student_heat, self.teacher_heat = temperatures
        self.side: int = model.patch_embed.img_size[0]
        self.student = copy.deepcopy(model)
        self.head = Prototypes(model.embed_dim, width, outputs)
        self.model = model.requires_grad_(False)
        self.teacher_head = copy.deepcopy(self.head).requires_grad_(False)
        self.register_buffer("center", torch.zeros(outputs))

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        self._follow()
        images = normalize(batch["images"])
        large = torch.cat([random_view(images, area=_LARGE) for _ in range(2)])
        small = [random_view(images, area=_SMALL, side=self.side // 2) for _ in range(self.small)]
        with torch.no_grad():
            taught = self.teacher_head(read_class(self.model, large))
        tokens = read_class(self.student, large)
        answers = [
            *self.head(tokens).chunk(2),
            *self.head(read_class(self.student, torch.cat(small))).chunk(self.small),
        ]
        loss = distill(
            [answer / self.student_heat for answer in answers],
            [(target - self.center) / self.teacher_heat for target in taught.chunk(2)],
        )
        self.center.lerp_(taught.mean(0), 1 - _CENTERED)
        crowded = [crowding(view) for view in tokens.chunk(2)]
        return loss + self.spread * torch.stack(crowded).sum()

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the teacher towards the student that the last step has left."""
        pairs = ((self.model, self.student), (self.teacher_head, self.head))
        for teacher, student in pairs:
            for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                slow.lerp_(fast, 1 - self.momentum)


class Prototypes(nn.Module):
    """Projects features and scores them by their cosines with `outputs` learned directions."""

    def __init__(self, features: int, width: int, outputs: int) -> None:
        super().__init__()
        self.project = nn.Sequential(
            nn.Linear(features, width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Linear(width, width // 2),
        )
        self.directions = nn.Parameter(torch.randn(outputs, width // 2))

    def forward(self, features: Float[Tensor, "b d"]) -> Float[Tensor, "b outputs"]:
        return F.normalize(self.project(features), dim=1) @ F.normalize(self.directions, dim=1).T


def distill(
    answers: Sequence[Float[Tensor, "b outputs"]], targets: Sequence[Float[Tensor, "b outputs"]]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of each view's answer with each target, both as logits; a
    target is of the answer's view of the same number, and the two are not compared.
    """
    chances = [target.softmax(1) for target in targets]
    logs = [answer.log_softmax(1) for answer in answers]
    pairs = [
        -(chances[i] * logs[j]).sum(1).mean()
        for i, j in product(range(len(targets)), range(len(answers)))
        if i != j
    ]
    return torch.stack(pairs).mean()


def crowding(rows: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
    """Return the mean of −log of each row's distance to the nearest other one, of rows of length
    1: an estimate of how far they are from spreading evenly (KoLeo, Sablayrolles et al. 2019).
    """
    rows = F.normalize(rows, dim=1)
    with torch.no_grad():
        nearest = (rows @ rows.T).fill_diagonal_(-1).argmax(1)
    return -(F.pairwise_distance(rows, rows[nearest], eps=1e-8) + 1e-8).log().mean()


def read_class(model: Any, views: Float[Tensor, "b 3 h w"]) -> Float[Tensor, "b d"]:
    """Return the class token of a vision transformer for views of any size, whose positions are
    interpolated from the model's own.
    """
    grid = model.patch_embed.proj(views)
    places = timm.layers.resample_abs_pos_embed(
        model.pos_embed, list(grid.shape[2:]), num_prefix_tokens=1
    )
    first = model.cls_token.expand(len(views), -1, -1)
    tokens = torch.cat([first, grid.flatten(2).transpose(1, 2)], dim=1) + places
    token: Tensor = model.norm(model.blocks(tokens))[:, 0]
    return token
