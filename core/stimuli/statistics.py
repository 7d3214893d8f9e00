"""What can be counted of a picture or a caption without any model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float64
from PIL import Image

from core.errors import StimuliError

WHITE = 255
STEEP = 0.1 * WHITE  # per pixel: above it a slope is an edge
IMAGE_STATISTICS = ("brightness", "contrast", "edge density", "colorfulness", "entropy")
CAPTION_STATISTICS = ("words", "characters", "rarity")

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def describe_images(images: Iterable[Image.Image]) -> pd.DataFrame:
    """Return a row per image with IMAGE_STATISTICS.

    brightness: mean luma over white, 0 … 1. contrast: its standard deviation over white, 0 … 0.5
    (root mean square: Peli 1990, equation 4). Edge density depends on the size: compare images of
    similar size. Raise StimuliError for an image without pixels.
    """
    rows = []
    for image in images:
        light = luma(image)
        rows.append(
            (
                light.mean() / WHITE,
                light.std() / WHITE,
                edge_density(light),
                colorfulness(image),
                entropy(image),
            )
        )
    return pd.DataFrame(rows, columns=list(IMAGE_STATISTICS), dtype=np.float64)


def luma(image: Image.Image) -> Float64[np.ndarray, "height width"]:
    """Return Y = 0.299 R + 0.587 G + 0.114 B of every pixel, a whole number from 0 (black) to WHITE
    (ITU-R BT.601); raise StimuliError for an image without pixels.
    """
    if not image.width * image.height:
        raise StimuliError(
            f"expected an image of at least one pixel; got {image.width} × {image.height}"
        )
    return np.asarray(image.convert("L"), dtype=np.float64)


def edge_density(light: Float64[np.ndarray, "height width"]) -> float:
    """Return the share of pixels where √(∂ₓY² + ∂ᵧY²), by central differences, is above STEEP; NaN
    for an image that is one pixel wide or high.
    """
    if min(light.shape) < 2:
        return np.nan
    return float((np.hypot(*np.gradient(light)) > STEEP).mean())


def colorfulness(image: Image.Image) -> float:
    """Return M = √(σ²(rg) + σ²(yb)) + 0.3 √(μ²(rg) + μ²(yb)), where rg = R − G and yb = (R + G)/2 −
    B of values 0 … 255.

    0 for gray images; 15 is slightly, 45 averagely, 82 highly colorful. Source: Hasler, Süsstrunk
    2003, the metric M⁽³⁾ over RGB.
    """
    red, green, blue = (np.asarray(band, dtype=np.float64) for band in image.convert("RGB").split())
    opponents = np.stack([red - green, (red + green) / 2 - blue]).reshape(2, -1)
    return float(
        np.linalg.norm(opponents.std(axis=1)) + 0.3 * np.linalg.norm(opponents.mean(axis=1))
    )


def entropy(image: Image.Image) -> float:
    """Return −Σ p log₂ p over the 256 levels of luma, in bits: 0 for a blank image, at most 8."""
    return abs(image.convert("L").entropy())  # of one level it is −0.0


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case: runs of letters and digits, joined by
    ' ’ or -.
    """
    return _WORD.findall(text.casefold())


def describe_captions(texts: Sequence[str | None]) -> pd.DataFrame:
    """Return a row per caption with CAPTION_STATISTICS. Rarity (bits) is the mean over the
    caption's different words of −log₂(captions that have the word / captions given), NaN without
    words. A missing caption has NaN everywhere.
    """
    tokens = [None if text is None else split_words(text) for text in texts]
    frequency = Counter(word for words in tokens if words for word in set(words))
    count = sum(words is not None for words in tokens)
    rows = []
    for text, words in zip(texts, tokens, strict=True):
        rarity = (
            np.mean([np.log2(count / frequency[word]) for word in dict.fromkeys(words)])
            if words
            else np.nan
        )
        rows.append(
            (np.nan, np.nan, np.nan)
            if text is None or words is None
            else (len(words), len(text), rarity)
        )
    return pd.DataFrame(rows, columns=list(CAPTION_STATISTICS), dtype=np.float64)
