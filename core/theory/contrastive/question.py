"""Contrastive learners of one embedding per event, g(a, b) = ⟨f(a), f(b)⟩, on exact expectations.

Binary NCE is least at g = K_PMI + log p / (1 − p), with a share p of positive pairs; InfoNCE at
g = τ K_PMI + c, any c. Source: Huh et al. 2024, appendix F.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64, Int64
from torch import Tensor
from torch.nn.functional import logsigmoid

from core.errors import InputError, MetricError
from core.figures.grammar import (
    Axis,
    Dots,
    Facet,
    Fixed,
    Heat,
    Line,
    Palette,
    Plot,
    Scale,
    Symbols,
)
from core.metrics import METRICS
from core.options import option, options_of, part, seed_option
from core.progress import tell_each
from core.questions.finding import Finding
from core.questions.question import Answer, Question
from core.spaces.kernels import centered
from core.theory.contrastive.world import (
    ROUNDING,
    Cooccurrence,
    Matrix,
    Vector,
    count_windows,
    draw_ring,
    least_offset,
    make_chain,
    pmi_kernel,
    smoothness,
)
from core.theory.simulation import Matrix as Products
from core.theory.simulation import descend, in_one_thread

Scalar = Float64[Tensor, ""]
Embedding = Float64[np.ndarray, "n d"]
Channel = Float64[np.ndarray, "n m"]  # the probability of each observation of each event (rows)
VIEWS = {"lossy": "events merged", "noisy": "noisy"}
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
DRAWS = 10  # of what is shown, over which alignment is averaged


@dataclass(frozen=True)
class Setup:
    """A world and a learner."""

    events: int = option(24, least=3, most=1_024, help="events of the world, on a ring")
    window: int = option(8, least=1, most=64, label="Window T", help="steps to either side")
    jumps: float = option(0.3, least=0, most=1, metavar="P", help="share of steps to any event")
    uneven: float = option(
        0.3, least=0, most=10, metavar="S", help="spread of the steps' weights, 0 for equal ones"
    )
    loss: Literal["infonce", "nce"] = option("infonce", help="contrastive loss")
    width: int = option(
        0, least=0, most=1_024, help="width of the embedding, 0 for as many as events"
    )
    temperature: float = option(
        1.0,
        least=0.001,
        most=1_000,
        metavar="T",
        label="Temperature τ",
        help="of InfoNCE",
    )
    positives: float = option(
        0.6,
        least=0.001,
        most=0.999,
        metavar="P",
        label="Positive pairs",
        help="share of positive pairs, of binary NCE",
    )
    seed: int = seed_option("seed of the world, and of the learner")

    @property
    def slope(self) -> float:
        """The theory's slope of ⟨f(a), f(b)⟩ over K_PMI."""
        return self.temperature if self.loss == "infonce" else 1.0

    @property
    def offset(self) -> float:
        """What the theory says is added to K_PMI; NaN if the loss leaves it open."""
        return math.log(self.positives / (1 - self.positives)) if self.loss == "nce" else math.nan

    def cooccur(self) -> Cooccurrence:
        """Return the world's co-occurrence."""
        edges = draw_ring(self.events, spread=self.uneven, seed=self.seed)
        return count_windows(make_chain(edges, jumps=self.jumps), window=self.window)

    def learned(self, world: Cooccurrence, *, seed: int = 0) -> Embedding:
        """Train on a co-occurrence and return the embedding."""
        return learn(self, world.joint, seed=self.seed + seed)


class Fit(NamedTuple):
    """⟨f(a), f(b)⟩ = slope · K_PMI(a, b) + offset by least squares over all ordered pairs, each
    event with itself included.
    """

    slope: float
    offset: float
    r2: float


def exact_loss(setup: Setup, joint: Products) -> Callable[[Products], Scalar]:
    """Return the loss as a function of all products g (N, N).

    Binary NCE: −p E log σ(g(x, x₊)) − (1 − p) E log σ(−g(x, x₋)). InfoNCE: −E log e^{g(x, x₊)/τ} /
    Σₖ e^{g(x, x₋ᵏ)/τ} in the limit of many negatives, less their number's log.
    """
    own = joint.sum(1)
    if setup.loss == "nce":
        p, apart = setup.positives, own[:, None] * own
        return lambda g: -(p * joint * logsigmoid(g) + (1 - p) * apart * logsigmoid(-g)).sum()
    tau = setup.temperature
    return lambda g: (own * torch.logsumexp(g / tau + own.log(), 1)).sum() - (joint * g).sum() / tau


