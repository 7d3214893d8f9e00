"""Where a space of colors lies on a screen: turned, tilted, and with a word beside each point that
has room for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64

LETTER, LINE, GAP = (
    6.3,
    13.0,
    9.0,
)  # pixels: width of a letter, height of a line, from the middle of a point to its word
AROUND = (  # where a word may stand, the best first: Plotly's name, steps to the right and up
    ("top center", 0, 1),
    ("middle right", 1, 0),
    ("middle left", -1, 0),
    ("bottom center", 0, -1),
    ("top right", 1, 1),
    ("top left", -1, 1),
    ("bottom right", 1, -1),
    ("bottom left", -1, -1),
)


def project(
    points: Float[np.ndarray, "n d"], *, turn: int, tilt: int
) -> Float64[np.ndarray, "n 3"]:
    """Return how far right, up and near to the eye each point is.

    points: in three dimensions up, right and away when turn and tilt are 0: L*, a*, b*. They turn
    around the first axis by `turn` degrees, then toward the eye by `tilt`; at a tilt of 90 the eye
    looks down the first axis, on hues as a circle. In two dimensions they are right and up,
    whatever the angles.
    """
    if points.shape[1] == 2:
        return np.column_stack([points, np.zeros(len(points))])
    up, right, away = points.astype(np.float64).T
    around, over = np.radians(turn), np.radians(tilt)
    x, depth = (
        right * np.cos(around) + away * np.sin(around),
        away * np.cos(around) - right * np.sin(around),
    )
    return np.column_stack(
        [x, up * np.cos(over) + depth * np.sin(over), up * np.sin(over) - depth * np.cos(over)]
    )


def place_words(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], words: Sequence[str]
) -> list[str]:
    """Return where the word of each point stands, in Plotly's names of `textposition`; "" where all
    places are taken.

    x, y: in pixels, y upward. Words take the first free place around their
    points in the order given; they overlap neither other words nor points.
    """
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in points]
    places = []
    for (px, py), word in zip(points, words, strict=True):
        boxes = {name: _box(px, py, LETTER * len(word), right, up) for name, right, up in AROUND}
        free = next(
            (
                name
                for name, box in boxes.items()
                if not any(_overlap(box, other) for other in taken)
            ),
            "",
        )
        places.append(free)
        if free:
            taken.append(boxes[free])
    return places


def _box(
    x: float, y: float, width: float, right: int, up: int
) -> tuple[float, float, float, float]:
    middle_x, middle_y = x + right * (GAP + width / 2), y + up * (GAP + LINE / 2)
    return middle_x - width / 2, middle_y - LINE / 2, middle_x + width / 2, middle_y + LINE / 2


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
