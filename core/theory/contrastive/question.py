"""What the page and `platoscope theory contrastive` ask of contrastive learners."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import pandas as pd

from core.errors import InputError
from core.options import option, seed_option
from core.progress import Progress
from core.questions.finding import Finding
from core.questions.question import Answer, Question
from core.theory.contrastive import runs
from core.theory.contrastive.kernel import least_offset, pmi_kernel, smoothness
from core.theory.contrastive.runs import Setup
from core.theory.simulation import in_one_thread

if TYPE_CHECKING:
    from core.figures.grammar import Plot

PresetName = Literal["infonce", "nce", "sampled", "rough", "modalities", "capacity"]
World = Literal["ring", "clusters", "random"]
Loss = Literal["infonce", "nce"]


def _of_learner(setup: Setup, table: pd.DataFrame) -> Iterator[Finding]:
    fit, learner = table.iloc[0], setup.learner
    yield Finding(
        "the products follow the PMI kernel",
        fit["r2"],
        name="R²",
        digits=6 if fit["r2"] > 0.999 else 3,
        note="The theory predicts 1 if the kernel is an inner product.",
    )
    offset = "" if math.isnan(learner.offset) else f" and offset {learner.offset:.3g}"
    yield Finding(
        f"their slope is {fit['slope']:.3f} and their offset {fit['offset']:.3g}",
        note=f"The theory predicts slope {learner.slope:g}{offset}.",
    )
    kernel = pmi_kernel(setup.cooccur().joint)
    least, condition, given = least_offset(kernel), smoothness(kernel), learner.offset
    few = "; raise the share of positive pairs, which gives less" if given < least.value else ""
    yield Finding(
        f"least offset that makes the kernel an inner product{few}",
        least.value,
        reason=least.reason,
    )
    yield Finding(
        f"the sufficient condition of proposition 1 is{'' if condition.holds else ' not'} met: the"
        " least PMI of an event with itself",
        condition.least_own,
        note=f"It asks for {condition.needed:.3g}.",
    )


def _of_views(_: Setup, table: pd.DataFrame) -> Iterator[Finding]:
    whole = table.loc[table["share"] == 0, "cka"].min()
    yield Finding(
        "alignment of one-to-one observations",
        whole,
        name="CKA",
        digits=6,
        note="The theory predicts 1.",
    )
    for view, rows in table.groupby("view", sort=False):
        last = rows.iloc[-1]
        yield Finding(
            f"alignment with the most lost, {view}",
            last["cka"],
            name="CKA",
            note=f"Chance is {last['chance_cka']:.2f}.",
        )
    yield Finding(
        "farthest from the CKA of the exact kernels",
        (table["cka"] - table["predicted"]).abs().max(),
        digits=4,
    )


def _of_widths(_: Setup, table: pd.DataFrame) -> Iterator[Finding]:
    for _, row in table.iloc[[0, -1]].iterrows():
        yield Finding(
            f"products at width {row['width']:.0f} against the kernel",
            row["r2"],
            name="R²",
            digits=4,
            note=f"The best possible is {row['best']:.4f}.",
        )


class Preset(NamedTuple):
    """A setup with a name. claim: what the theory says of it; formula: the same in LaTeX."""

    title: str
    claim: str
    formula: str
    setup: Setup = Setup()
    run: Callable[[Setup], pd.DataFrame] = runs.learn_kernel
    say: Callable[[Setup, pd.DataFrame], Iterator[Finding]] = _of_learner


PRESETS: Mapping[str, Preset] = {
    "infonce": Preset(
        "InfoNCE",
        "Products equal τ times the PMI kernel, plus a constant.",
        r"g = \tau K_\mathsf{PMI} + c",
    ),
    "nce": Preset(
        "Binary NCE",
        "Products equal the PMI kernel plus log p / (1 − p).",
        r"g = K_\mathsf{PMI} + \log \tfrac{p}{1 - p}",
        Setup(loss="nce"),
    ),
    "sampled": Preset(
        "From sampled pairs",
        "Sampled pairs lead to the same kernel, with noise.",
        r"g = \tau K_\mathsf{PMI} + c",
        Setup(sampled=True),
    ),
    "rough": Preset(
        "A world that is not smooth",
        "No offset makes the kernel an inner product, so it can only be approached.",
        r"\forall C:\; K_\mathsf{PMI} + C \not\succeq 0",
        Setup(window=2, jumps=0.1),
    ),
    "modalities": Preset(
        "Two modalities",
        "One-to-one observations are learned alike; what a modality loses, alignment loses.",
        r"K_\mathsf{PMI}(x_a, x_b) = K_\mathsf{PMI}(z_a, z_b) = K_\mathsf{PMI}(y_a, y_b)",
        run=runs.lose_sight,
        say=_of_views,
    ),
    "capacity": Preset(
        "Too narrow",
        "A width below the rank cannot hold the kernel.",
        r"\operatorname{rank} \langle f, f \rangle \le d",
        run=runs.narrow,
        say=_of_widths,
    ),
}
# what a question leaves to the preset if it does not say
OPTIONAL = (
    *("world", "events", "window", "jumps", "uneven"),
    *("loss", "width", "temperature", "positives"),
)


@dataclass(frozen=True)
class Contrastive(Question):
    """Why do contrastive learners converge?

    A preset says what is done; what is None is as the preset has it.
    """

    command: ClassVar[str] = "theory contrastive"
    version: ClassVar[int] = 2
    columns: ClassVar[Mapping[str, str]] = {
        "pmi": "K_PMI of two events, in nats",
        "learned": "⟨f(a), f(b)⟩ of two events",
        "slope": "slope of ⟨f(a), f(b)⟩ over K_PMI",
        "offset": "offset, in nats",
        "r2": "R² of the products against K_PMI",
        "best": "the greatest R² that the width allows",
        "bits": "mutual information left, in bits",
        "cka": "CKA of both embeddings",
        "mutual_knn": "mutual k-NN of both embeddings, k = 3",
        "predicted": "CKA of the exact kernels",
    }

    preset: PresetName = option("infonce", help="what is done, and with what")
    world: World | None = option(None, help="shape of the world (as the preset: ring)")
    events: int | None = option(None, least=3, most=1_024, help="events of the world (24)")
    window: int | None = option(
        None, least=1, most=64, label="Window T", help="steps to either side (8; rough 2)"
    )
    jumps: float | None = option(
        None, least=0, most=1, metavar="P", help="share of steps to any event (0.3; rough 0.1)"
    )
    uneven: float | None = option(
        None, least=0, most=10, metavar="S", help="spread of the steps' weights (0.3)"
    )
    apart: bool = option(
        False, label="Leave t = t′ out", help="do not count an event with itself, t = t′"
    )
    loss: Loss | None = option(None, help="contrastive loss (as the preset)")
    width: int | None = option(
        None, least=0, most=1_024, help="width of the embedding, 0 for as many as events (0)"
    )
    temperature: float | None = option(
        None,
        least=0,
        most=1_000,
        metavar="T",
        label="Temperature τ",
        help="temperature of InfoNCE (1)",
    )
    positives: float | None = option(
        None,
        least=0,
        most=1,
        metavar="P",
        label="Positive pairs",
        help="share of positive pairs, of binary NCE (0.6)",
    )
    seed: int = seed_option("seed of the world, the learner and what it samples")

    @property
    def setup(self) -> Setup:
        """The preset's setup with all that the question says itself; raises InputError for a choice
        that its learner or experiment does not have.
        """
        preset = PRESETS[self.preset].setup
        values = {name: getattr(self, name) for name in OPTIONAL}
        said = {name: value for name, value in values.items() if value is not None}
        setup = replace(preset, same=not self.apart, seed=self.seed, **said)
        for name, why in self._unused(setup).items():
            if name in said:
                raise InputError(f"{name} cannot be chosen {why}; leave it out")
        return setup

    def _unused(self, setup: Setup) -> dict[str, str]:
        """Return the options that make no difference, and why."""
        idle = "positives" if setup.loss == "infonce" else "temperature"
        unused = {idle: f"with the loss {setup.loss}"}
        return unused | ({"width": "if every width is tried"} if self.preset == "capacity" else {})

    def complete(self, study: None) -> Contrastive:
        """Name what the preset chooses if the question does not."""
        setup = self.setup
        used = [name for name in OPTIONAL if name not in self._unused(setup)]
        return replace(self, **{name: getattr(setup, name) for name in used})

    def answer(self, study: None, report: Progress | None) -> Answer:
        preset = PRESETS[self.preset]
        with in_one_thread():
            table = preset.run(self.setup)
        return Answer(table, list(preset.say(self.setup, table)))

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.theory.contrastive import figures

        plots = {"modalities": figures.information, "capacity": figures.widths}
        return plots.get(self.preset, figures.products)(table)
