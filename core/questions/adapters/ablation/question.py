"""What `platoscope adapters ablation` asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from core.options.declaring import option
from core.questions.adapters.question import (
    COLDEST,
    HOTTEST,
    PUBLISHED,
    WIDEST,
    Fitting,
    OneSet,
    trainings_option,
)

TWO = {
    "start": ("canonical", "random"),
    "direction": ("both", "forward"),
    "products": ("cosine", "raw"),
    "offset": (True, False),
    "learned": (True, False),
}  # choices of one of two
LOSS = ("direction", "products", "learned", "temperature")  # choices that leave the start alone
CHOSEN, PROPOSED = "as chosen", "as published"
MOST_TRIED = 6  # widths, and temperatures: each takes trainings of its own


class Variant(NamedTuple):
    """A way to train adapters: which choice it changes, "" of none, and to what."""

    choice: str
    setting: str
    fitting: Fitting


@dataclass(frozen=True)
class Ablation(OneSet):
    """What does each choice of how adapters are trained bring?"""

    command: ClassVar[str] = "adapters ablation"

    seeds: int = trainings_option("trainings of each row; an interval takes five or more")
    widths: tuple[int, ...] = option(
        (16, 64, 1024),
        least=1,
        most=WIDEST,
        label="Widths",
        help=f"widths to try beside, {MOST_TRIED} at most",
    )
    temperatures: tuple[float, ...] = option(
        (0.02, 0.2, 1.0),
        least=COLDEST,
        most=HOTTEST,
        label="Temperatures",
        metavar="T",
        help=f"temperatures to try beside, {MOST_TRIED} at most",
    )

    def variants(self) -> Iterator[Variant]:
        """Yield the fitting as it is, then with one choice changed at a time, then all of the
        proposal's at once.
        """
        base = self.fitting
        yield Variant(CHOSEN, "", base)
        for name, values in TWO.items():
            yield self._with(name, *(value for value in values if value != getattr(base, name)))
        for name, several in (("width", self.widths), ("temperature", self.temperatures)):
            yield from (
                self._with(name, value) for value in several if value != getattr(base, name)
            )
        published = replace(PUBLISHED, width=base.width, temperature=base.temperature)
        if published != base:
            yield Variant(PROPOSED, "", published)

    def _with(self, name: str, value: Any) -> Variant:
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value}"
        return Variant(name, shown, replace(self.fitting, **{name: value}))
