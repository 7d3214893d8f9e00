"""Published figures: all that were gathered, nothing else, each with its source."""

from __future__ import annotations

from hashlib import sha256

import pandas as pd

from core.competence.records import COLUMNS
from core.competence.scores import FOLDER, UNITS, published_models, published_rows

DIGESTS = {  # when these tables were last compared with what was gathered, value by value
    "alignments.csv": "2ed6f854f943",
    "language_scores.csv": "4f74e5008a8e",
    "models.csv": "cc4b1d703f2f",
    "vision_scores.csv": "66abd273b0ac",
    "vtab_tasks.csv": "7500aa94f67c",
}


def digest(name: str) -> str:
    """Return the digest of what a table states, without where our program shows it."""
    table = pd.read_csv(FOLDER / name, dtype=str, keep_default_na=False)
    stated = table.drop(columns=["page", "ask"], errors="ignore").to_csv(index=False)
    return sha256(stated.encode()).hexdigest()[:12]


def test_the_tables_are_those_that_were_compared_with_their_sources():
    assert {name: digest(name) for name in DIGESTS} == DIGESTS


def test_every_shipped_figure_has_a_source_and_a_listed_model():
    rows = published_rows()
    assert list(rows.columns) == [*COLUMNS, "checkpoint"]
    assert rows["source"].str.contains("://|github:").sum() == len(rows)
    assert set(rows["model"]) <= set(published_models()["model"])
    assert set(rows["origin"]) == {"published"}
    assert set(rows["unit"]) <= set(UNITS)
    assert rows[["low", "high", "chance", "n"]].isna().all(axis=None)
    assert {path.name for path in FOLDER.glob("*.csv")} == {*DIGESTS, "ours.csv"}
