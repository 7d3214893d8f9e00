"""Drawing styles that no model of the Cave is trained on: each is a fixed transform of the ordinary
picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from PIL import Image, ImageChops, ImageFilter, ImageOps

_INKS = (24, 28, 64), (178, 84, 96), (250, 240, 214)  # dark, middle and light of a two-color print
_TONES = 2  # bits: four gray levels
_GAIN = 10  # of differences from the surroundings
_FAINTEST = 14  # gray levels per pixel: grain and texture stay below, outlines above


def as_drawn(image: Image.Image) -> Image.Image:
    """Return the picture itself."""
    return image


def in_lines(image: Image.Image) -> Image.Image:
    """Return the outlines alone, dark on white paper: no color and no area is left."""
    gray = ImageOps.grayscale(image).filter(ImageFilter.GaussianBlur(0.7))
    rise = ImageChops.difference(
        gray.filter(ImageFilter.MaxFilter(3)), gray.filter(ImageFilter.MinFilter(3))
    )
    return rise.point(
        [255 - min(255, 5 * max(0, value - _FAINTEST)) for value in range(256)]
    ).convert("RGB")


def in_duotone(image: Image.Image) -> Image.Image:
    """Return the picture as a print in four tones of two inks: hues are gone, and every brightness
    falls into one of four.
    """
    tones = ImageOps.posterize(ImageOps.autocontrast(ImageOps.grayscale(image)), _TONES)
    dark, middle, light = _INKS
    return ImageOps.colorize(tones, black=dark, mid=middle, white=light)


def in_relief(image: Image.Image) -> Image.Image:
    """Return how much brighter each place is than its surroundings, tenfold, as an instrument for
    surfaces would show it.
    """
    gray = ImageOps.grayscale(image).filter(ImageFilter.GaussianBlur(0.9))
    surroundings = gray.filter(ImageFilter.MedianFilter(9))
    return ImageChops.subtract(gray, surroundings, scale=1 / _GAIN, offset=128).convert("RGB")


STYLES: Mapping[str, Callable[[Image.Image], Image.Image]] = MappingProxyType(
    {"plain": as_drawn, "lines": in_lines, "duotone": in_duotone, "relief": in_relief}
)
