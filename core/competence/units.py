"""Measurements as units of work, one for each model: its rows lie in one file of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from core.competence.bits_per_byte import Extent, code_models
from core.competence.images import ImageSet
from core.competence.opened import entries_to_measure
from core.competence.suite import check_measurable, measure_all
from core.competence.texts import Texts
from core.competence.transfer import Layers, probe_models
from core.crew.units import Once, Unit
from core.progress import Progress
from core.settings import choose_device
from core.stimuli.worlds import Pictures
from core.store import ModelEntry, Store

Work = Callable[[Progress | None], pd.DataFrame]
Sets = Callable[[], Sequence[ImageSet]]


@dataclass(frozen=True)
class Bench:
    """Where models are measured: a dataset of a store, and a device by its name."""

    store: Path
    dataset: str
    device: str

    def coding(
        self, models: Sequence[str], texts: Callable[[], Texts], extent: Extent
    ) -> list[Unit[pd.DataFrame]]:
        return [
            _unit("bits per byte of", entry, partial(self._code, entry.card.name, texts, extent))
            for entry in entries_to_measure(Store(self.store), self.dataset, models, "caption")
        ]

    def probing(
        self, models: Sequence[str], sets: Sets, layers: Layers = "last"
    ) -> list[Unit[pd.DataFrame]]:
        return [
            _unit("linear probes of", entry, partial(self._probe, entry.card.name, sets, layers))
            for entry in entries_to_measure(Store(self.store), self.dataset, models, "image")
        ]

    def suite(self, models: Sequence[str], *, alone: bool) -> list[Unit[pd.DataFrame]]:
        """Return what measures models in the Cave. alone: one unit for all, which share the
        pictures and every core; else one for each model, and each process draws the pictures for
        itself.
        """
        _, world, entries = check_measurable(Store(self.store), self.dataset, models)
        if alone:
            return [Unit("competence", partial(self._measure, models, None))]
        drawn = Once(partial(world.pictures, jobs=1))
        return [
            _unit("competence of", entry, partial(self._measure, [entry.card.name], drawn))
            for entry in entries
        ]

    def _code(
        self, model: str, texts: Callable[[], Texts], extent: Extent, report: Progress | None
    ) -> pd.DataFrame:
        device = choose_device(self.device)
        return code_models(
            self.store, self.dataset, [model], texts(), extent, device=device, report=report
        )

    def _probe(
        self, model: str, sets: Sets, layers: Layers, report: Progress | None
    ) -> pd.DataFrame:
        device = choose_device(self.device)
        return probe_models(
            self.store, self.dataset, [model], sets(), layers=layers, device=device, report=report
        )

    def _measure(
        self, models: Sequence[str], drawn: Callable[[], Pictures] | None, report: Progress | None
    ) -> pd.DataFrame:
        device = choose_device(self.device)
        return measure_all(
            self.store, self.dataset, models, device=device, drawn=drawn, report=report
        )


def joined(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(columns))


def _unit(what: str, entry: ModelEntry, work: Work) -> Unit[pd.DataFrame]:
    return Unit(f"{what} {entry.card.name}", work)
