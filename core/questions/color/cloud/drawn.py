"""Pixels as a cloud in CIELAB: the colors that pictures have, drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.questions.color.geometry.cooccurrence import Picture, cell_centers
from core.questions.color.geometry.defaults import GRID, SHIPPED
from core.questions.color.geometry.perception import to_hex, to_lab
from core.questions.color.geometry.words import LAB
from core.questions.color.sources.pixels import Pixels
from core.study.study import Study

TESTED = 10_000  # pictures behind the counts that come with the project


def pixel_cloud(pixels: Pixels, study: Study, *, drawn: int, seed: int) -> pd.DataFrame:
    """Return pixels drawn at random: hex, L, a, b (CIELAB), and how many pictures they are from.

    Each picture is as likely as any other, and within it each pixel; with replacement. The counts
    that come with the project have no pictures: their cloud is the middle of every cell of the grid
    that was seen, each once.
    """
    if pixels.images == SHIPPED:
        seen = np.flatnonzero(pixels.count(study).any(axis=1))
        return _cloud(cell_centers(seen, grid=GRID), TESTED)
    pictures = pixels.pictures(study)
    return _cloud(draw_pixels(pictures, drawn=drawn, seed=seed), len(pictures))


def draw_pixels(
    pictures: Sequence[Picture], *, drawn: int, seed: int
) -> Float64[np.ndarray, "drawn 3"]:
    """Return the colors (sRGB, 0 … 255) of pixels drawn at random; see `pixel_cloud`."""
    rng = np.random.default_rng(seed)
    chosen = [pictures[one] for one in rng.integers(len(pictures), size=drawn)]
    places = rng.random((drawn, 2))
    colors: np.ndarray = np.array(
        [
            picture[int(down * picture.shape[0]), int(right * picture.shape[1])]
            for picture, (down, right) in zip(chosen, places, strict=True)
        ],
        np.float64,
    )
    return colors


def _cloud(rgb: Float64[np.ndarray, "n 3"], pictures: int) -> pd.DataFrame:
    lab = to_lab(rgb)
    return pd.DataFrame(lab, columns=LAB).assign(hex=to_hex(lab), pictures=pictures)
