"""What one run of the contrastive learners chooses, and presets of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.errors import InputError, UnknownNameError
from core.theory.contrastive.learners import Learner
from core.theory.contrastive.world import (
    Cooccurrence,
    Matrix,
    count_windows,
    draw_edges,
    make_chain,
    mix,
    vary_edges,
)

EXPERIMENTS = ("learn", "modalities", "capacity", "tasks")
MOST_TASKS = 1_000


@dataclass(frozen=True)
class Setup:
    """A world, a learner, and what is done with them.

    experiment: one of EXPERIMENTS. world, events: as `draw_edges`. uneven: spread of the edges'
    weights, as `vary_edges`; at 0 a world has neighbors at equal distances. jumps, window, same: as
    `make_chain` and `count_windows`. sampled: train on drawn pairs, not on exact expectations.
    width: of the embedding, the number of events where it is 0. loss, temperature, positives: as
    `Learner`.
    """

    experiment: str = "learn"
    world: str = "ring"
    events: int = 24
    window: int = 8
    uneven: float = 0.3
    jumps: float = 0.3
    same: bool = True
    loss: str = "infonce"
    sampled: bool = False
    width: int = 0
    temperature: float = 1.0
    positives: float = 0.6
    seed: int = 0

    @property
    def learner(self) -> Learner:
        """Return the learner that is asked for."""
        return Learner(self.loss, self.width or self.events, self.temperature, self.positives)

    def cooccur(self) -> Cooccurrence:
        """Return the world's co-occurrence."""
        return self._follow(self.edges())

    def cooccur_in_tasks(self, tasks: int, *, spread: float, seed: int) -> Cooccurrence:
        """Return the co-occurrence of several tasks at once: processes over the same events, each
        with the edges varied anew.
        """
        edges = self.edges()
        return mix(
            [
                self._follow(vary_edges(edges, spread=spread, seed=MOST_TASKS * seed + task))
                for task in range(tasks)
            ]
        )

    def edges(self) -> Matrix:
        """Return the weights of the world's steps."""
        plain = draw_edges(self.world, events=self.events, seed=self.seed)
        return vary_edges(plain, spread=self.uneven, seed=self.seed)

    def _follow(self, edges: Matrix) -> Cooccurrence:
        return count_windows(
            make_chain(edges, jumps=self.jumps), window=self.window, same=self.same
        )


@dataclass(frozen=True)
class Preset:
    """A setup with a name, and what the theory claims of it."""

    title: str
    claim: str
    setup: Setup


PRESETS: Mapping[str, Preset] = {
    "infonce": Preset(
        "InfoNCE", "Products equal τ times the PMI kernel, plus a constant.", Setup()
    ),
    "nce": Preset(
        "Binary NCE", "Products equal the PMI kernel plus log p / (1 − p).", Setup(loss="nce")
    ),
    "sampled": Preset(
        "From sampled pairs",
        "Sampled pairs lead to the same kernel, with noise.",
        Setup(sampled=True),
    ),
    "rough": Preset(
        "A world that is not smooth",
        "No offset makes the kernel an inner product, so it can only be approached.",
        Setup(window=2, jumps=0.1),
    ),
    "modalities": Preset(
        "Two modalities",
        "One-to-one observations are learned alike; what a modality loses, alignment loses.",
        Setup(experiment="modalities"),
    ),
    "capacity": Preset(
        "Too narrow", "A width below the rank cannot hold the kernel.", Setup(experiment="capacity")
    ),
    "tasks": Preset(
        "More tasks",
        "With many tasks two learners become alike, though they share none of them.",
        Setup(experiment="tasks", loss="nce", positives=0.9),
    ),
}


def make_setup(preset: str, **changes: Any) -> Setup:
    """Return a preset's setup with these changes; None changes nothing.

    Raises UnknownNameError for the preset; InputError for a choice that its learner or experiment
    does not have.
    """
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    given = {name: value for name, value in changes.items() if value is not None}
    setup = replace(PRESETS[preset].setup, **given)
    foreign = {
        "temperature": setup.loss == "nce",
        "positives": setup.loss == "infonce",
        "width": setup.experiment == "capacity",
    }
    for name, idle in foreign.items():
        if idle and name in given:
            other = (
                "where every width is tried" if name == "width" else f"with the loss {setup.loss}"
            )
            raise InputError(f"{name} cannot be chosen {other}; leave it out")
    return setup