def learn(setup: Setup, joint: np.ndarray, *, seed: int = 0) -> Float64[np.ndarray, "n d"]:
    """Train by L-BFGS until nothing moves, and return the embedding. joint: P_coor (N, N)."""
    of_products = exact_loss(setup, torch.from_numpy(joint))

    def objective(weights: Sequence[Products]) -> Scalar:
        return of_products(weights[0] @ weights[0].T)

    draw, width = torch.Generator().manual_seed(seed), setup.width or setup.events
    start = torch.randn(len(joint), width, generator=draw, dtype=torch.float64) / math.sqrt(width)
    *_, (embedding,) = descend([start], objective)
    return embedding.numpy()


def fit_products(embedding: Float64[np.ndarray, "n d"], kernel: np.ndarray) -> Fit:
    """Fit the learned products to the PMI kernel; r2 is their squared correlation over all pairs.

    Raises MetricError for a kernel that is the same for all pairs.
    """
    if np.ptp(kernel) < ROUNDING:
        raise MetricError(
            "the PMI of all pairs is the same, so that there is nothing to learn; take fewer jumps,"
            " or uneven steps"
        )
    g, k = (embedding @ embedding.T).ravel(), kernel.ravel()
    slope = float(np.cov(g, k, bias=True)[0, 1] / k.var())
    return Fit(slope, float(g.mean() - slope * k.mean()), float(np.corrcoef(g, k)[0, 1] ** 2))


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


def see(kind: str, share: float, *, events: int, seed: int) -> Channel:
    """Return a channel that loses a share of what there is to see, 0 … 1; at 0 it is one-to-one.

    kind: "lossy" merges events at random until 1 − share of them are left, at least 2; "noisy"
    shows any observation in place of the event's own with that probability.
    """
    order = np.random.default_rng(seed).permutation(events)
    if kind == "lossy":
        left = max(round((1 - share) * events), 2)
        return np.eye(left)[order % left]
    channel: np.ndarray = (1 - share) * np.eye(events)[order] + share / events
    return channel


def observe(world: Cooccurrence, channel: Channel) -> Cooccurrence:
    """Return the co-occurrence of observations: at t ≠ t' both ends go through the channel, each on
    its own, Qᵀ A Q; at t = t' there is one observation, which is itself.
    """
    return Cooccurrence(world.same @ channel, channel.T @ world.apart @ channel)


def information_left(own: Vector, channel: Channel) -> float:
    """Return the mutual information in bits between an event and its observation, at most the
    entropy of `own`, the probability of each event.
    """
    joint = own[:, None] * channel
    seen = own[:, None] * joint.sum(axis=0)
    held = joint > 0
    return float((joint[held] * np.log2(joint[held] / seen[held])).sum())


def lose_sight(setup: Setup) -> pd.DataFrame:
    """Learn a second modality that loses ever more, in two ways, and align it with the first, which
    shows every event.
    """
    world = setup.cooccur()
    kernel, whole = pmi_kernel(world.joint), setup.learned(world)
    rows = []
    for kind, share in tell_each([*product(VIEWS, SHARES)], "views"):
        channel = see(kind, share, events=setup.events, seed=setup.seed + 1)
        seen = observe(world, channel)
        other = setup.learned(seen, seed=1)
        rows.append(
            {
                "view": kind,
                "share": share,
                "bits": information_left(world.joint.sum(axis=1), channel),
                "predicted": align_kernels(
                    kernel, pmi_kernel(seen.joint), channel, seed=setup.seed
                ),
                "chance_cka": align_views(whole, other, channel, seed=setup.seed, unpaired=True),
                "cka": align_views(whole, other, channel, seed=setup.seed),
            }
        )
    return pd.DataFrame(rows)


def align_views(
    first: Embedding,
    second: Float64[np.ndarray, "m e"],
    channel: Channel,
    *,
    seed: int,
    unpaired: bool = False,
) -> float:
    """Return CKA of the embeddings of events and of their observations, each event seen once by
    both: the mean over DRAWS. unpaired: with the observations paired at random.
    """
    pairs = [
        METRICS["cka"](first[events], second[shown])
        for events, shown in _pairings(channel, seed, unpaired=unpaired)
    ]
    return float(np.mean(pairs))


