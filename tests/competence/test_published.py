"""Published figures: all that were gathered, nothing else, each with its source; a figure without
one is refused.
"""

from __future__ import annotations

from hashlib import sha256

import pandas as pd
import pytest

from core.competence.records import COLUMNS
from core.competence.scores import (
    FOLDER,
    published_models,
    published_rows,
    read_published,
)
from core.errors import InputError

HEADER = "model,checkpoint,task,group,value,unit,split,source\n"
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
    assert rows[["low", "high", "chance", "n"]].isna().all(axis=None)
    assert {path.name for path in FOLDER.glob("*.csv")} == {*DIGESTS, "ours.csv"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "hf:a/b,,HellaSwag,common sense,50,%,,",
            r"nothing of f\.csv was taken: line 2: source is empty",
        ),
        ("hf:a/b,,HellaSwag,common sense,50,%,, ", "line 2: source is empty"),
        ("hf:a/b,,HellaSwag,common sense,,%,,x", "line 2: value is empty"),
        (
            "hf:a/b,,HellaSwag,common sense,50,percent,,x",
            r"f\.csv has the unit 'percent'; expected one of top-1, %, bits per byte",
        ),
        ("hf:a/b,,HellaSwag,common sense,500,%,,x", r"line 2: value 500 is outside 0 … 100"),
        (
            "hf:a/b,,H,g,50,%,,x\nhf:a/b,,H,g,51,%,,y",
            "line 3: 'hf:a/b' has a value of 'H' in line 2 already",
        ),
    ],
)
def test_a_figure_without_a_source_or_otherwise_wrong_is_refused(row, message, tmp_path):
    (tmp_path / "f.csv").write_text(f"{HEADER}{row}\n")
    with pytest.raises(InputError, match=message):
        read_published(tmp_path / "f.csv")
