"""`python -m tests.benchmarks.met_events STORE [MODEL …]`: whether probes are right more often on
events whose like a model has seen.

No model is trained on an event of the probes, but some events of theirs have the signature of one
that it was trained on: the same scene, time, weather, kinds, colors and sizes, elsewhere in the
picture. Most of them hold one thing alone, which is easier or harder for reasons of its own, so the
difference is also taken among events of one thing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float32

from core.competence.images.cave_tasks import cave_tasks
from core.competence.images.labeled import ImageSet
from core.competence.opened import entries_to_measure, reopen
from core.competence.probes import Split, probe
from core.embedding.batches import encode_fitting
from core.encoders.encoder import Encoder
from core.stimuli.cave import tasks
from core.stimuli.cave.events import Event, events
from core.store import Store
from core.training.configs import IMAGES
from core.training.rows import SPLIT

BATCH = 200


def main(root: Path, models: Sequence[str]) -> None:
    """Print the share of right answers on events that were met and on all others, over the tasks of
    plain pictures.
    """
    store = Store(root)
    plain = cave_tasks(store.dataset("cave"))[0]
    asked = list(events(tasks.SPLIT, plain.size))
    met = signatures_met(asked)
    alone = np.array([len(event.things) == 1 for event in asked])
    test = plain.questions[0].parts.test
    groups = {
        "met": met,
        "others": ~met,
        "met, one thing": met & alone,
        "others, one thing": ~met & alone,
    }
    counts = {name: int(group[test].sum()) for name, group in groups.items()}
    print(
        f"{len(test)} test events: "
        + ", ".join(f"{count} {name}" for name, count in counts.items())
    )
    print(f"{'model':24}" + "".join(f"{name:>20}" for name in groups))
    shares = []
    for entry in entries_to_measure(store, "cave", models, "image"):
        space = last_layer(reopen(entry, torch.device("cpu")), plain)
        shares.append([mean_right(space, plain, group) for group in groups.values()])
        print(
            f"{entry.card.name:24}" + "".join(f"{share:20.4f}" for share in shares[-1]), flush=True
        )
    print(f"{'mean':24}" + "".join(f"{share:20.4f}" for share in np.mean(shares, axis=0)))


def signatures_met(asked: Sequence[Event]) -> Bool[np.ndarray, "n"]:
    """Return which events have the signature of one of the pictures that models are trained on."""
    shown = {event.signature for event in events(SPLIT, IMAGES)}
    return np.array([event.signature in shown for event in asked])


def last_layer(encoder: Encoder, images: ImageSet) -> Float32[np.ndarray, "n d"]:
    """Return the vectors that a model's probes are fitted to."""
    starts = range(0, images.size, BATCH)
    drawn = (images.images(start, min(start + BATCH, images.size)) for start in starts)
    return np.concatenate([encode_fitting(encoder, each, limit=0)[0].layers[-1] for each in drawn])


def mean_right(
    space: Float32[np.ndarray, "n d"], images: ImageSet, group: Bool[np.ndarray, "n"]
) -> float:
    """Return the share of right answers on the test events of a group, the mean over questions."""
    shares = []
    for question in images.questions:
        train, validation, test = vars(question.parts).values()
        parts = Split(train, validation, test[group[test]])
        shares.append(probe(space, question.labels, parts).value)
    return float(np.mean(shares))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
