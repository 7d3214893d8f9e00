"""A small store in which whatever is a free text would be obeyed somewhere, were it not shown as it
is: by Markdown, HTML, LaTeX, Streamlit's icons and arrows, Plotly's templates, spreadsheets and
terminals.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from core.competence.scores import import_scores
from core.encoders.encoder import ModelCard
from core.recipe import Recipe
from core.stimuli.dataset import DatasetCard
from core.store import Embedding, add_dataset, write_embedding
from core.store.schema import VERSIONS
from tests.pages.world import PaintedDataset

MARKUP = (
    "<img src=x onerror=alert(1)> <b>b</b> **b** [l](javascript:alert(2)) $x^2$ :red[r]"
    " :material/home: :smile: %{meta.title} &lt; a -> b https://evil.example שלום"
)
CONTROLS = "\x1b[31m\x07\r\x9b1m\u202e\u2066\u200b"
FORMULA = "=1+1"


def hostile(name: str) -> str:
    """Return a text of which every part is hostile, told from others by its name."""
    return f"{FORMULA} {name} {MARKUP} {CONTROLS}"


class HostileDataset(PaintedDataset):
    """Disks as ever, under a hostile title, with hostile captions, factors and caption levels."""

    LEVELS = (hostile("level A"), hostile("level B"))

    @property
    def card(self) -> DatasetCard:
        source = {"kind": "folder", "folder": f"/photos/{MARKUP}"}
        return replace(
            super().card, title=hostile("dataset"), levels=self.LEVELS, source=source, name="mine"
        )

    @cached_property
    def stimuli(self) -> pd.DataFrame:
        numbers = range(self.size)
        return pd.DataFrame(
            {
                "stimulus": [hostile(f"stimulus {n}") for n in numbers],
                hostile("factor"): [hostile(f"value {n % 3}") for n in numbers],
                "count": [n % 4 + 1 for n in numbers],
            }
        )

    @property
    def captions(self) -> pd.DataFrame:
        rows = [
            (n, level, hostile(f"caption {n} of {level[:12]}"))
            for n in range(self.size)
            for level in self.LEVELS
        ]
        return pd.DataFrame(rows, columns=["index", "level", "text"])


def build_hostile(root: Path, size: int = 34) -> Path:
    """Fill a store: the dataset, three models of either modality and imported scores."""
    dataset = HostileDataset(size)
    add_dataset(root, dataset)
    for modality in ("vision", "language"):
        for number in range(3):
            _embed(root, dataset, modality, number)
    import_scores(root, dataset.card.name, _scores(), name="scores.csv")
    return root


def _scores() -> bytes:
    """Return two scores of every model as CSV; an import refuses control characters itself."""
    rows = [
        (f"{modality}-{n}", f"{MARKUP} task {task}", 0.3 + n / 5, "accuracy", MARKUP, MARKUP)
        for modality in ("vision", "language")
        for n in range(3)
        for task in range(2)
    ]
    columns = ["model", "task", "value", "unit", "group", "source"]
    return pd.DataFrame(rows, columns=columns).to_csv(index=False).encode()


def _embed(root: Path, dataset: HostileDataset, modality: str, number: int) -> None:
    name = f"{modality}-{number}"
    rng = np.random.default_rng(number)
    layers = [
        dataset.reality * (0.3 + number / 4 + layer / 8)
        + rng.normal(size=(dataset.size, 9)).astype(np.float32) / 3
        for layer in range(2)
    ]
    card = ModelCard(
        name,
        hostile(f"title {name}"),
        modality,
        f"hf:{MARKUP}",
        hostile(f"family {number}"),
        hostile(f"objective {number}"),
        1000 * 10**number,
        "w",
        (hostile("layer 0"), hostile("layer 1")),
        training={"config": {"start": hostile("start")}},
    )
    reads = modality == "language"
    write_embedding(
        root,
        Embedding(
            dataset=dataset.card,
            card=card,
            level=dataset.LEVELS[0] if reads else None,
            layers=layers,
            bits=np.full(dataset.size, 20.0 - number) if reads else None,
            bytes=np.full(dataset.size, 40.0) if reads else None,
            recipe=Recipe.of(
                "embedding", version=VERSIONS["embedding"], model=hostile(f"recipe {name}")
            ),
            device="cpu",
            seconds=0.1,
        ),
    )
