"""What is done with contrastive learners: one learner, two modalities, ever wider ones.

A second modality observes the same events through a channel Q (N, M): the probability of each
observation (columns) of each event (rows). A one-to-one channel leaves P_coor what it is; others do
not. A shuffled pairing is no channel: both modalities are intact, but a share of what is shown as a
pair belongs to two events that have nothing to do with each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.metrics import METRICS
from core.options import option, seed_option
from core.progress import tell_each
from core.spaces.kernels import centered
from core.theory.contrastive.kernel import best_r2, pmi_kernel
from core.theory.contrastive.learners import Learner, fit_products, learn, learn_sampled
from core.theory.contrastive.world import (
    Cooccurrence,
    Matrix,
    Vector,
    count_windows,
    draw_edges,
    make_chain,
    vary_edges,
)

Embedding = Float64[np.ndarray, "n d"]
Indices = Int64[np.ndarray, " n"]
VIEWS = ("lossy", "noisy", "shuffled")
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DRAWS = 10  # of what is shown, over which alignment is averaged
NEIGHBORS = 3


@dataclass(frozen=True)
class Setup:
    """A world and a learner."""

    world: Literal["ring", "clusters", "random"] = option("ring", help="shape of the world")
    events: int = option(24, least=3, most=1_024, help="events of the world")
    window: int = option(8, least=1, most=64, label="Window T", help="steps to either side")
    jumps: float = option(0.3, least=0, most=1, metavar="P", help="share of steps to any event")
    uneven: float = option(
        0.3, least=0, most=10, metavar="S", help="spread of the steps' weights, 0 for equal ones"
    )
    apart: bool = option(
        False, label="Leave t = t′ out", help="do not count an event with itself, t = t′"
    )
    loss: Literal["infonce", "nce"] = option("infonce", help="contrastive loss")
    sampled: bool = option(False, help="train on drawn pairs, not on exact expectations")
    width: int = option(
        0, least=0, most=1_024, help="width of the embedding, 0 for as many as events"
    )
    temperature: float = option(
        1.0, least=0, most=1_000, metavar="T", label="Temperature τ", help="temperature of InfoNCE"
    )
    positives: float = option(
        0.6,
        least=0,
        most=1,
        metavar="P",
        label="Positive pairs",
        help="share of positive pairs, of binary NCE",
    )
    seed: int = seed_option("seed of the world, the learner and what it samples")

    @property
    def learner(self) -> Learner:
        """The learner of this setup."""
        return Learner(self.loss, self.width or self.events, self.temperature, self.positives)

    def cooccur(self) -> Cooccurrence:
        """Return the world's co-occurrence."""
        plain = draw_edges(self.world, events=self.events, seed=self.seed)
        edges = vary_edges(plain, spread=self.uneven, seed=self.seed)
        chain = make_chain(edges, jumps=self.jumps)
        return count_windows(chain, window=self.window, same=not self.apart)

    def learned(self, world: Cooccurrence, *, width: int = 0, seed: int = 0) -> Embedding:
        """Train on a co-occurrence and return the embedding."""
        train = learn_sampled if self.sampled else learn
        learner = replace(self.learner, width=width or self.learner.width)
        return train(learner, world.joint, seed=self.seed + seed)


def learn_kernel(setup: Setup) -> pd.DataFrame:
    """Train one learner; return first, second, pmi and learned of every ordered pair of events, and
    slope, offset and r2 of the fit, the same in every row.
    """
    world = setup.cooccur()
    kernel, embedding = pmi_kernel(world.joint), setup.learned(world)
    first, second = (index.ravel() for index in np.indices(kernel.shape))
    learned = (embedding @ embedding.T).ravel()
    fit = fit_products(embedding, kernel)._asdict()
    pairs = {"first": first, "second": second, "pmi": kernel.ravel(), "learned": learned}
    return pd.DataFrame(pairs).assign(**fit)


def narrow(setup: Setup) -> pd.DataFrame:
    """Learn with ever wider embeddings."""
    world = setup.cooccur()
    kernel = pmi_kernel(world.joint)
    shares = np.geomspace(1 / setup.events, 1, 12)
    widths = sorted({max(round(setup.events * share), 1) for share in shares})
    rows = []
    for width in tell_each(widths, "widths"):
        fit = fit_products(setup.learned(world, width=width), kernel)
        rows.append({"width": width, "r2": fit.r2, "best": best_r2(kernel, width)})
    return pd.DataFrame(rows)


class View(NamedTuple):
    """How a second modality sees the events: its channel, and the share of pairs with the first
    that are shuffled.
    """

    channel: Float64[np.ndarray, "n m"]
    shuffled: float = 0.0


