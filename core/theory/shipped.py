"""Tables of the theory's default runs that come with the project, by recipe.

`python -m core.theory.shipped` makes them again.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from core.options import build
from core.questions.asking import recipe_of
from core.settings import ROOT
from core.theory.deep_linear.question import PRESETS, DeepLinear, Symmetry
from core.theory.deep_linear.setup import BREAKERS, Tables

FOLDER = ROOT / "data" / "theory"


SHIPPED: list[DeepLinear | Symmetry] = [
    *(build(DeepLinear, {"preset": name}) for name in (*PRESETS, *BREAKERS)),
    Symmetry(),
]


def recall(question: DeepLinear | Symmetry, folder: Path = FOLDER) -> Tables:
    """Return the tables of a run by name; none if they do not come with the project."""
    digest = recipe_of(question).digest
    return {
        file.stem.removeprefix(f"{digest}-"): pd.read_parquet(file)
        for file in folder.glob(f"{digest}-*.parquet")
    }


if __name__ == "__main__":
    for old in FOLDER.glob("*.parquet"):
        old.unlink()
    for question in SHIPPED:
        digest = recipe_of(question).digest
        for name, table in question.simulate().items():
            table.to_parquet(FOLDER / f"{digest}-{name}.parquet", index=False)
