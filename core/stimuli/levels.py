"""Caption levels beyond those that a dataset names, made of them where a stimulus has several
captions: more text to read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from core.errors import StimuliError, UnknownNameError

LONGEST, CONCATENATED, MEAN = "longest", "concatenated", "mean"
DERIVED = (LONGEST, CONCATENATED, MEAN)

Texts = list[
    tuple[str, ...]
]  # by stimulus: what a model reads of it; of several texts, the vectors' mean is taken


def offered_levels(own: Sequence[str], written: Sequence[str] = ()) -> tuple[str, ...]:
    """Return every level that can be embedded: the dataset's own, those that follow from several,
    and those written since.
    """
    derived = [level for level in DERIVED if level not in own] if len(own) > 1 else []
    return tuple(dict.fromkeys((*own, *derived, *written)))


def texts_at(
    captions: pd.DataFrame, level: str, *, own: Sequence[str], stimuli: Sequence[str]
) -> Texts:
    """Return what is read of each stimulus at a level.

    captions: index, level, text, in the order of stimuli and levels. own: the levels they have.
    stimuli: the ids in order. `longest` is a stimulus's caption of most characters (the first of
    equals), `concatenated` all of them with spaces between, `mean` all of them each for itself, in
    the order of the levels; a level that the dataset has by that name is the dataset's. Raises
    UnknownNameError for the level, StimuliError for stimuli without a caption of it.
    """
    if level not in offered_levels(own):
        raise UnknownNameError("caption level", level, offered_levels(own))
    wanted = captions[captions["level"] == level] if level in own else captions
    by_index = {index: tuple(texts) for index, texts in wanted.groupby("index")["text"]}
    if lacking := [name for index, name in enumerate(stimuli) if index not in by_index]:
        some = ", ".join(map(repr, lacking[:3])) + (" …" if len(lacking) > 3 else "")
        raise StimuliError(
            f"{len(lacking)} of {len(stimuli)} stimuli have no caption of level {level!r}: {some};"
            f" add them, or choose another of: {', '.join(own)}"
        )
    combine: dict[str, Callable[[tuple[str, ...]], tuple[str, ...]]] = {
        LONGEST: lambda texts: (max(texts, key=len),),
        CONCATENATED: lambda texts: (" ".join(texts),),
    }
    if level in own or level == MEAN:
        return [by_index[index] for index in range(len(stimuli))]
    return [combine[level](by_index[index]) for index in range(len(stimuli))]
