"""Whether queries and keys of language models balance each other, as noise would have it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from core.competence.records import can_measure
from core.errors import EncoderError, NotApplicableError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Line, Plot
from core.options import option, seed_option
from core.progress import Progress
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import check_captions
from core.study.study import Study
from core.study.trainings import choose_names

if TYPE_CHECKING:
    from core.encoders.language.encoder import LanguageEncoder

PANELS = {
    "gradients_alike": "gradients alike",
    "weights_alike": "weights alike",
    "gradients_apart": "gradients apart",
    "weights_apart": "weights apart",
}


@dataclass(frozen=True)
class ModelBalance(StudyQuestion):
    """Do queries and keys of language models balance each other?

    Attention depends on queries and keys by their product, so noise alone would balance their
    gradients, and weight decay alone the weights (Ziyin and Chuang 2025, footnotes 13 and 15).
    """

    command = "models balance"
    version = 1
    columns: ClassVar[Mapping[str, str]] = {
        "model": "language model",
        "step": "steps of training, if known",
        "layer": "layer of the model",
        "head": "head of the layer",
        "gradients_alike": "cosine of E[∇Q ∇Qᵀ] and E[∇K ∇Kᵀ] without the identity's share",
        "gradients_apart": "their distance over the sum of their norms",
        "weights_alike": "cosine of Q Qᵀ and K Kᵀ without the identity's share",
        "weights_apart": "their distance over the sum of their norms",
        "reason": "why a model has no numbers",
    }
    shown = ("model", "layer", "head", "gradients_alike", "gradients_alike_chance", "weights_alike")

    names: tuple[str, ...] = option(
        (),
        name="models",
        label="Language models",
        metavar="M",
        help="language models (all that can be run)",
    )
    captions: int = option(
        64, least=1, most=1024, help="captions over which gradients are averaged"
    )
    seed: int = seed_option("seed of fresh weights and of chance")

    def complete(self, study: Study) -> ModelBalance:
        check_captions(study.dataset)
        models = study.models()
        read = models.loc[models["modality"] == "language", "model"]
        runnable = [name for name in read if can_measure(study.entry(name))]
        names = choose_names(self.names, runnable, "language model that can be run")
        if not names:
            raise NotApplicableError("no language model here can be run; embed one")
        return replace(self, names=tuple(sorted(names)))

    def answer(self, study: Study, report: Progress | None) -> Answer:
        import torch  # it takes seconds, which other questions need not wait for

        from core.competence.opened import reopen
        from core.encoders.language.encoder import LanguageEncoder
        from core.networks.balance import measure_heads

        captions = open_dataset(study.dataset).captions
        level = study.dataset.levels[0]
        texts = captions.loc[captions["level"] == level, "text"].tolist()[: self.captions]
        about = study.models().set_index("model")
        rows = []
        for number, name in enumerate(self.names, start=1):
            card = study.entry(name).card
            step = float(card.training.get("steps", math.nan))
            row = {
                "model": name,
                "title": card.title,
                "family": about["family"][name],
                "step": step,
            }
            try:
                encoder = reopen(study.entry(name), torch.device("cpu"))
                assert isinstance(encoder, LanguageEncoder)
                heads = measure_heads(encoder.model, _tokens(encoder, texts), seed=self.seed)
                rows += [{**row, **head, "reason": ""} for head in heads]
            except EncoderError as error:
                rows.append({**row, "reason": str(error)})
            if report:
                report(number, len(self.names), "models")
        table = pd.DataFrame(rows)
        return Answer(
            table.reindex(columns=[*table.columns.union(list(PANELS), sort=False)]), find(table)
        )

    def plot(self, table: pd.DataFrame) -> Plot:
        return balance(table)


def _tokens(encoder: LanguageEncoder, texts: list[str]) -> list[list[int]]:
    """Return texts as tokens, cut where the model's positions end; none for a model that does not
    predict the next.
    """
    if not encoder.readout.is_causal:
        return []
    tokens: list[list[int]] = encoder.tokenizer(
        texts, truncation=encoder.limit is not None, max_length=encoder.limit
    )["input_ids"]
    return tokens


def find(table: pd.DataFrame) -> list[Finding]:
    """Return how alike both sides are in the latest model of each family."""
    if "gradients_alike" not in table:
        return [
            Finding("queries and keys could be compared in no model", reason=table["reason"][0])
        ]
    last = table.sort_values("step", kind="stable", na_position="first").drop_duplicates(
        "family", keep="last"
    )
    found = []
    for kind in ("gradients", "weights"):
        for _, heads in table[table["model"].isin(last["model"])].groupby("model", sort=False):
            middle = heads[[f"{kind}_alike{end}" for end in ("", "_initial", "_chance")]].median()
            value, initial, chance = middle
            if not math.isnan(value):
                found.append(
                    Finding(
                        f"{kind} of queries and keys in {heads['title'].iloc[0]}",
                        value,
                        name="median cosine",
                        n=len(heads),
                        over="heads",
                        note=f"With fresh weights it is {initial:.2f}, by chance {chance:.2f}.",
                    )
                )
    return found


def median(table: pd.DataFrame) -> pd.Series:
    """Return the median cosine of gradients over heads, by model."""
    middle: pd.Series = table.groupby("model")["gradients_alike"].median()
    return middle


def balance(table: pd.DataFrame) -> Plot:
    """Draw both sides' cosine and distance over training: a dot per head, the median of a model on
    its family's line, fresh weights dashed, chance dotted.
    """
    table = table.sort_values("step", kind="stable").assign(
        place=[
            str(row.title)
            if math.isnan(row.step)
            else f"{row.step:,.0f}"
            if row.step
            else "untrained"
            for row in table.sort_values("step", kind="stable").itertuples()
        ]
    )
    ends = {"": "value", "_initial": "initial", "_chance": "chance"}
    about = ["model", "title", "family", "place", "layer", "head"]
    heads = pd.concat(
        [
            table[about].assign(
                panel=title, **{name: table[f"{column}{end}"] for end, name in ends.items()}
            )
            for column, title in PANELS.items()
            if column in table
        ]
    )
    middle = heads.groupby(["panel", "family", "place"], sort=False)[list(ends.values())]
    medians = middle.median().reset_index()
    return Plot(
        "Balance of queries and keys",
        (
            Dots(
                "place",
                "value",
                color="family",
                size=4,
                opacity=0.5,
                card=("<b>{title}</b>", "layer {layer}, head {head}: {value:.3f}"),
            ),
            Line("place", "value", table=medians, color="family", by="family", ordered=False),
            Line(
                "place",
                "initial",
                table=medians,
                color="family",
                by="family",
                dash="dash",
                ordered=False,
            ),
            Line(
                "place",
                "chance",
                table=medians.groupby(["panel", "place"], sort=False)["chance"]
                .median()
                .reset_index(),
                color=Fixed("chance"),
                dash="dot",
                name="chance",
                ordered=False,
            ),
        ),
        x=Axis("steps of training", names=True),
        y=Axis(),
        facet=Facet("panel", columns=2, share="x"),
        height=240,
        empty="Queries and keys of no model here are known.",
        table=heads,
    )
