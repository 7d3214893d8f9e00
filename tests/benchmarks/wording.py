"""How nearly independent of what is the case the Cave's wording is: Cramér's V of the frames of
captions with each factor, per caption level, beside that of shuffled captions.
`python -m tests.benchmarks.wording`.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats.contingency import association, crosstab

from core.questions.adapters.nuisances.labels import factor_labels, nuisance_labels
from core.stimuli.cave.densities import DENSITIES
from core.stimuli.cave.events import Event, events


def dependence(seen: list[Event], level: str) -> dict[str, tuple[float, float]]:
    """Return Cramér's V of wording with each factor and with the kind of the first thing, as it is
    and with captions shuffled.
    """
    wording = nuisance_labels(seen, "language", level)["wording"]
    shuffled = np.random.default_rng(0).permutation(wording)
    kinds = np.array([event.things[0].kind for event in seen])
    labels = {**factor_labels(seen), "first kind": kinds}
    return {name: (cramer(wording, each), cramer(shuffled, each)) for name, each in labels.items()}


def cramer(one: np.ndarray, other: np.ndarray) -> float:
    """Return Cramér's V of two labelings: 0 where they are independent, 1 at most."""
    return float(association(crosstab(one, other).count, method="cramer"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    seen = list(events("training", parser.parse_args().events))
    for level in DENSITIES:
        found = ", ".join(
            f"{name} {v:.3f} (shuffled {chance:.3f})"
            for name, (v, chance) in dependence(seen, level).items()
        )
        print(f"{level} words: {found}")


if __name__ == "__main__":
    main()
