"""Which engine compares a study's models: one that holds kernels of all pairs of stimuli where they
fit into the memory, else one that sums over stimuli.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import MetricError
from core.machine.memory import size_text
from core.metrics import METRICS, find_metric
from core.metrics.engines import make_engine
from core.metrics.spec import AnyEngine, Metric
from core.spaces.inputs import check_k
from core.study.parts import Measure
from core.study.study import Study

BUDGET = 8 * 10**9  # bytes that the kernels of one comparison may take together


def kernel_bytes(n: int, *, layers: int) -> int:
    """Return the memory that kernels of n stimuli take: of each layer half a matrix in float32, and
    two whole ones in float64 while one of them is made.
    """
    return (2 * layers + 16) * n**2


def fits(n: int, *, layers: int) -> bool:
    """Return whether the kernels of all these layers fit into BUDGET together."""
    return kernel_bytes(n, layers=layers) <= BUDGET


def choose_engine(
    study: Study, measure: Measure, models: Sequence[str] = (), *, concatenated: bool = False
) -> AnyEngine:
    """Return the engine that compares these models of a study, on its device; see `engine_over`.

    models: those that are held at once; with none, only the measure and the number of stimuli are
    checked. concatenated: as for `Study.spaces`. Raises UnknownNameError for a model, too.
    """
    study.store.note({f"metric:{measure.metric}": str(find_metric(measure.metric).version)})
    layers = sum(len(study.entry(name).dims) + concatenated for name in dict.fromkeys(models))
    return engine_over(study.size, measure, layers=layers, device=study.device)


def engine_over(n: int, measure: Measure, *, layers: int, device: str = "cpu") -> AnyEngine:
    """Return the engine that compares so many layers of n stimuli, all held at once.

    Where their kernels do not fit into BUDGET, none that makes a matrix of all pairs of stimuli.
    Raises UnknownNameError for the metric, MetricError for its parameters, for one that needs such
    a matrix and for one that takes no GPU, DeviceError for a device that is not there.
    """
    metric, settings = find_metric(measure.metric), measure.settings
    if "k" in settings:
        check_k(settings["k"], n)
    if not (metric.every_pair or metric.streamed):
        return make_engine(measure.metric, device=device, **settings)
    layers = layers if metric.every_pair else 0  # else nothing of n² numbers stays
    if fits(n, layers=layers):
        return make_engine(measure.metric, device=device, **settings)
    if metric.streamed is None:
        raise MetricError(
            f"{_too_large(metric, n, layers)}: use {_names_of_any_size()}, compare fewer models, or"
            " study fewer stimuli"
        )
    if device not in ("cpu", "auto"):
        raise MetricError(
            f"{_too_large(metric, n, layers)}, so it is summed on the CPU; got device {device}: use"
            " cpu or auto"
        )
    return metric.streamed(**settings)


def _too_large(metric: Metric, n: int, layers: int) -> str:
    needed = size_text(kernel_bytes(n, layers=layers))
    return (
        f"{metric.spec.title} of {layers} layers compares all pairs of {n:,} stimuli at once, which"
        f" takes {needed} of memory; at most {size_text(BUDGET)} expected"
    )


def _names_of_any_size() -> str:
    metrics = METRICS.values()
    names = [each.spec.id for each in metrics if each.streamed or not each.every_pair]
    return f"{', '.join(names[:-1])} or {names[-1]}"
