"""Reading across: can one model read what another represents?"""

from __future__ import annotations

from pages._parts.reading import prefixes, swaps
from pages._shared import bar, frame, queries
from pages._shared.queries import Place


def show(at: Place) -> None:
    """Draw what language models read of images, and what probes tell of other models' spaces."""
    if queries.models(at).empty:
        frame.need_readers(at, "caption", "image")
    frame.need_stimuli(at)
    with bar.controls_bar():
        prefix = prefixes.pick(at)
        swap = swaps.pick(at, seed=prefix.lessons.seed)
    prefixes.show(at, prefix)
    swaps.show(at, swap)


frame.draw("Can one model read another?", show)
