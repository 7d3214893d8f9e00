"""Masked autoencoders: an encoder sees some patches, a small decoder draws the others.

Two kinds. `MaskedAutoencoder` follows He et al. 2022; `ClassTokenAutoencoder` draws from the class
token alone, since vision transformers are read out there.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.nn import functional as F

from core.training.vision import Batch, normalize


class MaskedAutoencoder(nn.Module):
    """Masked autoencoder as published (He et al. 2022).

    The encoder sees the class token and the patches that are shown, nothing of the others. The
    decoder, narrower, reads all tokens: the encoded ones, and one learned blank in each hidden
    place. Positions are fixed sines and cosines in both. Loss: mean squared error of the hidden
    patches, each normalized by its own mean and deviation. masked: fraction of hidden patches, 0.75
    in the paper. width, depth: of the decoder.
    """

    places: Tensor

    def __init__(self, model: Any, *, masked: float, width: int, depth: int) -> None:
        super().__init__()
        self.model = model
        self.patch: int = model.patch_embed.patch_size[0]
        side: int = model.patch_embed.grid_size[0]
        self.shown = side**2 - round(masked * side**2)
        model.pos_embed.requires_grad_(False).copy_(_with_class(waves(side, model.embed_dim)))
        self.bridge = nn.Linear(model.embed_dim, width)
        self.blank = nn.Parameter(0.02 * torch.randn(width))
        self.register_buffer("places", waves(side, width))
        self.decoder = make_decoder(width, depth)
        self.draw = nn.Linear(width, 3 * self.patch**2)

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        images = normalize(batch["images"])
        tokens = self.model.patch_embed(images) + self.model.pos_embed[:, 1:]
        order = torch.rand(tokens.shape[:2], device=tokens.device).argsort(1)
        encoded = encode(self.model, _take(tokens, order[:, : self.shown]))
        drawn = self._decode(encoded, order)[:, self.shown :]
        targets = cut_patches(images, self.patch)
        deviation = (targets.var(2, keepdim=True) + 1e-6).sqrt()  # as in the released code
        targets = (targets - targets.mean(2, keepdim=True)) / deviation
        return F.mse_loss(drawn, _take(targets, order[:, self.shown :]))

    def _decode(
        self, encoded: Float[Tensor, "b shown_and_class dim"], order: Integer[Tensor, "b patches"]
    ) -> Float[Tensor, "b patches pixels"]:
        """Draw every patch, in the given order: attention asks for places, not for an order."""
        first, shown = self.bridge(encoded).split([1, self.shown], dim=1)
        blanks = self.blank.expand(len(order), order.shape[1] - self.shown, -1)
        patches = torch.cat([shown, blanks], dim=1) + self.places[order]
        pixels: Tensor = self.draw(self.decoder(torch.cat([first, patches], dim=1))[:, 1:])
        return pixels


class ClassTokenAutoencoder(nn.Module):
    """Masked autoencoder whose decoder reads the class token alone (as RetroMAE does, Xiao et al.
    2022), for there the model is read out: beside the patches it would stay empty.

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
        self.decoder = make_decoder(width, depth)
        self.draw = nn.Linear(width, 3 * self.patch**2)

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        images = normalize(batch["images"])
        tokens = self.model.patch_embed(images) + self.model.pos_embed[:, 1:]
        order = torch.rand(tokens.shape[:2], device=tokens.device).argsort(1)
        shown, hidden = order[:, : self.shown], order[:, self.shown :]
        drawn = self._decode(encode(self.model, _take(tokens, shown))[:, :1], hidden)
        targets = cut_patches(images, self.patch)
        return F.mse_loss(drawn, _take(F.layer_norm(targets, targets.shape[-1:]), hidden))

    def _decode(
        self, first: Float[Tensor, "b 1 dim"], hidden: Integer[Tensor, "b hidden"]
    ) -> Float[Tensor, "b hidden pixels"]:
        blanks = self.hidden + self.place[hidden]
        pixels: Tensor = self.draw(
            self.decoder(torch.cat([self.bridge(first), blanks], dim=1))[:, 1:]
        )
        return pixels


def encode(model: Any, tokens: Float[Tensor, "b n dim"]) -> Float[Tensor, "b n+1 dim"]:
    """Return what a vision transformer makes of the class token and of patches that have their
    places already.
    """
    first = (model.cls_token + model.pos_embed[:, :1]).expand(len(tokens), -1, -1)
    encoded: Tensor = model.norm(model.blocks(torch.cat([first, tokens], dim=1)))
    return encoded


def make_decoder(width: int, depth: int) -> nn.TransformerEncoder:
    """Return a transformer of four heads that reads all tokens at once."""
    block = nn.TransformerEncoderLayer(
        width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(block, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False)


def cut_patches(images: Float[Tensor, "b 3 h w"], side: int) -> Float[Tensor, "b patches pixels"]:
    """Return the pixels of each square of `side`, row by row."""
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


def _with_class(places: Float[Tensor, "patches width"]) -> Float[Tensor, "1 tokens width"]:
    return F.pad(places, (0, 0, 1, 0))[None]


def _take(rows: Float[Tensor, "b n d"], places: Integer[Tensor, "b m"]) -> Float[Tensor, "b m d"]:
    return rows.gather(1, places.unsqueeze(2).expand(-1, -1, rows.shape[2]))
