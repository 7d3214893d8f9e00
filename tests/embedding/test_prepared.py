"""Pictures are made ready once for all encoders that want them alike, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from core.embedding import prepared
from core.embedding.prepared import PreparedPictures
from core.encoders.catalog import open_encoder, spec_of_folder
from core.encoders.vision import VisionEncoder
from core.settings import CAVE_WEIGHTS

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def encoder() -> VisionEncoder:
    opened = open_encoder(spec_of_folder(CAVE_WEIGHTS / "vit-mae-xs"), device=CPU)
    assert isinstance(opened, VisionEncoder)
    return opened


def pictures(count: int) -> list[Image.Image]:
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (60, 50, 3), np.uint8)) for _ in range(count)]


def counted(encoder: VisionEncoder, seen: list[Image.Image]) -> VisionEncoder:
    """Return the encoder so that it notes what its own preprocessing is asked for."""

    class Noting:
        def __call__(self, image: Image.Image) -> torch.Tensor:
            seen.append(image)
            return encoder.prepare(image)

        def __repr__(self) -> str:
            return repr(encoder.prepare)

    return replace(encoder, prepare=Noting())


def test_a_second_encoder_takes_what_the_first_made_ready(encoder: VisionEncoder) -> None:
    shared, seen = PreparedPictures(), list[Image.Image]()
    images = pictures(3)
    plain = encoder.encode(images)
    for _ in range(2):
        again = shared.shared_by(counted(encoder, seen)).encode([one.copy() for one in images])
        assert all(map(np.array_equal, again.layers, plain.layers))
    assert len(seen) == 3


def test_another_preprocessing_and_another_shape_are_made_ready_anew(
    encoder: VisionEncoder,
) -> None:
    shared, seen = PreparedPictures(), list[Image.Image]()
    black = [Image.new("RGB", size) for size in ((60, 50), (50, 60))]
    shared.shared_by(counted(encoder, seen)).encode(black)
    assert len(seen) == 2
    other = replace(encoder, prepare=lambda image: encoder.prepare(image) * 0)
    shared.shared_by(other).encode(black)
    assert len(shared.tensors) == 4


def test_no_more_is_kept_than_fits(encoder: VisionEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    one = encoder.prepare(pictures(1)[0]).nbytes
    monkeypatch.setattr(prepared, "MOST", 2 * one)
    shared = PreparedPictures()
    shared.shared_by(encoder).encode(pictures(5))
    assert (len(shared.tensors), shared.size) == (2, 2 * one)


def test_a_language_model_is_returned_as_it_is() -> None:
    reader = open_encoder(spec_of_folder(CAVE_WEIGHTS / "gpt2-xs"), device=CPU)
    assert PreparedPictures().shared_by(reader) is reader
