"""What the page and `platoscope theory` ask of deep linear networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from core.errors import InputError, UnknownNameError
from core.options import option, part, seed_option
from core.progress import Progress, tell_each
from core.questions.finding import Finding
from core.questions.question import Answer, Question
from core.statistics.intervals import mean_interval
from core.theory.deep_linear import runs
from core.theory.deep_linear.breakers import BREAKERS
from core.theory.deep_linear.minima import least_entropy
from core.theory.deep_linear.runs import NO_NOISE, Tables
from core.theory.deep_linear.training import Descent
from core.theory.deep_linear.world import Net, make_nets
from core.theory.simulation import in_one_thread

if TYPE_CHECKING:
    from core.figures.grammar import Plot

PresetName = Literal[
    "sgd",
    "theorem-1",
    "minima",
    "sharpness",
    "edge-of-stability",
    "limits",
    "hierarchy",
    "breakers",
    "weight-decay",
    "gradient-flow",
    "labels",
    "saddle",
    "private-data",
    "nonlinear-labels",
    "quiet-labels",
    "unrelated-data",
    "two-saddles",
]
MOST_STEPS = 6  # sizes of steps that are compared


@dataclass(frozen=True)
class Networks:
    """The world, the networks, and how SGD goes if it trains them."""

    inputs: int = option(5, least=1, most=64, help="inputs of the world")
    labels: int = option(5, least=1, most=64, help="labels of the world")
    rank: int = option(
        3, least=1, most=64, label="Rank of V", help="rank of the map from inputs to labels"
    )
    a: tuple[int, ...] = option(
        (6, 7), least=1, most=256, label="Network a", help="widths of the hidden layers of a"
    )
    b: tuple[int, ...] = option(
        (5, 9, 8), least=1, most=256, label="Network b", help="widths of the hidden layers of b"
    )
    c: tuple[int, ...] = option(
        (4,), least=1, most=256, label="Network c", help="widths of the hidden layers of c"
    )
    d: tuple[int, ...] = option(
        (7, 5, 6, 8), least=1, most=256, label="Network d", help="widths of the hidden layers of d"
    )
    condition: float = option(
        4.0,
        least=1,
        most=1_000,
        label="Condition of M Z",
        help="how unevenly frozen matrix and view stretch the inputs, 1 for a rotation",
    )
    step: tuple[float, ...] = option(
        (),
        least=1e-4,
        most=1,
        metavar="ETA",
        label="Step η",
        help="size of SGD's steps, up to six if they are compared (those of the preset)",
    )
    batch: int | None = option(
        None,
        least=1,
        most=4096,
        help="samples per step of SGD, whose gradients are averaged (the preset's)",
    )
    seed: int = seed_option("seed of the world and of all networks")

    def draw(self) -> tuple[Net, ...]:
        """Draw the networks."""
        return make_nets(
            (self.a, self.b, self.c, self.d),
            d=self.inputs,
            c=self.labels,
            rank=self.rank,
            condition=self.condition,
            seed=self.seed,
        )

    def descent(self, usual: Descent) -> Descent:
        """Return how SGD goes, as a preset does if nothing is said."""
        return Descent(self.step[0] if self.step else usual.step, self.batch or usual.batch)

    @property
    def world(self) -> dict[str, int]:
        """The choices of a world."""
        return {"d": self.inputs, "c": self.labels, "rank": self.rank, "seed": self.seed}


def _limits(ask: DeepLinear) -> Tables:
    steps = ask.networks.step or (0.01, 0.003, 0.001, 0.0003)
    descents = [Descent(step, ask.descent.batch) for step in steps]
    return runs.sweep_limits(ask.networks.draw()[:2], descents)


def _approach(ask: DeepLinear) -> Tables:
    networks, batch = ask.networks, ask.descent.batch
    return runs.approach_edge(networks.world, networks.a[0], networks.step, batch)


def _sweep(ask: DeepLinear) -> Tables:
    strengths = ask.strength or BREAKERS[ask.preset].allowed(
        modes=ask.networks.rank, labels=ask.networks.labels
    )
    return runs.sweep(ask.preset, ask.networks.draw(), strengths)


def _break_all(ask: DeepLinear) -> Tables:
    rows = [break_once(name, ask.networks) for name in tell_each(WAYS, "ways")]
    return {"looks": pd.DataFrame(rows)}


def break_once(name: str, networks: Networks) -> dict[str, Any]:
    """Return a row on a way to break the theorem: preset, title, broken, mechanism; reached: the
    least alignment at the last strength, or with the larger step; predicted, NaN if the theory
    gives no number.
    """
    if name in BREAKERS:
        one = BREAKERS[name]
        hardest = one.allowed(modes=networks.rank, labels=networks.labels)[-1:]
        last = runs.sweep(name, networks.draw(), hardest)["looks"].iloc[0]
        about, values = (
            (one.title, one.broken, one.mechanism),
            (last["measured"], last["predicted"]),
        )
    else:
        looks = runs.approach_edge(networks.world, networks.a[0])["looks"]
        late = looks[looks["time"] > 0.4 * looks["time"].max()]
        reached = late.loc[late["step"] == late["step"].max(), "alignment"].mean()
        preset = PRESETS[name]
        mechanism = "Descent stays at sharpness 2 / η; the aligned solution is sharper."
        about, values = (preset.title, "steps are small", mechanism), (reached, math.nan)
    columns = ("preset", "title", "broken", "mechanism", "reached", "predicted")
    return dict(zip(columns, (name, *about, *map(float, values)), strict=True))


# --- findings ---


def _cka(claim: str, value: float, note: str = "", **more: Any) -> Finding:
    return Finding(claim, value, name="CKA", digits=3 if value < 0.999 else 6, note=note, **more)


def _of_training(looks: pd.DataFrame, tables: Tables) -> Iterator[Finding]:
    for run, rows in looks.groupby("run", sort=False):
        first, last = rows["min_alignment"].iloc[[0, -1]]
        final = rows[rows["at"] == rows["at"].max()]
        predicted = "" if run == NO_NOISE else " Theorem 1 predicts 1 for small steps."
        yield _cka(
            f"least alignment of any two hidden layers of all networks, {run}",
            last,
            f"It was {first:.2f} at the start.{predicted}",
        )
        layers = tables["layers"]
        layers = layers[(layers["run"] == run) & (layers["at"] == rows["at"].max())]
        yield Finding(
            f"least cosine of E[h hᵀ] and E[g gᵀ] of a layer, {run}",
            layers["proportion"].min(),
            digits=3,
            note="" if run == NO_NOISE else "Footnote 16 predicts 1.",
        )
        yield Finding(
            f"entropy over the least of all minima, at most, {run}",
            final["entropy"].max(),
            digits=3,
            note=f"The loss is at most {final['excess_loss'].max():.1g} above its floor.",
        )


def _of_minima(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    drawn = looks.loc[looks["by"] == "chance", "min_alignment"]
    yield _cka("least alignment that SGD reaches", looks["min_alignment"].iloc[0])
    note = f"Their median is {drawn.median():.2f}; theorem 1 predicts 1 at the least entropy alone."
    yield _cka(
        "most that one of the other minima reaches", drawn.max(), note, n=len(drawn), over="minima"
    )


def _of_sharpness(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    for (data, run), rows in looks.groupby(["data", "run"], sort=False):
        first, last = rows[rows["at"] >= runs.SETTLED].iloc[[0, -1]].to_dict("records")
        yield Finding(
            f"change in sharpness once the loss has settled, {runs.DATA[str(data)].lower()}, {run}",
            last["sharpness"] / first["sharpness"],
            unit="times",
            note=f"Alignment with the theorem's solution went from {first['alignment']:.2f} to"
            f" {last['alignment']:.2f}, entropy over its least from {first['entropy']:.2f} to"
            f" {last['entropy']:.2f}.",
        )


def _of_edge(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    for step, rows in looks.groupby("step", sort=False):
        late = rows[rows["time"] > 0.4 * rows["time"].max()]
        lost = rows["sharpness"].isna().any()
        theory = rows["sharpness_theory"].iloc[0] * step / 2
        yield Finding(
            f"sharpness over 2 / η in the later half, with steps of {step:.3g}",
            math.nan if lost else late["edge"].mean(),
            note=f"The theorem's solution lies at {theory:.2f}. Alignment with it is"
            f" {late['alignment'].mean():.3f}.",
            reason=f"descent diverged before {rows['at'].iloc[-1]:,} steps" if lost else "",
        )


def _of_limits(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    for step, last in looks.groupby("step", sort=False).last().iterrows():
        run = f"SGD with steps of {step:g}" if step else "gradient flow"
        lost = "descent diverged" if math.isnan(last["min_alignment"]) else ""
        claim = f"least alignment at time {last['time']:.3g}, {run}"
        yield _cka(claim, last["min_alignment"], reason=lost)


def _of_hierarchy(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    for training, rows in looks.groupby("training", sort=False):
        same = rows.set_index("differs")["same_layer"]
        others = same.drop(runs.CONTROL)
        yield _cka(
            f"{training}: the same layers of two networks agree least if they differ in"
            f" {others.idxmin()}",
            others.min(),
            f"With other {runs.CONTROL} alone it is {same[runs.CONTROL]:.3f}.",
        )


def _of_sweep(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    first, last = looks.iloc[[0, -1]].to_dict("records")
    yield _cka(
        f"least alignment of the two networks at strength {last['strength']:g}",
        last["measured"],
        f"At strength {first['strength']:g} it is {first['measured']:.6f}.",
    )
    silent = looks.loc[looks["strength"] > 0, "predicted"].isna().all()
    yield Finding(
        "farthest from what the theory predicts",
        math.nan if silent else (looks["measured"] - looks["predicted"]).abs().max(),
        digits=4,
        reason="the theory gives no number at strengths above 0" if silent else "",
    )


def _of_breakers(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    broken, apart = looks["reached"] < 0.99, (looks["reached"] - looks["predicted"]).abs()
    count = float(broken.sum())
    yield Finding("ways that leave less than 0.99", count, digits=0, n=len(looks), over="ways")
    yield Finding("farthest from a predicted alignment", apart.max(), digits=4)


# --- presets ---


@dataclass(frozen=True)
class Preset:
    """A run with a name. claim: what the theory says of it; formula: the same in LaTeX. descent:
    how SGD goes, None if it does not train it; compares: whether it compares sizes of steps.
    """

    title: str
    claim: str
    formula: str
    run: Callable[[DeepLinear], Tables]
    say: Callable[[pd.DataFrame, Tables], Iterator[Finding]]
    descent: Descent | None = None
    compares: bool = False


PRESETS: Mapping[str, Preset] = {
    "sgd": Preset(
        "With noise and without",
        "SGD at a finite step leads every layer of every network near the same representation. The"
        " same steps without noise do not.",
        r"W_i \leftarrow W_i - \eta\, \nabla_{W_i} \ell(x)",
        lambda ask: runs.train_noisily(ask.networks.draw(), ask.descent),
        _of_training,
        Descent(0.003),
    ),
    "theorem-1": Preset(
        "Least entropic loss",
        "At the least entropy all layers of all networks are aligned (theorem 1).",
        r"\min_\theta\; \mathbb{E}[\ell] + \eta\, \mathbb{E}\lVert\nabla \ell\rVert^2, \qquad \eta"
        r" \to 0",
        lambda ask: runs.train_entropic(ask.networks.draw()),
        _of_training,
    ),
    "minima": Preset(
        "Other minima",
        "Almost all solutions of the same loss are not aligned (section 3).",
        r"W_i \to T^{-1} W_i, \qquad W_{i+1} \to W_{i+1} T",
        lambda ask: runs.draw_minima(ask.networks.draw(), ask.descent),
        _of_minima,
        Descent(0.003),
    ),
    "sharpness": Preset(
        "Sharpness",
        "The force that aligns also changes the sharpness. On some data it sharpens, on others it"
        " flattens (footnote 20); without noise neither happens.",
        r"\lambda_{\max}(\nabla^2 L)",
        lambda ask: runs.follow_sharpness(ask.networks.world, ask.networks.a, ask.descent),
        _of_sharpness,
        Descent(0.01, 256),
    ),
    "edge-of-stability": Preset(
        "Edge of stability",
        "If the aligned solution is sharper than 2 / η, descent stays at this edge and cannot reach"
        " it; smaller steps pass it.",
        r"\lambda_{\max}(\nabla^2 L) \le 2 / \eta",
        _approach,
        _of_edge,
        Descent(0.0, runs.EDGE_BATCH),
        compares=True,
    ),
    "limits": Preset(
        "Small steps, long time",
        "The limits of small steps and of long time do not commute (equation 72).",
        r"\lim_{t \to \infty} \lim_{\eta \to 0^+} \theta(t, \eta) \neq"
        r" \lim_{\eta \to 0^+} \lim_{t \to \infty} \theta(t, \eta)",
        _limits,
        _of_limits,
        Descent(0.0),
        compares=True,
    ),
    "hierarchy": Preset(
        "Hierarchy",
        "What layers depend on: with noise on the labels alone, with weight decay also on views and"
        " frozen matrices, with gradient flow on everything (section 6).",
        "",
        lambda ask: runs.compare_universality(ask.networks.draw(), ask.descent),
        _of_hierarchy,
        Descent(0.003),
    ),
    "breakers": Preset(
        "All ways to break it",
        "Perfect alignment is this model's default; each way breaks an assumption (section 5).",
        "",
        _break_all,
        _of_breakers,
    ),
}


WAYS = (*BREAKERS, "edge-of-stability")


def preset_of(name: str) -> Preset:
    """Return what a preset's name stands for; a breaker is a sweep over its strengths."""
    if name in PRESETS:
        return PRESETS[name]
    breaker = BREAKERS[name]
    return Preset(breaker.title, breaker.mechanism, breaker.formula, _sweep, _of_sweep)


