"""Measurements as units of work, one for each model."""

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
from core.modalities import Item
from core.progress import Progress
from core.settings import choose_device
from core.store import Store

Sets = Callable[[], Sequence[ImageSet]]
Measure = Callable[..., pd.DataFrame]


@dataclass(frozen=True)
class Bench:
    """Where models are measured: a dataset of a store, and a device by its name."""

    store: Path
    dataset: str
    device: str

    def coding(
        self, models: Sequence[str], texts: Callable[[], Texts], extent: Extent
    ) -> list[Unit[pd.DataFrame]]:
        measure = partial(code_models, extent=extent)
        return self._units("bits per byte of", "caption", models, measure, texts)

    def probing(
        self, models: Sequence[str], sets: Sets, layers: Layers = "last"
    ) -> list[Unit[pd.DataFrame]]:
        measure = partial(probe_models, layers=layers)
        return self._units("linear probes of", "image", models, measure, sets)

    def _units(
        self,
        what: str,
        reads: Item,
        models: Sequence[str],
        measure: Measure,
        needed: Callable[[], object],
    ) -> list[Unit[pd.DataFrame]]:
        entries = entries_to_measure(Store(self.store), self.dataset, models, reads)
        return [
            Unit(f"{what} {name}", partial(self._do, measure, [name], (needed,)))
            for name in (one.card.name for one in entries)
        ]

    def suite(self, models: Sequence[str], *, alone: bool) -> list[Unit[pd.DataFrame]]:
        """Return what measures models in the Cave. alone: one unit for all, which share the
        pictures and every core; else one for each model.
        """
        _, world, entries = check_measurable(Store(self.store), self.dataset, models)
        if alone:
            return [Unit("competence", partial(self._do, measure_all, models, ()))]
        measure = partial(measure_all, drawn=Once(partial(world.pictures, jobs=1)))
        return [
            Unit(f"competence of {name}", partial(self._do, measure, [name], ()))
            for name in (one.card.name for one in entries)
        ]

    def _do(
        self,
        measure: Measure,
        models: Sequence[str],
        needed: Sequence[Callable[[], object]],
        report: Progress | None,
    ) -> pd.DataFrame:
        """Measure models in the process that does the work; what is needed is opened there."""
        more = {"device": choose_device(self.device), "report": report}
        return measure(self.store, self.dataset, models, *(make() for make in needed), **more)
