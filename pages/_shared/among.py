"""Models of one set, each compared with each: what the Competence and the Models page choose alike,
and ask alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from core.metrics import METRICS
from core.study.pairing import pair_models
from pages._shared import controls, frame, queries
from pages._shared.queries import Place


@dataclass(frozen=True)
class Among:
    """How models are compared: the metric with its parameters, and which layers stand for a
    model.
    """

    metric: str
    layers: str
    parameters: dict[str, Any]

    @property
    def compared(self) -> dict[str, Any]:
        """Return what `core.questions.models.answer` and `align_models` are asked."""
        return {"metric": self.metric, "layers": self.layers, **self.parameters}

    @property
    def label(self) -> str:
        """Return what an axis of alignments measures."""
        spec = METRICS[self.metric].spec
        k = f", k = {self.parameters['k']}" if "k" in self.parameters else ""
        return (
            "alignment"
            f" ({spec.title}{k}{'' if spec.higher_is_more_aligned else ', lower is more aligned'})"
        )

    def chance(self, at: Place) -> float:
        """Return what one pair of layers of unrelated models reaches; NaN where no formula
        tells.
        """
        return METRICS[self.metric].chance_level(queries.size(at), self.parameters)

    def pairs(self, at: Place, names: tuple[str, ...]) -> pd.DataFrame:
        """Return the alignment of every two of these models; see
        `core.study.pairing.pair_models`.
        """
        return queries.compared(at, pair_models, names, **self.compared)

    def align_command(self, at: Place, x: list[str], y: list[str]) -> str | None:
        """Return the command that prints alignments; None where the mean of both directions is
        drawn, which it does not print.
        """
        if not METRICS[self.metric].spec.symmetric:
            return None
        return frame.align_command(at, x, y, **self.compared)

    def command(self, at: Place, name: str, *words: str) -> str:
        """Return the command `map` or `trends` with further words."""
        return frame.command(
            name, "--dataset", at.dataset, *frame.compared_words(**self.compared), *words
        )


def pick(at: Place) -> Among:
    """Draw the controls."""
    metric = controls.pick_metric()
    parameters = controls.pick_parameters(metric, queries.size(at))
    return Among(metric, controls.pick_layers(), parameters)


def need_two(models: pd.DataFrame, at: Place) -> None:
    """Raise NeededError for fewer than two models."""
    if len(models) < 2:
        how = frame.command(
            "embed", "--dataset", at.dataset, "--model", "timm:vit_small_patch16_224"
        )
        raise frame.NeededError(
            "At least two models are needed to compare them with each other: embed another one.",
            how,
        )


def tell_left_out(models: pd.DataFrame, reasons: Mapping[str, str]) -> None:
    """Say which models have no place among the others, and why; reasons: by model."""
    titles = models.set_index("model")["title"]
    for name, reason in reasons.items():
        st.caption(f"Left out: {frame.plain(titles[name])}, {frame.plain(reason)}.")