# --- questions ---


@dataclass(frozen=True)
class DeepLinear(Question):
    """Why do deep linear networks align, and what breaks it?

    A preset trains networks over one world, or breaks the theorem at several strengths.
    """

    command: ClassVar[str] = "theory deep-linear"
    version: ClassVar[int] = 3
    columns: ClassVar[Mapping[str, str]] = {
        "run": "with or without noise",
        "at": "steps of training",
        "min_alignment": "least linear CKA of any two hidden layers",
        "max_disproportion": "farthest from definition 1, ‖c G − G′‖ / ‖G′‖",
        "excess_loss": "loss above its floor",
        "entropy": "entropy S over the least of all minima",
        "distance": "farthest of a layer from the closed form",
        "sharpness": "largest eigenvalue of the loss's Hessian",
        "edge": "sharpness over 2 / η",
        "alignment": "linear CKA",
        "strength": "strength of the breaker",
        "measured": "least linear CKA of the two networks",
        "predicted": "the same by the theory",
        "reached": "least linear CKA at the last strength",
    }

    preset: PresetName = option("sgd", help="how the networks learn, or what breaks the theorem")
    rows: Literal["looks", "layers", "pairs"] = option(
        "looks", help="a row per moment or setting, per layer, or per pair of layers"
    )
    strength: tuple[float, ...] = option(
        (),
        least=0,
        most=1_000,
        metavar="S",
        label="Strengths",
        help="strengths of what breaks the theorem (those of the preset)",
    )
    networks: Networks = part(Networks)

    @property
    def descent(self) -> Descent:
        """How SGD goes."""
        return self.networks.descent(preset_of(self.preset).descent or Descent(0.0))

    def complete(self, study: None) -> DeepLinear:
        """Name the strengths of a breaker; refuse choices that the preset does not have."""
        preset, networks, strength = preset_of(self.preset), self.networks, self.strength
        breaks = self.preset in BREAKERS
        if strength and not breaks:
            raise InputError(
                f"{self.preset} has no strength; name a breaker: {', '.join(BREAKERS)}"
            )
        if not preset.descent and (networks.step or networks.batch):
            trained = [name for name, one in PRESETS.items() if one.descent]
            raise InputError(
                f"SGD does not train {self.preset}, so it has neither step nor batch; leave them"
                f" out, or name one of {', '.join(trained)}"
            )
        if len(networks.step) > (MOST_STEPS if preset.compares else 1):
            compared = [name for name, one in PRESETS.items() if one.compares]
            raise InputError(
                f"expected up to {MOST_STEPS} sizes of steps, not {len(networks.step)}"
                if preset.compares
                else f"{self.preset} has one size of steps, not {len(networks.step)};"
                f" {' and '.join(compared)} compare several"
            )
        if breaks and not strength:
            strength = BREAKERS[self.preset].allowed(modes=networks.rank, labels=networks.labels)
        return replace(self, strength=strength)

    def simulate(self) -> Tables:
        """Return all tables of the run; see `core.theory.deep_linear.runs`."""
        with in_one_thread():
            return preset_of(self.preset).run(self.complete(None))

    def findings(self, tables: Tables) -> list[Finding]:
        """Return what the tables say."""
        return list(preset_of(self.preset).say(tables["looks"], tables))

    def answer(self, study: None, report: Progress | None) -> Answer:
        tables = self.simulate()
        if self.rows not in tables:
            raise InputError(f"{self.preset} has no {self.rows}; it has {', '.join(tables)}")
        return Answer(tables[self.rows], self.findings(tables))

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.theory.deep_linear import figures

        return figures.main(self.preset, self.rows, table)


