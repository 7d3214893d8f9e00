"""Vision objectives: each is a module that holds a timm `model` and turns a batch into a loss.

A batch has `images` (b, 3, h, w) uint8, `answers` (b, tasks), and a caption's `tokens` (b, t) with
which are `present`. What an objective needs besides the model (decoder, text tower, projection) is
thrown away after training; the head of a supervised model is published beside it. timm's models are
typed as Any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import timm
import torch
from jaxtyping import Float, Integer, UInt8
from torch import Tensor, nn
from torch.nn import functional as F

from core.training.attributes import ATTRIBUTES
from core.training.configs import CONTEXT, VOCABULARY, Config

MEAN = STD = 0.5  # of a pixel in [0, 1]
Batch = Mapping[str, Tensor]


def build_vision(config: Config) -> nn.Module:
    """Return the config's timm model with its own initialization."""
    model: nn.Module = timm.create_model(config.architecture, pretrained=False, **config.model)
    return model


def normalize(images: UInt8[Tensor, "b 3 h w"]) -> Float[Tensor, "b 3 h w"]:
    """Return pixels as the model takes them, in [-1, 1]."""
    return (images.float() / 255 - MEAN) / STD


class Supervised(nn.Module):
    """Classification of the attributes named `tasks` by one linear layer on the pooled features.

    Loss: mean over tasks of the cross-entropy divided by log(number of classes), so that guessing
    costs 1 in each.
    """

    def __init__(self, model: Any, *, tasks: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        columns = {attribute.name: index for index, attribute in enumerate(ATTRIBUTES)}
        self.tasks = [columns[name] for name in tasks]
        self.classes = [len(ATTRIBUTES[column].classes) for column in self.tasks]
        self.head = nn.Linear(model.num_features, sum(self.classes))

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        return self.read(batch)[0]

    def read(self, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, "b d"]]:
        """Return the loss and the pooled features."""
        features = self.model(normalize(batch["images"]))
        logits = self.head(features).split(self.classes, dim=1)
        truth = batch["answers"][:, self.tasks].long().unbind(1)
        losses = [
            F.cross_entropy(row, answer) / math.log(row.shape[1])
            for row, answer in zip(logits, truth, strict=True)
        ]
        return torch.stack(losses).mean(), features


class SimCLR(nn.Module):
    """Contrastive learning of two random views of each image (Chen et al. 2020), NT-Xent at
    `temperature` after a projection.
    """

    def __init__(self, model: Any, *, temperature: float, width: int) -> None:
        super().__init__()
        self.model = model
        self.temperature = temperature
        inner = nn.Linear(model.num_features, width, bias=False)
        self.project = nn.Sequential(
            inner, nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width // 2)
        )

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        images = normalize(batch["images"])
        views = torch.cat([random_view(images), random_view(images)])
        rows = F.normalize(self.project(self.model(views)), dim=1)
        scores = (rows @ rows.T / self.temperature).fill_diagonal_(-math.inf)
        partner = torch.arange(len(rows), device=rows.device).roll(len(images))
        return F.cross_entropy(scores, partner)


class Clip(nn.Module):
    """Contrastive learning of images and captions (Radford et al. 2021) with a small text tower of
    `width` and `depth`.
    """

    def __init__(self, model: Any, *, width: int, depth: int) -> None:
        super().__init__()
        self.model = model
        self.words = nn.Embedding(VOCABULARY, width)
        self.places = nn.Parameter(0.02 * torch.randn(CONTEXT, width))
        block = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.tower = nn.TransformerEncoder(
            block, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.see = nn.Linear(model.num_features, width, bias=False)
        self.read = nn.Linear(width, width, bias=False)
        self.sharpness = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        seen = F.normalize(self.see(self.model(normalize(batch["images"]))), dim=1)
        read = F.normalize(self.read(self._text(batch["tokens"], batch["present"])), dim=1)
        scores = seen @ read.T * self.sharpness.clamp(max=math.log(100.0)).exp()
        same = torch.arange(len(scores), device=scores.device)
        return (F.cross_entropy(scores, same) + F.cross_entropy(scores.T, same)) / 2

    def _text(self, tokens: Integer[Tensor, "b t"], present: Tensor) -> Float[Tensor, "b width"]:
        rows = self.words(tokens) + self.places[: tokens.shape[1]]
        rows = self.tower(rows, src_key_padding_mask=~present)
        weights = present.unsqueeze(2).to(rows.dtype)
        means: Tensor = (rows * weights).sum(1) / weights.sum(1)
        return means


def random_view(
    images: Float[Tensor, "b 3 h w"],
    *,
    area: tuple[float, float] = (0.4, 1.0),
    side: int | None = None,
) -> Float[Tensor, "b 3 s s"]:
    """Return each image cropped to a share of its area and with other brightness, contrast and
    tint.

    area: the smallest and largest share. side: of the views in pixels, the image's own where none
    is given.
    """
    low, high = area
    count = len(images)
    uniform = torch.rand(8, count, 1, 1, 1, device=images.device) * 2 - 1
    zoom = ((low + high) / 2 + (high - low) / 2 * uniform[0]).sqrt().flatten()
    shift = (1 - zoom) * uniform[1:3].flatten(1)
    crop = torch.zeros(count, 2, 3, device=images.device)
    crop[:, 0, 0] = crop[:, 1, 1] = zoom
    crop[:, :, 2] = shift.T
    shape = [count, 3, side or images.shape[2], side or images.shape[3]]
    grid = F.affine_grid(crop, shape, align_corners=False)
    views = F.grid_sample(images, grid, padding_mode="reflection", align_corners=False)
    tint = 1 + 0.2 * uniform[4:7].transpose(0, 1).reshape(count, 3, 1, 1)
    mean = views.mean((1, 2, 3), keepdim=True)
    return ((views - mean) * (1 + 0.4 * uniform[3]) + mean) * tint + 0.3 * uniform[7]
