"""The melodies of a dataset's stimuli: made anew from their events, so no store keeps them."""

from __future__ import annotations

from core.errors import StimuliError
from core.stimuli.cave.events import draw_event
from core.stimuli.cave.music.melody import sing
from core.stimuli.cave.music.notes import write
from core.stimuli.dataset import DatasetCard


def melody_of(card: DatasetCard, index: int) -> str:
    """Return the melody of a stimulus as text; raises StimuliError as `check_melodies`."""
    check_melodies(card)
    return write(sing(draw_event(card.source.get("split", "test"), int(index))))


def check_melodies(card: DatasetCard) -> None:
    """Raise StimuliError for a dataset whose events are not known, so that none can be sung."""
    if not card.knows_factors:
        raise StimuliError(
            f"dataset {card.name!r} has no melodies, which this model reads: only the Cave's events"
            " are sung; name the Cave with --dataset cave"
        )
