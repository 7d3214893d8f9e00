"""Vision objectives: each is a module that holds a timm `model` and turns a batch into a loss.

A batch has `images` (b, 3, h, w) uint8, `answers` (b, tasks), and a caption's `tokens` (b, t) with
which are `present`. Only the model is kept after training, and the head of a supervised one.
timm's models are Any.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import timm
import torch
from jaxtyping import Float, Integer, UInt8
from torch import Tensor, nn
from torch.nn import functional as F

from core.cave.tasks import FACTORS
from core.cave.training.configs import CONTEXT, VOCABULARY, Config

MEAN = STD = 0.5  # of a pixel in [0, 1]
Batch = Mapping[str, Tensor]


def build_vision(config: Config) -> nn.Module:
    model: nn.Module = timm.create_model(config.architecture, pretrained=False, **config.model)
    return model


def normalize(images: UInt8[Tensor, "b 3 h w"]) -> Float[Tensor, "b 3 h w"]:
    return (images.float() / 255 - MEAN) / STD


class Supervised(nn.Module):
    """Classification of the attributes named `tasks` by one linear layer on the pooled features.

    Loss: mean over tasks of the cross-entropy divided by log(number of classes), so that guessing
    costs 1 in each.
    """

    def __init__(self, model: Any, *, tasks: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        columns = {name: place for place, name in enumerate(FACTORS)}
        self.tasks = [columns[name] for name in tasks]
        self.classes = [len(FACTORS[name]) for name in tasks]
        self.head = nn.Linear(model.num_features, sum(self.classes))

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        return self.read(batch)[0]

    def read(self, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, "b d"]]:
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
        self.tower = make_transformer(width, depth)
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
        return pool_tokens(self.tower(rows, src_key_padding_mask=~present), present)


def pool_tokens(states: Float[Tensor, "b t d"], present: Tensor) -> Float[Tensor, "b d"]:
    weights = present.unsqueeze(2).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)


def random_view(
    images: Float[Tensor, "b 3 h w"],
    *,
    area: tuple[float, float] = (0.4, 1.0),
    side: int | None = None,
) -> Float[Tensor, "b 3 s s"]:
    """Return each image cropped to a share of its area and with other brightness, contrast and
    tint.

    area: the smallest and largest share. side: of the views in pixels, the image's own if none
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


class MaskedAutoencoder(nn.Module):
    """Masked autoencoder as published (He et al. 2022).

    The encoder sees the class token and the shown patches, the narrower decoder all tokens, with
    one learned blank in each hidden place; positions are fixed. Loss: mean squared error of the
    hidden patches, each normalized. masked: fraction of hidden patches. width, depth: of the
    decoder.
    """

    places: Tensor

    def __init__(self, model: Any, *, masked: float, width: int, depth: int) -> None:
        super().__init__()
        self.model = model
        self.patch: int = model.patch_embed.patch_size[0]
        side: int = model.patch_embed.grid_size[0]
        self.shown = side**2 - round(masked * side**2)
        places = F.pad(waves(side, model.embed_dim), (0, 0, 1, 0))[None]  # the class token has none
        model.pos_embed.requires_grad_(False).copy_(places)
        self.bridge = nn.Linear(model.embed_dim, width)
        self.blank = nn.Parameter(0.02 * torch.randn(width))
        self.register_buffer("places", waves(side, width))
        self.decoder = make_transformer(width, depth)
        self.draw = nn.Linear(width, 3 * self.patch**2)

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        images = normalize(batch["images"])
        tokens, order = _shuffled(self.model, images)
        encoded = encode(self.model, _take(tokens, order[:, : self.shown]))
        # every patch is drawn, in the given order: attention asks for places, not for an order
        first, shown = self.bridge(encoded).split([1, self.shown], dim=1)
        blanks = self.blank.expand(len(order), order.shape[1] - self.shown, -1)
        patches = torch.cat([shown, blanks], dim=1) + self.places[order]
        drawn = self.draw(self.decoder(torch.cat([first, patches], dim=1))[:, 1:])
        targets = cut_patches(images, self.patch)
        deviation = (targets.var(2, keepdim=True) + 1e-6).sqrt()  # as in the released code
        targets = (targets - targets.mean(2, keepdim=True)) / deviation
        return F.mse_loss(drawn[:, self.shown :], _take(targets, order[:, self.shown :]))


