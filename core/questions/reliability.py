"""The reliability of repeated measurements, and the noise ceiling that follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from core.errors import InputError
from core.options import models_option, part
from core.progress import tell_each
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.study.comparing import choose_engine
from core.study.noise import bound_of, held_noise, unit_reliabilities
from core.study.parts import Measure
from core.study.study import Study


@dataclass(frozen=True)
class Reliability(StudyQuestion):
    """How reliable are repeated measurements, and how aligned can a model be with them?"""

    command = "reliability"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "model": "model with repeats",
        "layer": "layer",
        "over": "what its measurements were repeated over",
        "repeats": "how often",
        "units": "units",
        "reliability": "median over units of split halves, Spearman–Brown corrected",
        "halves": "mean score of two halves by the metric",
        "ceiling": "noise ceiling of the metric",
        "reason": "why one of these is missing",
    }

    names: tuple[str, ...] = models_option("models (all with repeats)")
    measure: Measure = part(Measure)

    def complete(self, study: Study) -> Reliability:
        choose_engine(study, self.measure)
        for name in self.names:
            if not study.entry(name).card.over:
                raise InputError(
                    f"{name} was measured once, so its noise is unknown; import it with --repeats"
                )
        entries = study.store.models(study.dataset.name)
        names = tuple(entry.card.name for entry in entries if entry.card.over)
        return replace(self, names=self.names or names)

    def is_kept(self) -> bool:
        return False

    def answer(self, study: Study) -> Answer:
        rows = list[dict[str, Any]]()
        for name in tell_each(self.names, "models split"):
            rows += self._rows(name, study)
        table = pd.DataFrame(rows, columns=list(self.columns))
        return Answer(table, self._findings(table))

    def _rows(self, name: str, study: Study) -> Iterator[dict[str, Any]]:
        card, counts = study.entry(name).card, [each.shape for each in study.repeats(name)]
        units, noises = unit_reliabilities(study, name), held_noise(study, name, self.measure)
        layers = zip(card.layers, units, noises, counts, strict=True)
        for layer, (value, why), noise, shape in layers:
            yield {
                "model": name,
                "layer": layer,
                "over": card.over,
                "repeats": shape[0],
                "units": shape[2],
                "reliability": value,
                "halves": noise.halves,
                "ceiling": noise.ceiling,
                "reason": "; ".join(filter(None, (why, noise.reason))),
            }

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        if table.empty:
            return [
                Finding(
                    "No model over this dataset was measured several times: import one with"
                    " --repeats"
                )
            ]
        ceiling = f"noise ceiling of {self.measure.spec.short} {bound_of(self.measure)}".strip()
        return [
            Finding(f"{row['model']}, {row['layer']}: {what}", row[name], reason=row["reason"])
            for row in table.to_dict("records")
            for name, what in (
                ("reliability", "median reliability of units"),
                ("ceiling", ceiling),
            )
        ]
