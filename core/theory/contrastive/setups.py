"""What one run of the contrastive learners chooses, and presets of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.errors import InputError
from core.theory.contrastive.learners import Learner
from core.theory.contrastive.question import Contrastive
from core.theory.contrastive.world import (
    Cooccurrence,
    Matrix,
    count_windows,
    draw_edges,
    make_chain,
    mix,
    vary_edges,
)

MOST_TASKS = 1_000
OPTIONAL = (  # of a question: what it leaves to the preset where it does not say
    "world",
    "events",
    "window",
    "jumps",
    "uneven",
    "loss",
    "width",
    "temperature",
    "positives",
)


@dataclass(frozen=True)
class Setup:
    """A world, a learner, and what is done with them.

    experiment: learn, modalities, capacity or tasks. world, events: as `draw_edges`. uneven: spread
    of the edges' weights, as `vary_edges`; at 0 a world has neighbors at equal distances. jumps,
    window, same: as `make_chain` and `count_windows`. sampled: train on drawn pairs, not on exact
    expectations.
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
        """Return the learner of this setup."""
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


def make_setup(question: Contrastive) -> Setup:
    """Return the setup of a question's preset with all that the question says itself.

    Raises InputError for a choice that its learner or experiment does not have.
    """
    preset = PRESETS[question.preset].setup
    values = {name: getattr(question, name) for name in OPTIONAL}
    changes = {name: value for name, value in values.items() if value is not None}
    setup = replace(preset, same=not question.apart, seed=question.seed, **changes)
    for name, why in _unused(setup).items():
        if name in changes:
            raise InputError(f"{name} cannot be chosen {why}; leave it out")
    return setup


def used(setup: Setup) -> tuple[str, ...]:
    """Return the options of `OPTIONAL` that a setup depends on."""
    return tuple(name for name in OPTIONAL if name not in _unused(setup))


def _unused(setup: Setup) -> dict[str, str]:
    """Return the options that make no difference to a setup, and why."""
    idle = "positives" if setup.loss == "infonce" else "temperature"
    unused = {idle: f"with the loss {setup.loss}"}
    if setup.experiment == "capacity":
        unused["width"] = "where every width is tried"
    return unused
