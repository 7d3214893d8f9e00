"""Sheets of pictures as the Cave's present versions draw them.

`python -m tests.cave.sheets` saves them again, after a VERSION was raised.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from core.cave import drawing, tasks
from core.cave.drawing import draw
from core.cave.events import draw_event
from core.cave.tasks import draw_pictures

FOLDER = Path(__file__).parent / "drawn"
STYLED = 4  # events, in every style


def plain() -> np.ndarray:
    """Return twelve test events as the drawing's version shows them."""
    images = [np.asarray(draw(draw_event("test", index), size=48)) for index in range(12)]
    return np.concatenate([np.concatenate(images[start : start + 4], 1) for start in (0, 4, 8)])


def styled() -> np.ndarray:
    """Return a row of probe events in each style of the tasks' version."""
    drawn = draw_pictures(dict.fromkeys(tasks.SAMPLES, STYLED), jobs=1)
    return np.concatenate([np.concatenate(list(images), 1) for images in drawn.values()])


def plain_file() -> Path:
    """Return where the drawing's sheet is kept."""
    return FOLDER / f"plain-{drawing.VERSION}.png"


def styled_file() -> Path:
    """Return where the styles' sheet is kept; they are laid over drawings."""
    return FOLDER / f"styles-{drawing.VERSION}-{tasks.VERSION}.png"


def main() -> None:
    """Save both sheets."""
    FOLDER.mkdir(exist_ok=True)
    Image.fromarray(plain()).save(plain_file())
    Image.fromarray(styled()).save(styled_file())


if __name__ == "__main__":
    main()
