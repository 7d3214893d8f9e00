"""`python -m tests.benchmarks.met_events [MODEL …]`: whether probes are right more often on events
whose like a model of the Cave has seen.

No model is trained on an event of the probes, but some events of theirs have the signature of one
that it was trained on: the same scene, time, weather, kinds, colors and sizes, elsewhere in the
picture. Most of them hold one thing alone, which is easier for reasons of its own, so events of one
thing that were not met stand beside them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float32

from core.competence.images.cave_tasks import cave_tasks
from core.competence.images.labeled import ImageSet
from core.competence.probes import Split, probe
from core.demo.building import shipped_specs
from core.embedding.batches import encode_fitting
from core.encoders.catalog import open_encoder
from core.encoders.encoder import Encoder
from core.stimuli.cave import tasks
from core.stimuli.cave.dataset import CaveDataset
from core.stimuli.cave.events import Event, events
from core.training.configs import IMAGES
from core.training.rows import SPLIT

BATCH = 200
MODELS = ("vit-clip-m", "vit-multitask-m", "vit-mae-m", "vit-narrow-s")


def main(models: Sequence[str]) -> None:
    """Print the share of right answers on events that were met and on all others, the mean over
    the tasks of plain pictures.
    """
    plain, specs = cave_tasks(CaveDataset().card)[0], shipped_specs()
    asked = list(events(tasks.SPLIT, plain.size))
    met = signatures_met(asked)
    alone = np.array([len(event.things) == 1 for event in asked])
    groups = {"met": met, "others": ~met, "others, one thing": ~met & alone}
    test = plain.questions[0].parts.test
    counts = [f"{int(group[test].sum())} {name}" for name, group in groups.items()]
    print(
        f"{len(test)} test events: {', '.join(counts)}; {(met & alone)[test].sum()} met, one thing"
    )
    print(f"{'model':20}" + "".join(f"{name:>20}" for name in groups))
    for model in models:
        space = last_layer(open_encoder(specs[model], device=torch.device("cpu")), plain)
        shares = [mean_right(space, plain, group) for group in groups.values()]
        print(f"{model:20}" + "".join(f"{share:20.3f}" for share in shares), flush=True)


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
    main(sys.argv[1:] or MODELS)
