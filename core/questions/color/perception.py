"""CIELAB, and the colors that people mean by words: centroids of a public survey."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64

from core.errors import UnknownNameError
from core.settings import ROOT

_RGB_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_WHITE = _RGB_TO_XYZ.sum(axis=1)  # D65, so that the grays have no hue
_EDGE = 6 / 29  # of the cube root; below it CIELAB is linear


def to_lab(rgb: Float[np.ndarray, "n 3"]) -> Float64[np.ndarray, "n 3"]:
    """Return 8-bit sRGB colors (0 … 255) as CIELAB: L* 0 black … 100 white, a* green to red, b*
    blue to yellow.

    Source: IEC 61966-2-1 (sRGB, D65, 2° observer); CIE 15:2004, equations 8.3 to 8.11.
    """
    coded = rgb.astype(np.float64) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    relative = linear @ _RGB_TO_XYZ.T / _WHITE
    f = np.where(relative > _EDGE**3, np.cbrt(relative), relative / (3 * _EDGE**2) + 4 / 29)
    return np.stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1
    )


def to_rgb(lab: Float[np.ndarray, "n 3"]) -> Float64[np.ndarray, "n 3"]:
    """Return CIELAB colors as sRGB (0 … 255), clipped to what a screen shows: within that the
    inverse of `to_lab`.
    """
    f_y = (lab[:, 0].astype(np.float64) + 16) / 116
    f = np.stack([f_y + lab[:, 1] / 500, f_y, f_y - lab[:, 2] / 200], axis=1)
    relative = np.where(f > _EDGE, f**3, 3 * _EDGE**2 * (f - 4 / 29))
    linear = ((relative * _WHITE) @ np.linalg.inv(_RGB_TO_XYZ).T).clip(0, 1)
    rgb: np.ndarray = 255 * np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return rgb


def to_hex(lab: Float[np.ndarray, "n 3"]) -> list[str]:
    """Return CIELAB colors as #rrggbb."""
    return [
        f"#{red:02x}{green:02x}{blue:02x}"
        for red, green, blue in np.rint(to_rgb(lab)).astype(int).tolist()
    ]


TABLE = ROOT / "data" / "color" / "words.csv"
LAB = ["L", "a", "b"]


def color_words(words: Sequence[str] = ()) -> pd.DataFrame:
    """Return color words (all 24, or the named ones in that order): word, L, a, b, hex, answers.

    L, a, b: the mean in CIELAB of the colors that people called by the word; answers: how many.
    Raises UnknownNameError. Source: the xkcd survey, as binned by Heer, Stone 2012.
    """
    table = pd.read_csv(TABLE).set_index("word")
    if unknown := [word for word in words if word not in table.index]:
        raise UnknownNameError("color word", unknown[0], table.index)
    table = table.loc[list(dict.fromkeys(words))] if words else table
    table = table.assign(hex=to_hex(table[LAB].to_numpy())).reset_index()
    return table[["word", *LAB, "hex", "answers"]]
