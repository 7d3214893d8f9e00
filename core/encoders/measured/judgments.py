"""People's judgments from a CSV table: dissimilarities of pairs.

    first,second,dissimilarity       how different two are; several ratings are averaged

A stimulus is named by its id in the dataset, or by its place from 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Int64

from core.encoders.imported import Features
from core.encoders.measured.dissimilarities import checked
from core.encoders.rows import from_1
from core.errors import FeatureError
from core.files.texts import csv_rows
from core.files.userfile import TEXT, UserFile, shown

RATED = ("first", "second", "dissimilarity")
TRIPLETS = ({"first", "second", "odd"}, {"anchor", "near", "far"})  # which others import
INSTEAD = (
    "expected ratings of pairs with the columns first, second, dissimilarity and --dissimilarities,"
    " or a space that was fitted to judgments elsewhere, such as a .npy of (n, d)"
)
SHOWN = 100  # characters of what stands in a table


def read_ratings(path: Path, stimuli: Sequence[str]) -> Features:
    """Return the mean rated dissimilarity of every two stimuli, whatever their order, of those that
    were rated; their ids are the rows'.

    Raises FeatureError for another table, an unknown stimulus, a value that is no number, and where
    a pair of those was not rated.
    """
    table = _read_table(path)
    pairs = np.sort(_indices(table[["first", "second"]], stimuli, path), axis=1)
    values = pd.to_numeric(table["dissimilarity"], errors="coerce").to_numpy(np.float64)
    if len(wrong := np.flatnonzero(~np.isfinite(values))):
        raise FeatureError(
            f"row {wrong[0] + 1} of {path} has dissimilarity"
            f" {shown(table['dissimilarity'].iloc[wrong[0]])}; expected a number"
        )
    rated, pairs = np.unique(pairs, return_inverse=True)
    pairs, n = pairs.reshape(-1, 2), len(rated)
    total, times = np.zeros((n, n)), np.zeros((n, n))
    np.add.at(total, tuple(pairs.T), values)
    np.add.at(times, tuple(pairs.T), 1)
    unrated = np.argwhere((times == 0) & np.triu(np.ones((n, n), dtype=bool), 1))
    ids = [stimuli[place] for place in rated]
    if len(unrated):
        raise FeatureError(
            f"{path} has no rating of {len(unrated)} of {n * (n - 1) // 2} pairs, such as"
            f" {ids[unrated[0][0]]!r} and {ids[unrated[0][1]]!r}; expected each pair at least once"
        )
    mean = np.divide(total, times, out=np.zeros((n, n)), where=times > 0)
    matrix, changed = checked(mean + np.triu(mean, 1).T, path)
    return Features([matrix], (), ids, "first and second", changed=changed)


def _read_table(path: Path) -> pd.DataFrame:
    wanted = ", ".join(RATED)
    if path.suffix.lower() != ".csv":
        raise FeatureError(f"{path} is no .csv; expected a table with the columns {wanted}")
    file = UserFile(path, f"a CSV in UTF-8 with the columns {wanted}", FeatureError, most=TEXT)
    header, rows = csv_rows(file)
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise FeatureError(f"{path} has several columns named {shown(twice[0])}; keep one")
    if any(columns <= {*header} for columns in TRIPLETS):
        raise FeatureError(f"{path} holds judgments of triplets, which are not read; {INSTEAD}")
    if not {*RATED} <= {*header} or not rows:
        content = f"{len(rows)} rows of {', '.join(header[:6])[:SHOWN] or 'no columns'}"
        raise FeatureError(f"{path} has {content}; expected rows with the columns {wanted}")
    return pd.DataFrame(rows, columns=header, dtype="str")


def _indices(table: pd.DataFrame, stimuli: Sequence[str], path: Path) -> Int64[np.ndarray, "m _"]:
    """Return the place of each named stimulus."""
    places = {str(index): index for index in range(len(stimuli))}
    table = table.apply(lambda column: column.str.strip())
    known = table.isin(stimuli).to_numpy().any()
    if start := "" if known else from_1(table.to_numpy().ravel(), len(stimuli)):
        raise FeatureError(f"{path} names stimuli by numbers; {start}")
    places |= {name: index for index, name in enumerate(stimuli)}
    named = table.apply(lambda column: column.map(places))
    if named.isna().to_numpy().any():
        row, column = np.argwhere(named.isna().to_numpy())[0]
        raise FeatureError(
            f"row {row + 1} of {path} names {shown(table.iloc[row, column])}; expected a stimulus"
            f" of the dataset, such as {stimuli[0]!r}, or its place from 0 to {len(stimuli) - 1}"
        )
    indices: np.ndarray = named.to_numpy(np.int64)
    return indices
