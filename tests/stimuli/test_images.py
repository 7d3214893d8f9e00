"""Images of every odd kind become plain RGB, and what is no image becomes one sentence."""

from __future__ import annotations

import struct
import warnings
import zlib
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from core.errors import StimuliError
from core.stimuli.images import MAX_PIXELS, check_image, load_image

RED, WHITE = (255, 0, 0), (255, 255, 255)


def encode(image: Image.Image, format: str = "PNG", **options: object) -> bytes:
    buffer = BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def load(data: bytes) -> Image.Image:
    check_image(data, name="x")
    image = load_image(data, name="x")
    assert image.mode == "RGB"
    return image


def empty_png(width: int, height: int) -> bytes:
    """Return a PNG that states a size and has no pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "WEBP", "GIF", "PPM", "AVIF", "JPEG2000"])
def test_lossless_formats_keep_their_pixels(format: str) -> None:
    image = Image.new("RGB", (12, 9), RED)
    options = (
        {"lossless": True} if format == "WEBP" else {"quality": 100} if format == "AVIF" else {}
    )
    pixels = np.asarray(load(encode(image, format, **options))).astype(int)
    assert pixels.shape == (9, 12, 3)
    assert np.abs(pixels - RED).max() <= (3 if format == "AVIF" else 0)


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_thirty_thousand_pixels_wide_is_an_image_at_full_size(format: str) -> None:
    assert load(encode(Image.new("L", (30_000, 20), 128), format)).size == (30_000, 20)


@pytest.mark.parametrize("side", [13_378, 30_000])
def test_too_many_pixels_are_refused_before_decoding(side: int) -> None:
    assert side**2 > MAX_PIXELS
    for look in (check_image, load_image):
        with pytest.raises(
            StimuliError,
            match=r"image big\.png has more pixels than the limit of 178,956,970; shrink it first",
        ):
            look(empty_png(side, side), name="big.png")


@pytest.mark.parametrize("transparent", [0, bytes([0])])
def test_transparent_palette_entries_become_white(transparent: object) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([0, 0, 0, 255, 0, 0])
    image.putpixel((1, 0), 1)
    result = load(encode(image, transparency=transparent))
    assert [result.getpixel((x, 0)) for x in (0, 1)] == [WHITE, RED]


@pytest.mark.parametrize(("mode", "color"), [("RGBA", (0, 0, 0, 0)), ("LA", (0, 0))])
def test_transparent_pixels_become_white(mode: str, color: tuple[int, ...]) -> None:
    assert load(encode(Image.new(mode, (2, 2), color))).getpixel((0, 0)) == WHITE


@pytest.mark.parametrize("format", ["PNG", "TIFF", "PPM"])
def test_16_bit_values_are_scaled_not_cut(format: str) -> None:
    values = np.array([[0, 255, 257, 32_896, 65_278, 65_535]], dtype=np.uint16)
    result = np.asarray(load(encode(Image.fromarray(values), format)))[..., 0]
    assert result.tolist() == [[0, 1, 1, 128, 254, 255]]


@pytest.mark.parametrize(
    ("dtype", "reason"), [(np.int32, "32-bit pixels"), (np.float32, "floating-point pixels")]
)
def test_pixels_without_a_range_are_refused(dtype: type, reason: str) -> None:
    data = encode(Image.fromarray(np.array([[0, 1_000_000]], dtype=dtype)), "TIFF")
    for look in (check_image, load_image):
        with pytest.raises(
            StimuliError,
            match=f"image x has {reason} of no stated range; convert it to 8 or 16 bits",
        ):
            look(data, name="x")


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG", "TIFF"])
def test_the_first_frame_stands_for_an_animation(format: str) -> None:
    frames = [Image.new("RGB", (4, 4), color) for color in (RED, (0, 0, 255))]
    options = {"lossless": True} if format == "WEBP" else {}
    data = encode(frames[0], format, save_all=True, append_images=frames[1:], **options)
    assert load(data).getpixel((0, 0)) == RED


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize(
    ("orientation", "corner"), [(1, (0, 0)), (3, (23, 15)), (6, (15, 0)), (8, (0, 23))]
)
def test_exif_orientation_is_applied(
    format: str, orientation: int, corner: tuple[int, int]
) -> None:
    image = Image.new("RGB", (24, 16), WHITE)
    image.paste((0, 0, 0), (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = orientation
    result = load(encode(image, format, exif=exif))
    assert result.size == ((24, 16) if orientation in (1, 3) else (16, 24))
    assert max(result.getpixel(corner)) < 40


@pytest.mark.parametrize(
    "data",
    [
        b"no image",
        b"%PDF-1.4",
        b"%!PS-Adobe-3.0 EPSF-3.0\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_other_files_are_no_images(data: bytes) -> None:
    with pytest.raises(
        StimuliError, match=r"notes\.txt is not an image; expected one of JPEG, PNG"
    ):
        check_image(data, name="notes.txt")


@pytest.mark.parametrize("format", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
def test_a_cut_off_image_is_found_by_check_and_load(format: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (200, 300, 3), dtype=np.uint8)
    data = encode(Image.fromarray(pixels), format)
    for look in (check_image, load_image):
        with pytest.raises(
            StimuliError, match=r"a\.img is (damaged or cut off .*; copy it again|not an image)"
        ):
            look(data[: len(data) * 3 // 4], name="a.img")


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_bytes_give_an_image_or_a_sentence(data: st.DataObject) -> None:
    format = data.draw(st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"]))
    image = Image.linear_gradient(
        "L"
    )  # large enough for a JPEG to be checked at a part of its size
    good = bytearray(
        encode(image if format == "JPEG" else image.resize((20, 20)).convert("P"), format)
    )
    for _ in range(data.draw(st.integers(0, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(1, len(good)) | st.just(len(good)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow grumbles about broken tags
        assert outcome(bytes(good[:end])) in ("a sentence", "RGB")


def outcome(data: bytes) -> str:
    try:
        check_image(data, name="x")
    except StimuliError:
        return "a sentence"
    return load_image(data, name="x").mode  # what passed the check must load


def test_16_bits_are_divided_by_257_and_rounded():
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    file = BytesIO()
    Image.fromarray(values).save(file, "PNG")
    gray = np.asarray(load_image(file.getvalue(), name="x"))[..., 0]
    assert np.array_equal(gray, np.rint(values / 257).astype(np.uint8))
