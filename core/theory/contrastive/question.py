"""What the page and `platoscope theory contrastive` ask of contrastive learners."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import pandas as pd

from core.errors import InputError
from core.options import option, options_of, part
from core.progress import Progress
from core.questions.finding import Finding
from core.questions.question import Answer, Question
from core.theory.contrastive import runs
from core.theory.contrastive.kernel import least_offset, pmi_kernel, smoothness
from core.theory.contrastive.runs import Setup
from core.theory.simulation import in_one_thread

if TYPE_CHECKING:
    from core.figures.grammar import Plot


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
    "sampled": Preset(
        "From sampled pairs",
        "Sampled pairs lead to the same kernel, with noise.",
        r"g = \tau K_\mathsf{PMI} + c",
        {"sampled": True},
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
    "capacity": Preset(
        "Too narrow",
        "A width below the rank cannot hold the kernel.",
        r"\operatorname{rank} \langle f, f \rangle \le d",
        {"of": "widths"},
    ),
}
RUNS: Mapping[str, tuple[Callable[[Setup], pd.DataFrame], Callable[..., Iterator[Finding]]]] = {
    "kernel": (runs.learn_kernel, _of_learner),
    "modalities": (runs.lose_sight, _of_views),
    "widths": (runs.narrow, _of_widths),
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
        "best": "the greatest R² that the width allows",
        "bits": "mutual information left, in bits",
        "cka": "CKA of both embeddings",
        "mutual_knn": "mutual k-NN of both embeddings, k = 3",
        "predicted": "CKA of the exact kernels",
    }

    of: Literal["kernel", "modalities", "widths"] = option(
        "kernel",
        label="Of",
        help="what is learned: the kernel, by two modalities, or in ever wider embeddings",
    )
    setup: Setup = part(Setup)

    def complete(self, study: None) -> Contrastive:
        setup = self.setup
        unused = {"positives": "infonce", "temperature": "nce"}
        for one in options_of(Setup):
            idle = unused.get(one.name) == setup.loss or (one.name, self.of) == ("width", "widths")
            if idle and getattr(setup, one.name) != one.default:
                raise InputError(f"{one.name} makes no difference here; leave it out")
        return self

    def answer(self, study: None, report: Progress | None) -> Answer:
        run, say = RUNS[self.of]
        with in_one_thread():
            table = run(self.setup)
        return Answer(table, list(say(self.setup, table)))

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.theory.contrastive import figures

        plots = {"modalities": figures.information, "widths": figures.widths}
        return plots.get(self.of, figures.products)(table)