AfterName = Literal["SGD", "first weights", "least entropy"]


@dataclass(frozen=True)
class Symmetry(Question):
    """Where is the entropy least along a symmetry of the loss?"""

    command: ClassVar[str] = "theory symmetry"
    version: ClassVar[int] = 1
    columns: ClassVar[Mapping[str, str]] = {
        "value": "λ",
        "entropy": "entropy S(λ) over the least of all minima",
        "predicted": "the same by equation 27",
        "excess_loss": "loss above its floor",
        "alignment": "least alignment of the network's layers with one another and the theory's",
    }

    network: Literal["a", "b", "c", "d"] = option("a", help="the network that is moved")
    layer: int = option(1, least=1, most=64, help="the hidden layer that is moved")
    along: str = option(
        "unit 1",
        metavar="T",
        label="Along T",
        help='the symmetric matrix T: "all units", "unit J" or "random"',
    )
    after: AfterName = option("SGD", help="where the weights come from")
    networks: Networks = part(Networks)

    def weights(self) -> tuple[Net, list[Any]]:
        """Return the network and its weights: after each of several trainings by SGD, or one."""
        net = self.networks.draw()["abcd".index(self.network)]
        if self.layer > len(net.widths):
            raise InputError(
                f"network {self.network} has {len(net.widths)} hidden layers, not {self.layer}"
            )
        if self.after == "SGD":
            return net, runs.solve_repeatedly(net, self.networks.descent(runs.SYMMETRY))
        start = self.after == "first weights"
        return net, [net.start if start else least_entropy(net)]

    def simulate(self) -> Tables:
        """Return `move_along`'s tables of the first training, and `least`: λ* of all."""
        with in_one_thread():
            net, ends = self.weights()
            generators = runs.generators(net.widths[self.layer - 1])
            if self.along not in generators:
                raise UnknownNameError("symmetric matrix T", self.along, generators)
            tables = runs.move_along(net, ends[0], layer=self.layer, by=generators[self.along])
            return tables | {"least": runs.least_values(net, ends, layer=self.layer)}

    def findings(self, tables: Tables) -> list[Finding]:
        """Return λ* with its interval over trainings, and that the loss stays."""
        rows = tables["least"]
        values = rows.loc[rows["generator"] == self.along, "least"].to_numpy(float)
        low, high = mean_interval(values) if len(values) > 1 else (math.nan, math.nan)
        looks = tables["looks"]
        return [
            Finding(
                f"the entropy is least at λ* along T = {self.along}, after {self.after}",
                float(np.mean(values)),
                low,
                high,
                name="λ*",
                n=len(values),
                over="trainings",
                note="" if self.after == "first weights" else "The theory predicts 0.",
            ),
            Finding(
                "the loss changes along the curve by at most",
                float(np.ptp(looks["excess_loss"])),
                digits=12,
                note=f"The least alignment goes down to {looks['alignment'].min():.2f}.",
            ),
        ]

    def answer(self, study: None, report: Progress | None) -> Answer:
        tables = self.simulate()
        return Answer(tables["looks"], self.findings(tables))

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.theory.deep_linear import figures

        return figures.symmetry(table)
