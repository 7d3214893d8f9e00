"""Pictures whose statistics can be worked out by hand, and captions whose words can be counted."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from core.errors import StimuliError
from core.stimuli.statistics import (
    colorfulness,
    describe_captions,
    describe_images,
    edge_density,
    entropy,
    luma,
    split_words,
)

PIXELS = arrays(np.uint8, st.tuples(st.integers(2, 9), st.integers(2, 9), st.just(3)))


def picture(*rows: list[tuple[int, int, int]]) -> Image.Image:
    return Image.fromarray(np.array(rows, dtype=np.uint8))


def halves(width: int = 10, height: int = 4) -> Image.Image:
    """Black on the left, white on the right."""
    light = np.zeros((height, width), np.uint8)
    light[:, width // 2 :] = 255
    return Image.fromarray(light).convert("RGB")


def test_black_beside_white():
    found = describe_images([halves()]).iloc[0]
    assert found["brightness"] == 0.5
    assert found["contrast"] == 0.5
    assert found["edge density"] == 0.2  # the two columns of ten that meet have a slope of one half
    assert found["colorfulness"] == 0
    assert found["entropy"] == 1.0


def test_luma_weighs_green_most():
    assert luma(picture([(255, 0, 0), (0, 255, 0), (0, 0, 255)]))[0] == pytest.approx(
        [0.299 * 255, 0.587 * 255, 0.114 * 255], abs=1
    )


def test_colorfulness_is_that_of_its_formula():
    # red and cyan: rg = ±255; yb = 127.5 and 127.5 − 255 = −127.5; means 0, deviations 255 and
    # 127.5
    assert colorfulness(picture([(255, 0, 0), (0, 255, 255)])) == pytest.approx(
        math.hypot(255, 127.5)
    )
    # one color: no deviation, 0.3 of the distance from gray: rg = 100, yb = (200 + 100)/2 − 30 =
    # 120
    assert colorfulness(picture([(200, 100, 30)] * 4)) == pytest.approx(0.3 * math.hypot(100, 120))


def test_a_slope_counts_from_a_tenth_of_all_light_per_pixel():
    steps = [np.tile(np.arange(8) * slope * 255, (8, 1)) for slope in (0.09, 0.11)]
    assert [edge_density(light) for light in steps] == [0.0, 1.0]


def test_entropy_counts_levels_in_bits():
    assert entropy(Image.linear_gradient("L")) == pytest.approx(8.0)


@pytest.mark.parametrize("size", [(1, 7), (7, 1)])
def test_a_line_of_pixels_has_no_edges_to_tell(size):
    found = describe_images([Image.new("RGB", size, "red")]).iloc[0]
    assert np.isnan(found["edge density"])
    assert found.drop("edge density").notna().all()


def test_an_image_without_pixels_is_refused():
    with pytest.raises(StimuliError, match="expected an image of at least one pixel; got 0 × 3"):
        describe_images([Image.new("RGB", (0, 3))])


@given(PIXELS, st.integers(0, 2**32 - 1))
def test_where_pixels_lie_matters_to_edges_alone(pixels, seed):
    mixed = np.random.default_rng(seed).permutation(pixels.reshape(-1, 3)).reshape(pixels.shape)
    found = describe_images([Image.fromarray(pixels), Image.fromarray(mixed)]).drop(
        columns="edge density"
    )
    assert found.iloc[0].to_numpy() == pytest.approx(found.iloc[1].to_numpy(), abs=1e-9)


@given(PIXELS)
def test_every_statistic_keeps_to_its_range_and_to_the_mirror_image(pixels):
    brightness, contrast, edges, color, bits = describe_images([Image.fromarray(pixels)]).iloc[0]
    assert 0 <= brightness <= 1
    assert 0 <= contrast <= 0.5
    assert 0 <= edges <= 1
    assert color >= 0
    assert 0 <= bits <= min(8, math.log2(pixels.shape[0] * pixels.shape[1]) + 1e-9)
    mirrored = describe_images([Image.fromarray(np.ascontiguousarray(pixels[:, ::-1]))]).iloc[0]
    assert mirrored.to_numpy() == pytest.approx(
        [brightness, contrast, edges, color, bits], abs=1e-9
    )


def test_words_are_runs_of_letters_and_digits_without_case():
    assert split_words("The dog's ice-cream, 3 ÄPFEL — it’s_so <b>") == [
        "the",
        "dog's",
        "ice-cream",
        "3",
        "äpfel",
        "it’s",
        "so",
        "b",
    ]
    assert split_words(" … ") == []


def test_a_caption_without_words_and_a_missing_one_have_no_rarity():
    found = describe_captions(["…", None, "a owl", "a"])
    expected = pd.DataFrame(
        {
            "words": [0, np.nan, 2, 1],
            "characters": [1, np.nan, 5, 1],
            "rarity": [np.nan, np.nan, 1, 0.585],
        }
    )
    expected.loc[2, "rarity"] = (np.log2(3 / 2) + np.log2(3)) / 2  # of three captions given
    expected.loc[3, "rarity"] = np.log2(3 / 2)
    pd.testing.assert_frame_equal(found, expected)
