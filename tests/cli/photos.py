"""A folder of pictures of noise, for commands that add a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def paint_photos(folder: Path, count: int) -> None:
    """Write `0.png` and on, each of other noise, into a new folder."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for i in range(count):
        Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(folder / f"{i}.png")