class ClassTokenAutoencoder(nn.Module):
    """Masked autoencoder whose decoder reads the class token alone (as RetroMAE does, Xiao et al.
    2022), for there the model is read out: next to the patches it would stay empty.

    Loss: mean squared error of the hidden patches, each normalized by its own mean and deviation.
    masked: fraction of hidden patches. width, depth: of the decoder.
    """

    def __init__(self, model: Any, *, masked: float, width: int, depth: int) -> None:
        super().__init__()
        self.model = model
        self.patch: int = model.patch_embed.patch_size[0]
        patches: int = model.patch_embed.num_patches
        self.shown = patches - round(masked * patches)
        self.bridge = nn.Linear(model.embed_dim, width)
        self.hidden = nn.Parameter(0.02 * torch.randn(width))
        self.place = nn.Parameter(0.02 * torch.randn(patches, width))
        self.decoder = make_transformer(width, depth)
        self.draw = nn.Linear(width, 3 * self.patch**2)

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        images = normalize(batch["images"])
        tokens, order = _shuffled(self.model, images)
        shown, hidden = order[:, : self.shown], order[:, self.shown :]
        first = self.bridge(encode(self.model, _take(tokens, shown))[:, :1])
        blanks = self.hidden + self.place[hidden]
        drawn = self.draw(self.decoder(torch.cat([first, blanks], dim=1))[:, 1:])
        targets = cut_patches(images, self.patch)
        return F.mse_loss(drawn, _take(F.layer_norm(targets, targets.shape[-1:]), hidden))


def _shuffled(
    model: Any, images: Float[Tensor, "b 3 h w"]
) -> tuple[Float[Tensor, "b n d"], Integer[Tensor, "b n"]]:
    tokens = model.patch_embed(images) + model.pos_embed[:, 1:]
    return tokens, torch.rand(tokens.shape[:2], device=tokens.device).argsort(1)


def encode(model: Any, tokens: Float[Tensor, "b n dim"]) -> Float[Tensor, "b n+1 dim"]:
    """Return what a vision transformer makes of the class token and of patches that have their
    places already.
    """
    first = (model.cls_token + model.pos_embed[:, :1]).expand(len(tokens), -1, -1)
    encoded: Tensor = model.norm(model.blocks(torch.cat([first, tokens], dim=1)))
    return encoded


def make_transformer(width: int, depth: int) -> nn.TransformerEncoder:
    block = nn.TransformerEncoderLayer(
        width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(block, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False)


def cut_patches(images: Float[Tensor, "b 3 h w"], side: int) -> Float[Tensor, "b patches pixels"]:
    return F.unfold(images, side, stride=side).transpose(1, 2)


def waves(side: int, width: int) -> Float[Tensor, "patches width"]:
    """Return fixed positions on a square grid: a quarter of `width` each for sine and cosine of the
    column, then of the row, at frequencies from 1 to nearly 1/10000.
    """
    frequencies = 10_000.0 ** (-torch.arange(width // 4) / (width // 4))
    angles = torch.arange(side)[:, None] * frequencies
    line = torch.cat([angles.sin(), angles.cos()], dim=1)
    columns, rows = line.repeat(side, 1), line.repeat_interleave(side, 0)
    return torch.cat([columns, rows], dim=1)


def _take(rows: Float[Tensor, "b n d"], places: Integer[Tensor, "b m"]) -> Float[Tensor, "b m d"]:
    return rows.gather(1, places.unsqueeze(2).expand(-1, -1, rows.shape[2]))


_LARGE, _SMALL = (0.4, 1.0), (0.15, 0.4)  # share of the image's area that a view shows
_CENTERED = 0.9  # of the center is kept at each step


class SelfDistillation(nn.Module):
    """Self-distillation of the kind of DINO (Caron et al. 2021): momentum teacher, centering,
    sharpening and views of two sizes.

    Both see two large views, the student also `small` views of a quarter of the pixels and 15 to
    40% of the area. Loss: mean cross-entropy of the student's answer to each view with the
    teacher's to another one. The teacher is published. width: of the projection. outputs: classes
    without names. momentum: what the teacher keeps of its weights at each step. temperatures: of
    student and teacher. spread: weight of `crowding`, which DINOv2 (Oquab et al. 2023) adds.
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