def align_kernels(
    first: Matrix, second: Float64[np.ndarray, "m m"], channel: Channel, *, seed: int
) -> float:
    """Return what `align_views` would find if both embeddings had exactly these kernels."""
    values = [
        (centered(first[np.ix_(events, events)]) * centered(second[np.ix_(shown, shown)])).sum()
        for events, shown in _pairings(channel, seed)
    ]
    return float(np.mean(values))


def _pairings(
    channel: Channel, seed: int, *, unpaired: bool = False
) -> Iterator[tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]]:
    draw = np.random.default_rng(seed)
    for _ in range(DRAWS):
        order = draw.permutation(len(channel))
        events, moved = np.arange(len(order)), draw.permutation(len(order))
        if unpaired:
            events[moved] = draw.permutation(moved)
        chances = channel[events].cumsum(axis=1)
        shown = (draw.random((len(order), 1)) * chances[:, -1:] >= chances).sum(axis=1)
        yield order, shown[order]


def kernel_findings(setup: Setup, table: pd.DataFrame) -> Iterator[Finding]:
    """Return how well the products follow the PMI kernel, and whether they can."""
    fit = table.iloc[0]
    yield Finding(
        "learned similarities follow how often events co-occur",
        fit["r2"],
        name="R²",
        digits=6 if fit["r2"] > 0.999 else 3,
        note="The theory predicts 1 if the kernel is an inner product.",
    )
    offset = "" if math.isnan(setup.offset) else f" and offset {setup.offset:.3g}"
    yield Finding(
        f"their slope is {fit['slope']:.3f} and their offset {fit['offset']:.3g}",
        note=f"The theory predicts slope {setup.slope:g}{offset}.",
    )
    kernel = pmi_kernel(setup.cooccur().joint)
    least, condition, given = least_offset(kernel), smoothness(kernel), setup.offset
    few = "The present one is smaller: raise the share of positive pairs."
    yield Finding(
        "least offset that makes the kernel an inner product",
        least.value,
        reason=least.reason,
        note=few if given < least.value else "",
    )
    yield Finding(
        f"the sufficient condition of proposition 1 is{'' if condition.holds else ' not'} met",
        condition.least_own,
        name="least PMI of an event with itself",
        note=f"It asks for {condition.needed:.3g}.",
    )


def view_findings(table: pd.DataFrame) -> Iterator[Finding]:
    """Return the alignment of one-to-one observations and of those that lose most."""
    yield Finding(
        "alignment of one-to-one observations",
        table.loc[table["share"] == 0, "cka"].min(),
        name="CKA",
        digits=6,
        note="The theory predicts 1.",
    )
    for view, last in table.groupby("view", sort=False).last().iterrows():
        yield Finding(
            f"alignment after the largest loss, {view}",
            last["cka"],
            name="CKA",
            note=f"Chance is {last['chance_cka']:.2f}.",
        )
    apart = (table["cka"] - table["predicted"]).abs().max()
    yield Finding("largest difference from the CKA of the exact kernels", apart, digits=4)


class Preset(NamedTuple):
    """A question with a name. claim: what the theory says of it; formula: the same in LaTeX.
    choices: options other than the default.
    """

    title: str
    claim: str
    formula: str
    choices: Mapping[str, Any]


PRESETS: Mapping[str, Preset] = {
    "infonce": Preset(
        "InfoNCE",
        "Products equal τ times the PMI kernel, plus a constant.",
        r"g = \tau K_\mathsf{PMI} + c",
        {},
    ),
    "nce": Preset(
        "Binary NCE",
        "Products equal the PMI kernel plus log p / (1 − p).",
        r"g = K_\mathsf{PMI} + \log \tfrac{p}{1 - p}",
        {"loss": "nce"},
    ),
    "rough": Preset(
        "A world that is not smooth",
        "No offset makes the kernel an inner product, so it can only be approached.",
        r"\forall C:\; K_\mathsf{PMI} + C \not\succeq 0",
        {"window": 2, "jumps": 0.1},
    ),
    "modalities": Preset(
        "Two modalities",
        "One-to-one observations are learned alike; what a modality loses, alignment loses.",
        r"K_\mathsf{PMI}(x_a, x_b) = K_\mathsf{PMI}(z_a, z_b) = K_\mathsf{PMI}(y_a, y_b)",
        {"of": "modalities"},
    ),
}


