"""What the page and the command show of contrastive learners, look by look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from core.metrics import METRICS
from core.spaces.kernels import centered
from core.theory.contrastive.capacity import best_r2
from core.theory.contrastive.learners import Glance, fit_products, learn, learn_sampled
from core.theory.contrastive.pmi import least_offset, pmi_kernel, smoothness
from core.theory.contrastive.setups import Setup
from core.theory.contrastive.views import (
    LOSSES,
    align_kernels,
    align_views,
    information_left,
    observe,
    see,
)
from core.theory.contrastive.world import Cooccurrence
from core.theory.looks import Look, Run, in_one_thread

SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
TASKS, SPREAD, PAIRS = (1, 2, 4, 8, 16, 32), 1.0, 2
NEIGHBORS = 3


def start(setup: Setup) -> Run:
    """Begin the experiment of a setup; see the functions of this module for each experiment's
    figures.
    """
    run = {"learn": watch, "modalities": lose_sight, "capacity": narrow, "tasks": add_tasks}[
        setup.experiment
    ](setup)
    return run._replace(looks=in_one_thread(run.looks))


@dataclass(frozen=True)
class Kernel:
    """What a world's kernel is before any learning.

    least_offset, smallest_eigenvalue, why_none: as `least_offset`. smooth, needed, least_own,
    proof_offset: proposition 1, as `smoothness`. given_offset: what binary NCE adds, NaN for
    InfoNCE, which adds what is needed.
    """

    least_offset: float
    smallest_eigenvalue: float
    why_none: str
    smooth: bool
    needed: float
    least_own: float
    proof_offset: float
    given_offset: float


def describe(setup: Setup) -> Kernel:
    """Return what a setup's kernel is before any learning."""
    kernel = pmi_kernel(setup.cooccur().joint)
    offset, condition = least_offset(kernel), smoothness(kernel)
    return Kernel(
        least_offset=offset.value,
        smallest_eigenvalue=offset.smallest,
        why_none=offset.reason,
        smooth=condition.holds,
        needed=condition.needed,
        least_own=condition.least_own,
        proof_offset=condition.offset,
        given_offset=setup.learner.offset,
    )


def watch(setup: Setup) -> Run:
    """Train one learner. Figures: at, loss; slope, offset and r2 of the fit against K_PMI. matrix:
    the embedding.
    """
    world = setup.cooccur()
    kernel = pmi_kernel(world.joint)

    def look(glance: Glance) -> Look:
        fit = fit_products(glance.embedding, kernel)
        return Look({"at": glance.at, "loss": glance.loss, **fit._asdict()}, glance.embedding)

    return Run((look(glance) for glance in _glances(setup, world)), ends=True)


def lose_sight(setup: Setup) -> Run:
    """Learn a second modality that loses ever more, in three ways, and align it with the first,
    which shows every event.

    Figures: view and share lost; bits left; cka and mutual_knn, measured between both embeddings;
    predicted, CKA of the two exact kernels; chance_cka, of the same embeddings paired at random,
    and chance_knn; reason, why one is NaN.
    """
    world = setup.cooccur()

    def looks() -> Iterator[Look]:
        kernel, whole = pmi_kernel(world.joint), _learned(setup, world)
        for kind in LOSSES:
            for share in SHARES:
                view = see(kind, share, events=setup.events, seed=setup.seed + 1)
                seen = observe(world, view.channel)
                other = _learned(setup, seen, seed=1)
                alignment = align_views(whole, other, view, seed=setup.seed, k=NEIGHBORS)
                unpaired = align_views(
                    whole, other, view._replace(shuffled=1.0), seed=setup.seed, k=NEIGHBORS
                )
                yield Look(
                    {
                        "view": kind,
                        "share": share,
                        "bits": information_left(world.joint.sum(axis=1), view),
                        "predicted": align_kernels(
                            kernel, pmi_kernel(seen.joint), view, seed=setup.seed
                        ),
                        "chance_cka": unpaired["cka"],
                        "chance_knn": NEIGHBORS / (setup.events - 1),
                        **alignment,
                    }
                )

    return Run(looks(), len(LOSSES) * len(SHARES))


def narrow(setup: Setup) -> Run:
    """Learn with ever wider embeddings. Figures: width, r2 against K_PMI, best: the greatest R²
    that the width allows.
    """
    world = setup.cooccur()
    kernel = pmi_kernel(world.joint)
    widths = sorted(
        {max(round(setup.events * share), 1) for share in np.geomspace(1 / setup.events, 1, 12)}
    )

    def looks() -> Iterator[Look]:
        for width in widths:
            *_, last = _glances(setup, world, width=width)
            yield Look(
                {
                    "width": width,
                    "r2": fit_products(last.embedding, kernel).r2,
                    "best": best_r2(kernel, width),
                }
            )

    return Run(looks(), len(widths))


def add_tasks(setup: Setup) -> Run:
    """Give two learners ever more tasks, of which they share none, and align them.

    Figures: tasks each; cka and mutual_knn, means over pairs of learners; predicted, CKA of their
    exact kernels; and chance_knn.
    """

    def looks() -> Iterator[Look]:
        for tasks in TASKS:
            rows = [_align_tasks(setup, tasks, pair) for pair in range(PAIRS)]
            means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
            yield Look({"tasks": tasks, **means, "chance_knn": NEIGHBORS / (setup.events - 1)})

    return Run(looks(), len(TASKS))


def _align_tasks(setup: Setup, tasks: int, pair: int) -> dict[str, float]:
    worlds = [setup.cooccur_in_tasks(tasks, spread=SPREAD, seed=2 * pair + side) for side in (1, 2)]
    first, second = (_learned(setup, world, seed=side) for side, world in enumerate(worlds))
    kernels = [centered(pmi_kernel(world.joint)) for world in worlds]
    return {
        "cka": METRICS["cka"](first, second),
        "mutual_knn": METRICS["mutual_knn"](first, second, k=NEIGHBORS),
        "predicted": float((kernels[0] * kernels[1]).sum()),
    }


def _learned(setup: Setup, world: Cooccurrence, *, seed: int = 0) -> Float64[np.ndarray, "n d"]:
    *_, last = _glances(setup, world, seed=seed)
    return last.embedding.numpy()


def _glances(
    setup: Setup, world: Cooccurrence, *, width: int = 0, seed: int = 0
) -> Iterator[Glance]:
    train = learn_sampled if setup.sampled else learn
    learner = replace(setup.learner, width=width or setup.learner.width)
    return train(learner, world.joint, seed=setup.seed + seed)
