"""Whether queries and keys of language models balance each other, as noise would have it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import pandas as pd

from core.competence.records import can_measure
from core.errors import EncoderError, NotApplicableError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Line, Plot
from core.options import models_option, option, seed_option
from core.progress import tell_each
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.stimuli.catalog import open_dataset
from core.stimuli.dataset import check_captions
from core.study.study import Study
from core.study.trainings import choose_names

PANELS = {"gradients_alike": "gradients alike", "weights_alike": "weights alike"}


@dataclass(frozen=True)
class ModelBalance(StudyQuestion):
    """Do queries and keys of language models balance each other?

    Attention depends on queries and keys by their product, so noise alone would balance their
    gradients, and weight decay alone the weights (Ziyin and Chuang 2025, footnotes 13 and 15).
    """

    command = "models balance"
    version = 2
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

    names: tuple[str, ...] = models_option(
        "language models (all that can be run)", label="Language models"
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

    def answer(self, study: Study) -> Answer:
        import torch  # it takes seconds, which other questions need not wait for

        from core.competence.opened import reopen
        from core.encoders.language.encoder import LanguageEncoder
        from core.networks.balance import measure_heads

        captions = open_dataset(study.dataset).captions
        level = study.dataset.levels[0]
        texts = captions.loc[captions["level"] == level, "text"].tolist()[: self.captions]
        about = study.models().set_index("model")
        rows = []
        for name in tell_each(self.names, "models"):
            card = study.entry(name).card
            step = float(card.training.get("steps", math.nan))
            row = {"model": name, "title": card.title, "family": about["family"][name]}
            row |= {"step": step}
            try:
                encoder = reopen(study.entry(name), torch.device("cpu"))
                assert isinstance(encoder, LanguageEncoder)
                tokens: list[list[int]] = []  # of a model that does not predict the next
                if encoder.readout.is_causal:  # cut where the model's positions end
                    cut = {"truncation": encoder.limit is not None, "max_length": encoder.limit}
                    tokens = encoder.tokenizer(texts, **cut)["input_ids"]
                heads = measure_heads(encoder.model, tokens, seed=self.seed)
                rows += [{**row, **head, "reason": ""} for head in heads]
            except EncoderError as error:
                rows.append({**row, "reason": str(error)})
        table = pd.DataFrame(rows)
        every = table.columns.union(list(PANELS), sort=False)
        return Answer(table.reindex(columns=list(every)), find(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw both sides' cosine over training: a dot per head, the median of a model on its
        family's line, fresh weights dashed, chance dotted.
        """
        table = table.sort_values("step", kind="stable")
        places = [
            row["title"]
            if math.isnan(row["step"])
            else f"{row['step']:,.0f}"
            if row["step"]
            else "untrained"
            for row in table.to_dict("records")
        ]
        ends = {"": "value", "_initial": "initial", "_chance": "chance"}
        about = table.assign(place=places)[["model", "title", "family", "place", "layer", "head"]]
        heads = pd.concat(
            [
                about.assign(
                    panel=title, **{name: table[f"{column}{end}"] for end, name in ends.items()}
                )
                for column, title in PANELS.items()
                if column in table
            ]
        )
        middle = heads.groupby(["panel", "family", "place"], sort=False)[list(ends.values())]
        medians = middle.median().reset_index()
        chance = medians.groupby(["panel", "place"], sort=False)["chance"].median().reset_index()
        card = ("<b>{title}</b>", "layer {layer}, head {head}: {value:.3f}")
        solid = Line("place", "value", table=medians, color="family", by="family", ordered=False)
        dotted = Line("place", "chance", table=chance, color=Fixed("chance"), ordered=False)
        return Plot(
            "Balance of queries and keys",
            (
                Dots("place", "value", color="family", size=4, opacity=0.5, card=card),
                solid,
                replace(solid, y="initial", dash="dash"),
                replace(dotted, dash="dot", name="chance"),
            ),
            x=Axis("steps of training", names=True),
            facet=Facet("panel", columns=2, share="x"),
            height=240,
            empty="No model has queries and keys that can be read.",
        ).over(heads)


def find(table: pd.DataFrame) -> list[Finding]:
    """Return how alike both sides are in the latest model of each family."""
    if "gradients_alike" not in table:
        return [
            Finding("No model has queries and keys that can be read", reason=table["reason"][0])
        ]
    latest = table.sort_values("step", kind="stable", na_position="first")
    last = latest.drop_duplicates("family", keep="last")["model"]
    found = []
    for kind in ("gradients", "weights"):
        for _, heads in table[table["model"].isin(last)].groupby("model", sort=False):
            ends = [f"{kind}_alike{end}" for end in ("", "_initial", "_chance")]
            value, initial, chance = heads[ends].median()
            if not math.isnan(value):
                claim = f"{kind.capitalize()} of queries and keys in {heads['title'].iloc[0]}"
                note = f"With fresh weights {initial:.2f}, by chance {chance:.2f}."
                found.append(
                    Finding(claim, value, name="cosine", n=len(heads), over="heads", note=note)
                )
    return found


def median(table: pd.DataFrame) -> pd.Series:
    """Return the median cosine of gradients over heads, by model."""
    middle: pd.Series = table.groupby("model")["gradients_alike"].median()
    return middle