@dataclass(frozen=True)
class Contrastive(Question):
    """Why do contrastive learners converge?"""

    command: ClassVar[str] = "theory contrastive"
    version: ClassVar[int] = 3
    columns: ClassVar[Mapping[str, str]] = {
        "pmi": "K_PMI of two events, in nats",
        "learned": "⟨f(a), f(b)⟩ of two events",
        "slope": "slope of ⟨f(a), f(b)⟩ over K_PMI",
        "offset": "offset, in nats",
        "r2": "R² of the products against K_PMI",
        "bits": "mutual information left, in bits",
        "cka": "CKA of both embeddings",
        "chance_cka": "CKA of the same embeddings, paired at random",
        "predicted": "CKA of the exact kernels",
    }

    of: Literal["kernel", "modalities"] = option(
        "kernel", label="Of", help="what is learned: the kernel, or two modalities"
    )
    setup: Setup = part(Setup)

    def complete(self, study: None) -> Contrastive:
        unused = {"infonce": "positives", "nce": "temperature"}[self.setup.loss]
        (default,) = (one.default for one in options_of(Setup) if one.name == unused)
        if getattr(self.setup, unused) != default:
            raise InputError(f"{unused} makes no difference here; leave it out")
        return self

    def answer(self, study: None) -> Answer:
        with in_one_thread():
            if self.of == "modalities":
                table = lose_sight(self.setup)
                return Answer(table, list(view_findings(table)))
            table = learn_kernel(self.setup)
        return Answer(table, list(kernel_findings(self.setup, table)))

    def plot(self, table: pd.DataFrame) -> Plot:
        return information_plot(table) if self.of == "modalities" else products_plot(table)


def kernels_plot(table: pd.DataFrame) -> Plot:
    """Draw the PMI kernel next to the learned products, each on its own scale since slope and
    offset are free.
    """
    names = {"pmi": "K PMI, in nats", "learned": "learned ⟨f(a), f(b)⟩"}
    long = table.melt(["first", "second"], list(names), "panel", "z")
    return Plot(
        "PMI kernel and learned products",
        (Heat("first", "second", Scale("z", bar=False), card=("{first}, {second}: {z:.3f}",)),),
        x=Axis("event"),
        y=Axis("event", reversed=True),
        facet=Facet("panel", names, share="xy"),
        height=330,
        table=long,
    )


def products_plot(table: pd.DataFrame) -> Plot:
    """Draw the learned product of every pair of events against its PMI, with the fit."""
    ends = pd.DataFrame({"pmi": [table["pmi"].min(), table["pmi"].max()]})
    ends["learned"] = table["slope"].iloc[0] * ends["pmi"] + table["offset"].iloc[0]
    card = ("events {first} and {second}", "PMI {pmi:.3f}, learned {learned:.3f}")
    dots = Dots("pmi", "learned", color=Fixed("soft"), size=5, symbol="circle", card=card)
    return Plot(
        "Learned products against PMI",
        (
            replace(dots, rows="first < second", name="two events"),
            replace(
                dots,
                rows="first == second",
                name="an event with itself",
                color=Fixed("ember"),
                size=7,
                symbol="diamond",
            ),
            Line("pmi", "learned", table=ends, name="least-squares fit", dash="dash", width=1.5),
        ),
        x=Axis("K PMI, in nats"),
        y=Axis("learned ⟨f(a), f(b)⟩"),
        height=380,
        table=table,
    )


def information_plot(table: pd.DataFrame) -> Plot:
    """Draw alignment of two modalities over the mutual information that is left: dots measured,
    dashed lines predicted, dotted ones unrelated pairs.
    """
    colors = Palette("view", {"lossy": "ember", "noisy": "text"}, VIEWS)
    shapes = Symbols("view", {"lossy": "circle", "noisy": "square"})
    card = ("{view}, {share:.0%} lost", "{cka:.3f}")
    return Plot(
        "Alignment over what is left to know",
        (
            Line("bits", "predicted", color=colors, dash="dash", width=1.5),
            Dots("bits", "cka", color=colors, size=10, symbol=shapes, card=card),
            Line(
                *("bits", "chance_cka"),
                by="view",
                color=Fixed("chance"),
                dash="dot",
                name="unrelated pairs",
            ),
        ),
        x=Axis("mutual information left, in bits", zero=True),
        y=Axis("CKA", range=(0, 1.02)),  # so that a point at 1 is whole
        height=380,
        table=table,
    )
