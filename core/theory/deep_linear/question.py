"""What the page and `platoscope theory` ask of deep linear networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from core.errors import InputError
from core.figures.grammar import Plot
from core.options import option, part
from core.questions.finding import Finding
from core.questions.question import Answer, Question
from core.statistics.intervals import mean_interval
from core.theory.deep_linear import figures
from core.theory.deep_linear.setup import (
    BREAKERS,
    CONTROL,
    EDGE,
    EDGE_BATCH,
    NO_NOISE,
    NOISE,
    SETTLED,
    Descent,
    Networks,
    Tables,
    late,
)

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
ALIGNED = 0.9  # least CKA of layers that are called aligned


# --- findings ---


def _cka(claim: str, value: float, note: str = "", name: str = "least CKA", **more: Any) -> Finding:
    return Finding(claim, value, name=name, digits=3 if value < 0.999 else 6, note=note, **more)


def _are(value: float) -> str:
    return "are aligned" if value > ALIGNED else "are not aligned"


def _of_training(looks: pd.DataFrame, tables: Tables) -> Iterator[Finding]:
    for run, rows in looks.groupby("run", sort=False):
        when = "at the least entropic loss" if run == "entropic loss" else str(run)
        first, last = rows["min_alignment"].iloc[[0, -1]]
        final = rows[rows["at"] == rows["at"].max()]
        note = f"It was {first:.2f} at the start."
        if run == NOISE:
            still = looks.loc[looks["run"] == NO_NOISE, "min_alignment"].iloc[-1]
            note = f"Theorem 1 predicts 1; without noise they reach {still:.2f}."
        every = "all" if last > ALIGNED else "not all"
        networks = len({name[0] for name in tables["pairs"]["row"]})
        yield _cka(f"{when}, {every} layers of {networks} networks are aligned", last, note)
        layers = tables["layers"]
        layers = layers[(layers["run"] == run) & (layers["at"] == rows["at"].max())]
        yield Finding(
            f"{when}, E[h hᵀ] and E[g gᵀ] of each layer",
            layers["proportion"].min(),
            name="least cosine",
            digits=3,
            note="" if run == NO_NOISE else "Footnote 16 predicts 1.",
        )
        yield Finding(
            f"{when}, largest entropy relative to the least of all minima",
            final["entropy"].max(),
            digits=3,
            note=f"The loss is at most {final['excess_loss'].max():.1g} above its floor.",
        )


def _of_minima(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    drawn = looks.loc[looks["by"] == "chance", "min_alignment"]
    note = f"Their median is {drawn.median():.2f}; theorem 1 predicts 1 at the least entropy alone."
    claim = "other minima of the same loss are not aligned"
    yield _cka(claim, drawn.max(), note, "greatest CKA", n=len(drawn), over="minima")
    reached = looks["min_alignment"].iloc[0]
    yield _cka(f"after SGD, both networks {_are(reached)}", reached)


def _of_sharpness(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    data = {"sharpens": "strong modes have little noise", "flattens": "the view is ill-conditioned"}
    for (name, run), rows in looks.groupby(["data", "run"], sort=False):
        first, last = rows[rows["at"] >= SETTLED].iloc[[0, -1]].to_dict("records")
        ratio = last["sharpness"] / first["sharpness"]
        moves = "rises" if ratio > 1.1 else "falls" if ratio < 0.9 else "hardly changes"
        yield Finding(
            f"{run}, sharpness {moves} if {data[str(name)]}",
            ratio,
            unit="times",
            note=f"Alignment with the theorem's solution went from {first['alignment']:.2f} to"
            f" {last['alignment']:.2f}, entropy relative to its least from {first['entropy']:.2f}"
            f" to {last['entropy']:.2f}.",
        )


def _of_edge(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    for step, rows in looks.groupby("step", sort=False):
        end = late(rows)
        lost = rows["sharpness"].isna().any()
        theory = rows["sharpness_theory"].iloc[0] * step / 2
        place = "at" if end["edge"].mean() > 0.75 else "below"
        yield Finding(
            f"with steps of {step:.3g}, descent stays {place} the edge of stability",
            math.nan if lost else end["edge"].mean(),
            name="sharpness / (2/η)",
            note=f"The theorem's solution is at {theory:.2f}. Alignment with it is"
            f" {end['alignment'].mean():.3f}.",
            reason=f"descent diverged before {rows['at'].iloc[-1]:,} steps" if lost else "",
        )


def _of_limits(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    for step, last in looks.groupby("step", sort=False).last().iterrows():
        run = f"SGD with steps of {step:g}" if step else "gradient flow"
        lost = "descent diverged" if math.isnan(last["min_alignment"]) else ""
        claim = f"at time {last['time']:.3g} of {run}, the layers {_are(last['min_alignment'])}"
        yield _cka(claim, last["min_alignment"], reason=lost)


def _of_hierarchy(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    for training, rows in looks.groupby("training", sort=False):
        same = rows.set_index("differs")["same_layer"]
        others = same.drop(CONTROL)
        yield _cka(
            f"{training}: the same layers of two networks agree least if they differ in"
            f" {others.idxmin()}",
            others.min(),
            f"With other {CONTROL} alone it is {same[CONTROL]:.3f}.",
        )


def _of_sweep(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    first, last = looks.iloc[[0, -1]].to_dict("records")
    yield _cka(
        f"at strength {last['strength']:g}, the two networks {_are(last['measured'])}",
        last["measured"],
        f"At strength {first['strength']:g} it is {first['measured']:.6f}.",
    )
    silent = looks.loc[looks["strength"] > 0, "predicted"].isna().all()
    yield Finding(
        "largest difference from the theory's prediction",
        math.nan if silent else (looks["measured"] - looks["predicted"]).abs().max(),
        digits=4,
        reason="the theory gives no number at strengths above 0" if silent else "",
    )


def _of_breakers(looks: pd.DataFrame, _: Tables) -> Iterator[Finding]:
    broken, apart = looks["reached"] < 0.99, (looks["reached"] - looks["predicted"]).abs()
    count = float(broken.sum())
    yield Finding(
        "ways that leave an alignment below 0.99", count, digits=0, n=len(looks), over="ways"
    )
    yield Finding("largest difference from a predicted alignment", apart.max(), digits=4)


# --- presets ---


@dataclass(frozen=True)
class Preset:
    """A run with a name. claim: what the theory says of it; formula: the same in LaTeX. plot: its
    main figure. descent: SGD's, None if it does not train it; steps: how many sizes it can take.
    """

    title: str
    claim: str
    formula: str
    say: Callable[[pd.DataFrame, Tables], Iterator[Finding]]
    plot: Callable[[pd.DataFrame], Plot]
    descent: Descent | None = None
    steps: int = 0


PRESETS: Mapping[str, Preset] = {
    "sgd": Preset(
        "SGD noise",
        "SGD at a finite step leads every layer of every network near the same representation. The"
        " same steps without noise do not.",
        r"W_i \leftarrow W_i - \eta\, \nabla_{W_i} \ell(x)",
        _of_training,
        figures.over_training,
        Descent(0.003),
        steps=1,
    ),
    "theorem-1": Preset(
        "Entropic loss",
        "At the least entropy all layers of all networks are aligned (theorem 1).",
        r"\min_\theta\; \mathbb{E}[\ell] + \eta\, \mathbb{E}\lVert\nabla \ell\rVert^2, \qquad \eta"
        r" \to 0",
        _of_training,
        figures.over_training,
    ),
    "minima": Preset(
        "Other minima",
        "Almost all solutions of the same loss are not aligned (section 3).",
        r"W_i \to T^{-1} W_i, \qquad W_{i+1} \to W_{i+1} T",
        _of_minima,
        figures.other_minima,
        Descent(0.003),
        steps=1,
    ),
    "sharpness": Preset(
        "Sharpness",
        "The force that aligns also changes the sharpness. On some data it sharpens, on others it"
        " flattens (footnote 20); without noise neither happens.",
        r"\lambda_{\max}(\nabla^2 L)",
        _of_sharpness,
        figures.sharpness,
        Descent(0.01, 256),
        steps=1,
    ),
    "edge-of-stability": Preset(
        EDGE,
        "If the aligned solution is sharper than 2 / η, descent stays at this edge and cannot reach"
        " it; smaller steps pass it.",
        r"\lambda_{\max}(\nabla^2 L) \le 2 / \eta",
        _of_edge,
        figures.edge,
        Descent(0.0, EDGE_BATCH),
        steps=6,
    ),
    "limits": Preset(
        "Limits",
        "The limits of small steps and of long time do not commute (equation 72).",
        r"\lim_{t \to \infty} \lim_{\eta \to 0^+} \theta(t, \eta) \neq"
        r" \lim_{\eta \to 0^+} \lim_{t \to \infty} \theta(t, \eta)",
        _of_limits,
        figures.limits,
        Descent(0.0),
        steps=6,
    ),
    "hierarchy": Preset(
        "Hierarchy",
        "What layers depend on: with noise on the labels alone, with weight decay also on views and"
        " frozen matrices, with gradient flow on everything (section 6).",
        "",
        _of_hierarchy,
        figures.hierarchy,
        Descent(0.003),
        steps=1,
    ),
    "breakers": Preset(
        "All ways to break it",
        "Perfect alignment is this model's default; each way breaks an assumption (section 5).",
        "",
        _of_breakers,
        figures.breakers,
    ),
}


def preset_of(name: str) -> Preset:
    """Return a preset by its name; a breaker is a sweep over its strengths."""
    if name in PRESETS:
        return PRESETS[name]
    breaker = BREAKERS[name]

    claim = f"{breaker.mechanism} Strength: {breaker.unit}."
    return Preset(breaker.title, claim, breaker.formula, _of_sweep, figures.broken)


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
    networks: Networks = part(Networks)

    @property
    def descent(self) -> Descent:
        return self.networks.descent(preset_of(self.preset).descent or Descent(0.0))

    def complete(self, study: None) -> DeepLinear:
        """Refuse choices that the preset does not have."""
        preset, networks = preset_of(self.preset), self.networks
        if len(networks.step) > preset.steps or (networks.batch and not preset.descent):
            raise InputError(
                f"{self.preset} takes {preset.steps} sizes of steps at most"
                f"{'' if preset.descent else ', and no batch'}; leave some out"
            )
        return self

    def simulate(self) -> Tables:
        from core.theory.deep_linear.simulate import run_preset  # torch takes seconds, and 500 MB

        return run_preset(self.complete(None).preset, self.networks, self.descent)

    def findings(self, tables: Tables) -> list[Finding]:
        return list(preset_of(self.preset).say(tables["looks"], tables))

    def answer(self, study: None) -> Answer:
        tables = self.simulate()
        if self.rows not in tables:
            raise InputError(f"{self.preset} has no {self.rows}; it has {', '.join(tables)}")
        return Answer(tables[self.rows], self.findings(tables))

    def plot(self, table: pd.DataFrame) -> Plot:
        if self.rows == "pairs":
            return figures.layer_maps(table)
        if self.rows == "layers":
            return figures.over_layers(table)
        return preset_of(self.preset).plot(table)


AfterName = Literal["SGD", "first weights", "least entropy"]


@dataclass(frozen=True)
class Symmetry(Question):
    """Where along a symmetry is the entropy least?"""

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

    def simulate(self) -> Tables:
        """Return `runs.move_along`'s tables of the first training, and `least`: λ* of all."""
        from core.theory.deep_linear.simulate import move_layer  # as above

        return move_layer(self.networks, self.network, self.layer, self.along, self.after)

    def findings(self, tables: Tables) -> list[Finding]:
        rows = tables["least"]
        values = rows.loc[rows["generator"] == self.along, "least"].to_numpy(float)
        low, high = mean_interval(values) if len(values) > 1 else (math.nan, math.nan)
        looks = tables["looks"]
        least = low <= 0 <= high if len(values) > 1 else abs(values[0]) < 1e-6
        moves = f"{'no' if least else 'a'} move along {self.along} lowers the entropy"
        return [
            Finding(
                f"after {self.after}, {moves}",
                float(np.mean(values)),
                low,
                high,
                name="λ*",
                n=len(values),
                over="trainings",
                note="" if self.after == "first weights" else "The theory predicts 0.",
            ),
            Finding(
                "largest change of the loss along the curve",
                float(np.ptp(looks["excess_loss"])),
                digits=9,
                note=f"The least alignment goes down to {looks['alignment'].min():.2f}.",
            ),
        ]

    def answer(self, study: None) -> Answer:
        tables = self.simulate()
        return Answer(tables["looks"], self.findings(tables))

    def plot(self, table: pd.DataFrame) -> Plot:
        return figures.symmetry(table)