def see(kind: str, share: float, *, events: int, seed: int) -> View:
    """Return a view that loses a share of what there is to see, 0 … 1; at 0 it is one-to-one.

    kind: "lossy" merges events at random until 1 − share of them are left, at least 2; "noisy"
    shows any observation in place of the event's own with that probability; "shuffled" pairs that
    share at random.
    """
    order = np.random.default_rng(seed).permutation(events)
    if kind == "lossy":
        left = max(round((1 - share) * events), 2)
        return View(np.eye(left)[order % left])
    exact = np.eye(events)[order]
    return View((1 - share) * exact + share / events) if kind == "noisy" else View(exact, share)


def observe(world: Cooccurrence, channel: Float64[np.ndarray, "n m"]) -> Cooccurrence:
    """Return the co-occurrence of observations: at t ≠ t' both ends go through the channel, each on
    its own, Qᵀ A Q; at t = t' there is one observation, which is itself.
    """
    return Cooccurrence(world.same @ channel, channel.T @ world.apart @ channel)


def information_left(own: Vector, view: View) -> float:
    """Return the mutual information in bits between an event and the view's observation.

    own: probability of each event. Range 0 … the entropy of `own`.
    """
    paired = own[:, None] * view.channel
    seen = own[:, None] * paired.sum(axis=0)
    joint = (1 - view.shuffled) * paired + view.shuffled * seen
    held = joint > 0
    return float((joint[held] * np.log2(joint[held] / seen[held])).sum())


def lose_sight(setup: Setup) -> pd.DataFrame:
    """Learn a second modality that loses ever more, in three ways, and align it with the first,
    which shows every event. chance_cka: of the same embeddings paired at random.
    """
    world = setup.cooccur()
    kernel, whole = pmi_kernel(world.joint), setup.learned(world)
    rows: list[dict[str, Any]] = []
    for kind, share in tell_each([*product(VIEWS, SHARES)], "views"):
        view = see(kind, share, events=setup.events, seed=setup.seed + 1)
        seen = observe(world, view.channel)
        other = setup.learned(seen, seed=1)
        unpaired = align_views(whole, other, view._replace(shuffled=1.0), seed=setup.seed)
        rows.append(
            {
                "view": kind,
                "share": share,
                "bits": information_left(world.joint.sum(axis=1), view),
                "predicted": align_kernels(kernel, pmi_kernel(seen.joint), view, seed=setup.seed),
                "chance_cka": unpaired["cka"],
                "chance_knn": NEIGHBORS / (setup.events - 1),
                **align_views(whole, other, view, seed=setup.seed),
            }
        )
    return pd.DataFrame(rows)


def align_views(
    first: Embedding, second: Embedding, view: View, *, seed: int
) -> dict[str, float | str]:
    """Return `cka` and `mutual_knn` of both embeddings over the events, each seen once by both
    modalities: means over DRAWS.

    first: embedding of the events, second: of the view's observations. `reason`: why mutual k-NN is
    NaN, such as events that the view merges. Raises MetricError if CKA is degenerate.
    """
    pairs = [(first[events], second[shown]) for events, shown in _pairings(view, seed)]
    cka = float(np.mean([METRICS["cka"](x, y) for x, y in pairs]))
    try:
        shared = float(np.mean([METRICS["mutual_knn"](x, y, k=NEIGHBORS) for x, y in pairs]))
    except MetricError:
        why = "mutual k-NN: most observations have others that equal them"
        return {"cka": cka, "mutual_knn": math.nan, "reason": why}
    return {"cka": cka, "mutual_knn": shared, "reason": ""}


def align_kernels(first: Matrix, second: Matrix, view: View, *, seed: int) -> float:
    """Return what `align_views` would find for CKA if both embeddings had exactly these kernels."""
    values = [
        (centered(first[np.ix_(events, events)]) * centered(second[np.ix_(shown, shown)])).sum()
        for events, shown in _pairings(view, seed)
    ]
    return float(np.mean(values))


def _pairings(view: View, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Draw which observation is shown with each event; in any order of the events, since equal
    distances are taken in order.
    """
    draw = np.random.default_rng(seed)
    for _ in range(DRAWS):
        order = draw.permutation(len(view.channel))
        events = np.arange(len(order))
        moved = draw.permutation(len(order))[: round(view.shuffled * len(order))]
        events[moved] = draw.permutation(moved)
        chances = view.channel[events].cumsum(axis=1)
        shown = (draw.random((len(order), 1)) * chances[:, -1:] >= chances).sum(axis=1)
        yield order, shown[order]
