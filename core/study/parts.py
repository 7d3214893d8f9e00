"""Parts that several questions share: which stimuli, how spaces are compared, what is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from core.options import (
    MOST_LAYERS,
    Value,
    draws_option,
    neighbors_option,
    option,
    part,
    seed_option,
)
from core.spaces.choices import Clamping

if TYPE_CHECKING:
    from core.metrics import Metric, MetricSpec
    from core.store import Store
    from core.study.layers import LayerChoice
    from core.study.study import Study

Candidates = Literal["released", "paper"]

CAVE = "cave"


M = TypeVar("M", bound="Measure")


@dataclass(frozen=True)
class Scope:
    """Which stimuli are studied, and how their features are prepared."""

    dataset: str = option(
        CAVE, label="Dataset", metavar="D", help="the dataset, or the store's only one"
    )
    clamping: Clamping = part(Clamping)
    where: tuple[tuple[str, str], ...] = option(
        (),
        label="Only stimuli with",
        help="only the stimuli with these factors; of one factor, with any of its values",
    )
    stimuli: str = option(
        "", metavar="SET", help="only the stimuli of a set, by its code in a link"
    )

    def open(self, store: Store, **settings: Any) -> Study:
        from core.study.study import Study  # seconds that a parser of commands must not pay

        values: dict[str, set[str]] = {}
        for factor, value in self.where:
            values.setdefault(factor, set()).add(value)
        where: dict[str, str | tuple[str, ...]] = {
            factor: next(iter(each)) if len(each) == 1 else tuple(sorted(each))
            for factor, each in values.items()
        }
        return Study(
            store,
            self.dataset,
            self.clamping,
            where=where,
            stimuli=self.stimuli,
            **settings,
        )


@dataclass(frozen=True)
class Measure:
    """A metric with its parameters. k: None for the metric's default."""

    metric: str = option(
        "mutual_knn", label="Metric", metavar="METRIC", help="metric; see platoscope metrics list"
    )
    k: int | None = neighbors_option(
        None, help="neighbors per stimulus, 1 … n − 1, for metrics that compare neighbors (10)"
    )
    parameters: tuple[tuple[str, Value], ...] = option(
        (), name="set", help="other parameters of the metric"
    )

    @classmethod
    def of(cls: type[M], metric: str, parameters: Mapping[str, Any], **layers: str) -> M:
        """Return a measure from a metric's parameters. layers: further fields of a `Comparison`."""
        defaults = _find(metric).spec.defaults
        changed = {name: value for name, value in parameters.items() if value != defaults.get(name)}
        k = changed.pop("k", None)
        return cls(metric=metric, k=k, parameters=tuple(changed.items()), **layers)

    @property
    def changed(self) -> dict[str, Any]:
        return {**({} if self.k is None else {"k": self.k}), **dict(self.parameters)}

    @property
    def settings(self) -> dict[str, Any]:
        """Every parameter of the metric; raise UnknownNameError and MetricError."""
        return _find(self.metric).complete(self.changed)

    @property
    def spec(self) -> MetricSpec:
        return _find(self.metric).spec_with(self.changed)

    @property
    def toward(self) -> int:
        return 1 if self.spec.higher_is_more_aligned else -1

    def chance(self, n: int) -> float:
        """Return what one pair of layers of unrelated models reaches; NaN without a formula."""
        return _find(self.metric).chance_level(n, self.changed)

    @property
    def label(self) -> str:
        k = self.settings.get("k")
        neighbors = "" if k is None else f", k = {k}"
        direction = "" if self.spec.higher_is_more_aligned else ", lower is more aligned"
        return f"alignment ({self.spec.short}{neighbors}{direction})"


@dataclass(frozen=True)
class LayerRule:
    """Which layers of two models are compared. candidates: as in the code or the text of Huh et al.
    2024.
    """

    layers: str = option(
        "best",
        label="Layers",
        metavar="LAYERS",
        help="best, last, a fixed pair A:B, or a depth from 0 to 1",
    )
    candidates: Candidates = option(
        "released",
        name="as",
        label="Best as in",
        help="among which layers the best is sought: released, among the layers, as the published"
        " code does; paper, also among all of them side by side",
    )

    @property
    def concatenated(self) -> bool:
        return self.candidates == "paper"

    def read_layers(self) -> LayerChoice:
        from core.study.layers import read_choice  # numpy, which parsing must not cost

        return read_choice(self.layers, concatenated=self.concatenated)


@dataclass(frozen=True)
class Comparison(LayerRule, Measure):
    """A metric with its parameters, and which layers are compared."""


@dataclass(frozen=True)
class Calibration:
    """How far above chance, and how sure: 0 for neither."""

    null: int = draws_option(
        0,
        least=0,
        label="Calibrate by permutations",
        help="permutations: threshold, p and calibrated score",
    )
    bootstrap: int = draws_option(
        0,
        least=0,
        label="Intervals by resampling",
        help="random halves of the stimuli: 95%% interval of the score over other stimuli"
        " (at least 40, except for mutual and Jaccard k-NN)",
    )
    within: str = option(
        "",
        label="Permute within",
        metavar="FACTOR",
        help="permute only stimuli with the same value of this factor, or of several (scene,count),"
        " or in the same one of so many clusters of the compared models' last layers",
    )
    seed: int = seed_option("seed of permutations and halves")

    @property
    def resamples(self) -> bool:
        return bool(self.null or self.bootstrap)


@dataclass(frozen=True)
class LayerPair:
    """One layer of each of two models; "" and None for the best aligned."""

    x: str = option(
        "",
        name="a",
        label="One model",
        metavar="M",
        help="one model (the most competent or best aligned)",
    )
    layer_x: int | None = option(
        None,
        name="layer_a",
        least=0,
        most=MOST_LAYERS,
        label="Layer",
        help="its layer, from 0 (the best aligned)",
    )
    y: str = option(
        "",
        name="b",
        label="Another model",
        metavar="M",
        help="another model (the most competent or best aligned)",
    )
    layer_y: int | None = option(
        None,
        name="layer_b",
        least=0,
        most=MOST_LAYERS,
        label="Layer",
        help="its layer, from 0 (the best aligned)",
    )

    @property
    def places(self) -> tuple[tuple[str, int], tuple[str, int]]:
        assert self.layer_x is not None
        assert self.layer_y is not None
        return (self.x, self.layer_x), (self.y, self.layer_y)


def _find(metric: str) -> Metric:
    from core.metrics import find_metric  # numpy and scipy, which parsing must not cost

    return find_metric(metric)
