"""A prefix before a text: bits as a plain loop has them, words as prefixes equal words, and what
cannot be read is refused.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_models import make_language, make_vision

from core.encoders.catalog import open_encoder
from core.encoders.vision import read_layers
from core.errors import EncoderError
from core.networks.prefixed import (
    ImagePrefix,
    code_after,
    need_causal,
    nothing,
    see,
    tokenize,
    word_vectors,
)

CPU = torch.device("cpu")
TEXTS = ["a cat", "two red dogs behind a tall tree", "x"]
KINDS = ("gpt2", "llama", "bloom")


@pytest.fixture(scope="module")
def language(tmp_path_factory):
    root = tmp_path_factory.mktemp("language")
    return {
        kind: open_encoder(f"hf:{make_language(root / kind, kind)}", device=CPU)
        for kind in (*KINDS, "bert")
    }


@pytest.fixture(scope="module")
def images():
    dice = np.random.default_rng(0)
    return [Image.fromarray(dice.integers(0, 255, (32, 32, 3), dtype=np.uint8)) for _ in range(3)]


def vectors(rows: int, length: int = 4) -> torch.Tensor:
    return torch.randn(rows, length, 16, generator=torch.Generator().manual_seed(1))


def bits_one_by_one(encoder, prefix, ids) -> float:
    """Sum the bits of a text token by token, each with a pass of its own over what stands before
    it, without a batch or padding.
    """
    words, total = encoder.model.get_input_embeddings().weight, 0.0
    for place in range(1, len(ids)):  # the first is special
        before = torch.cat([prefix, words[ids[:place]]])[None]
        with torch.no_grad():
            logits = encoder.model(inputs_embeds=before).logits[0, -1]
        total -= float(logits.log_softmax(0)[ids[place]]) / math.log(2)
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_bits_behind_a_prefix_are_those_of_a_plain_loop(language, kind):
    encoder, prefix = language[kind], vectors(3)
    tokens, front = tokenize(encoder, TEXTS, length=4)
    assert front == 1
    coded = code_after(encoder, prefix, tokens, front)
    plain = [bits_one_by_one(encoder, *each) for each in zip(prefix, tokens, strict=True)]
    np.testing.assert_allclose(coded.detach().numpy(), plain, rtol=1e-4)


def test_words_as_a_prefix_are_those_words(language):
    encoder = language["gpt2"]
    whole = [40, 41, 42, 43, 44, 45, 46]
    prefix = encoder.model.get_input_embeddings().weight[whole[:3]][None]
    coded = code_after(encoder, prefix, [whole[3:]], 0)
    np.testing.assert_allclose(coded.detach(), encoder.code([whole], [range(3, 7)]), rtol=1e-5)


def test_tokens_are_those_that_the_store_pools(tmp_path, images):
    small = {"img_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 24, "num_heads": 2}
    folder = make_vision(tmp_path / "vit", "vit_tiny_patch16_224", **small)
    vit = open_encoder(f"timm:vit_tiny_patch16_224@{folder}", device=CPU)
    seen = see(vit, images)
    assert seen.shape == (3, 17, 24)
    np.testing.assert_allclose(seen[:, 0], vit.encode(images).layers[-1], atol=1e-5)
    patches = open_encoder(f"timm:vit_tiny_patch16_224@{folder}#patches", device=CPU)
    assert see(patches, images).shape == (3, 16, 24)
    narrow = {"stem_width": 8, "channels": [8, 8, 8, 16]}
    folder = make_vision(tmp_path / "resnet", "resnet10t", **narrow)
    net = open_encoder(f"timm:resnet10t@{folder}", device=CPU)
    pixels = torch.stack([net.prepare(image) for image in images])
    np.testing.assert_allclose(
        see(net, images).mean(1), read_layers(net.model, pixels)[-1], atol=1e-5
    )


def test_a_prefix_begins_as_words_are_whatever_the_image_and_the_map_alone_learns(language):
    encoder = language["gpt2"]
    words = word_vectors(encoder)
    seen = 100 + 7 * torch.randn(64, 5, 12, generator=torch.Generator().manual_seed(0))
    seen[..., 3] = 2.0  # a feature that never varies
    made = {
        name: ImagePrefix(shown, words, torch.Generator().manual_seed(1))
        for name, shown in (("image", seen), ("none", nothing(5)))
    }
    out = made["image"](seen)
    assert out.shape == (64, 5, 16)
    assert 0.5 < float(out.detach().std() / words.std()) < 2
    np.testing.assert_allclose(out.detach(), made["none"](nothing(5).expand(64, -1, -1)).detach())
    tokens, front = tokenize(encoder, ["a cat", "two dogs"] * 32, length=5)
    code_after(encoder, out, tokens, front).sum().backward()
    assert all(each.grad.abs().sum() > 0 for each in made["image"].parameters())
    assert all(each.grad is None for each in encoder.model.parameters())


def test_what_all_images_have_in_common_is_no_part_of_the_map(language):
    """The map is linear in how an image differs from the others, place by place."""
    dice = torch.Generator().manual_seed(2)
    seen = torch.randn(200, 3, 7, generator=dice) * torch.arange(1, 8) + torch.randn(3, 7)
    prefix = ImagePrefix(seen, word_vectors(language["gpt2"]), dice)
    with torch.no_grad():
        prefix.weight.normal_(generator=dice)
        common = prefix(seen.mean(0, keepdim=True))
        np.testing.assert_allclose(prefix(seen).mean(0, keepdim=True), common, atol=1e-4)
        np.testing.assert_allclose(
            prefix(2 * seen[:1] - seen[1:2]), 2 * prefix(seen[:1]) - prefix(seen[1:2]), atol=1e-4
        )


def test_what_cannot_be_read_is_refused(language):
    with pytest.raises(EncoderError, match="does not predict the next token"):
        need_causal(language["bert"])
    with pytest.raises(EncoderError, match="64 tokens at most, and an image of 60"):
        tokenize(language["gpt2"], TEXTS, length=60)
