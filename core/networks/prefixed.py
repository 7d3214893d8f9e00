"""A frozen causal language model that reads vectors before a text, such as an image's.

    prefix = A (v − v̄) + c in the place of word embeddings

v is a token of a frozen vision model, v̄ its mean over images, c what no image changes, both by
place. Nothing but A and c is trained. Source: Merullo, Castricato, Eickhoff, Pavlick 2023 (a linear
map from images to a language model's input); Koh, Salakhutdinov, Fried 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import torch
from jaxtyping import Float, Int
from PIL.Image import Image
from torch import Tensor, nn
from torch.nn import functional as F

from core.encoders.language.encoder import LanguageEncoder, pad
from core.encoders.vision import VisionEncoder, has_class_token
from core.errors import EncoderError
from core.files.texts import Json

Tokens = Sequence[Sequence[int]]
Prefix = Float[Tensor, "batch length width"]
Seen = Float[Tensor, "batch length _"]  # what a vision model makes of images, token by token


PLACES = 64  # features of a place


class ImagePrefix(nn.Module):
    """One linear map from a vision model's tokens to word embeddings, the same at every place, and
    next to it what a prefix does without an image.

    seen: tokens that are to be read; each feature is set against its mean at the place, and scaled.
    words: the language model's word embeddings; the prefix is learned in units of their mean and
    spread. The map begins at 0, so that it begins and can end as the best prefix
    without one. That is learned as a map too, from random features of the places: free vectors
    would be learned more slowly than A, and images credited with what is late in them.
    """

    middle: Tensor
    spread: Tensor
    places: Tensor
    word_middle: Tensor
    word_spread: Tensor

    def __init__(
        self, seen: Seen, words: Float[Tensor, "vocabulary width"], dice: torch.Generator
    ) -> None:
        super().__init__()
        _, length, features = seen.shape
        middle = seen.mean(0)
        spread = (seen - middle).flatten(0, 1).std(0, correction=0)
        flat = spread <= 1e-6 * seen.flatten(0, 1).abs().amax(0)
        self.register_buffer("middle", middle)
        self.register_buffer("spread", spread.masked_fill(flat, 1.0))
        self.register_buffer("places", torch.randn(length, PLACES, generator=dice).to(words))
        self.register_buffer("word_middle", words.mean(0))
        self.register_buffer("word_spread", words.std(0))
        first = torch.randn(PLACES, words.shape[1], generator=dice) / PLACES**0.5
        self.same = nn.Parameter(first.to(words))
        self.bias = nn.Parameter(torch.zeros_like(self.same[0]))
        self.weight = nn.Parameter(words.new_zeros(features, words.shape[1]))

    def forward(self, seen: Seen) -> Prefix:
        shown = (seen - self.middle) / self.spread @ self.weight
        made = shown + self.places @ self.same + self.bias
        prefix: Tensor = self.word_middle + self.word_spread * made
        return prefix


def nothing(length: int) -> Float[Tensor, "1 length 1"]:
    """Return the tokens of an image that shows nothing: the prefix without an image is left."""
    return torch.zeros(1, length, 1)


def word_vectors(encoder: LanguageEncoder) -> Float[Tensor, "vocabulary width"]:
    words: Tensor = encoder.model.get_input_embeddings().weight.detach().float()
    return words


def need_causal(encoder: LanguageEncoder) -> None:
    if not encoder.readout.is_causal:
        raise EncoderError(
            f"{encoder.card.name} does not predict the next token, so it can code no caption after"
            " an image; name a causal language model"
        )


@torch.no_grad()  # tensors of inference mode could not teach a map
def see(encoder: VisionEncoder, images: Sequence[Image]) -> Seen:
    """Return the tokens of each image after the last block, before the final norm: the class token
    first where the model has one and reads it, then patches or places of the feature map by rows.
    """
    pixels = torch.stack([encoder.prepare(image) for image in images])
    pixels = pixels.to(encoder.device, encoder.arithmetic.weights)
    look: Json = {"indices": 1, "norm": False, "intermediates_only": True}
    with encoder.arithmetic.forward_on(encoder.device):
        if encoder.recipe["library"] == "transformers":
            states = encoder.model(pixel_values=pixels, output_hidden_states=True).hidden_states
            last: Tensor = states[-1].float()
            return last if last.dim() == 3 else last.flatten(2).transpose(1, 2)
        if has_class_token(encoder.model) and not encoder.of_patches:
            ((patches, first),) = encoder.model.forward_intermediates(
                pixels, return_prefix_tokens=True, output_fmt="NLC", **look
            )
            return torch.cat([first, patches], dim=1).float()
        (places,) = encoder.model.forward_intermediates(pixels, output_fmt="NCHW", **look)
    seen: Tensor = places.float().flatten(2).transpose(1, 2)
    return seen


def tokenize(encoder: LanguageEncoder, texts: Sequence[str], *, length: int) -> tuple[Tokens, int]:
    """Return the token ids of texts, without special ones behind them, and how many special tokens
    precede each. length: of the prefix. Raises EncoderError for a text that has no room
    behind it.
    """
    read = encoder.tokenizer(list(texts), return_special_tokens_mask=True)
    room = None if encoder.limit is None else encoder.limit - length
    longest = max(map(len, read["input_ids"]))
    if room is not None and longest > room:
        raise EncoderError(
            f"{encoder.card.name} reads {encoder.limit} tokens at most, and an image of {length}"
            f" tokens and a caption of {longest} are more; take shorter captions, or a vision model"
            " of fewer tokens"
        )
    masks = read["special_tokens_mask"]
    front = min(next((place for place, mark in enumerate(mask) if not mark), 0) for mask in masks)
    ends = [max((at for at, mark in enumerate(mask) if not mark), default=0) + 1 for mask in masks]
    return [ids[:end] for ids, end in zip(read["input_ids"], ends, strict=True)], front


def code_after(
    encoder: LanguageEncoder, prefix: Prefix, tokens: Tokens, front: int
) -> Float[Tensor, " batch"]:
    """Return the bits of each text behind a prefix: −Σ log₂ p(token | prefix and those before it).

    Gradients reach the prefix. front: special tokens before each text, which cost nothing.
    """
    ids, mask = (part.to(encoder.device) for part in pad(tokens))
    model, length = encoder.model, prefix.shape[1]
    words = model.get_input_embeddings()(ids)
    vectors = torch.cat([prefix.to(words.dtype), words], dim=1)
    seen = torch.cat([torch.ones_like(mask[:, :1]).expand(-1, length), mask], dim=1)
    with encoder.arithmetic.forward_on(encoder.device):
        if encoder.readout.blocks:
            body = model.base_model(inputs_embeds=vectors, attention_mask=seen)
            states = body.last_hidden_state[:, length + front - 1 : -1]
            logits = encoder.readout.logits(states)
        else:
            output = model(inputs_embeds=vectors, attention_mask=seen)
            logits = output.logits[:, length + front - 1 : -1]
    wanted: Int[Tensor, "batch coded"] = ids[:, front:]
    costs = F.cross_entropy(logits.float().transpose(1, 2), wanted, reduction="none")
    return (costs * mask[:, front:]).sum(1) / log(2)
