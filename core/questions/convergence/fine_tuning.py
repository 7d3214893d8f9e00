"""Models and their fine-tuned copies: which of the two is more aligned with each language model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.modalities import find_modality
from core.study.layers import score_matrix

ALL = "all language models"
COLUMNS = ("copies", "with", "pairs", "before", "after", "change", "low", "high", "p", "reason")
FEWEST = 3  # models and copies; of fewer no spread is known
LEVEL = 0.95


def compare_copies(trainings: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how alignment with language changes as vision models are fine-tuned, with COLUMNS.

    A row per line of copies and usual language recipe, and one with the mean over all of these.
    before, after: mean alignment of the models and of their copies. change: mean over models of
    after − before, with Student's 95 % interval and the p of a t-test over the pairs of model and
    copy, which are trainings of several sizes and seeds. reason: why these are NaN.
    """
    names = list(trainings["model"])
    reads = trainings["modality"].map(lambda name: find_modality(name).reads)
    language = trainings[(reads == "caption") & (trainings["varies"] == "")]
    copies = trainings[(reads == "image") & trainings["start"].isin(names)]
    if copies.empty or language.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    scores = pd.DataFrame(score_matrix(pairs, names), index=names, columns=names)
    rows = [
        row
        for line, of_line in copies.groupby("line", sort=False)
        for row in _rows(str(line), of_line, language, scores)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(
    line: str, copies: pd.DataFrame, language: pd.DataFrame, scores: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    readers = {ALL: language["model"], **dict(iter(language.groupby("recipe")["model"]))}
    for title, models in readers.items():
        before = scores.loc[copies["start"], models].mean(axis=1).to_numpy(float)
        after = scores.loc[copies["model"], models].mean(axis=1).to_numpy(float)
        whole = np.isfinite(before) & np.isfinite(after)
        yield {
            "copies": line,
            "with": title,
            "pairs": int(whole.sum()),
            "before": before[whole].mean() if whole.any() else np.nan,
            "after": after[whole].mean() if whole.any() else np.nan,
            **_paired(after[whole] - before[whole]),
        }


def _paired(change: Float64[np.ndarray, " n"]) -> dict[str, Any]:
    from scipy.stats import t  # a third of a second

    mean = float(change.mean()) if len(change) else np.nan
    if len(change) < FEWEST:
        why = f"a test takes at least {FEWEST} pairs of model and copy; here are {len(change)}"
        return {"change": mean, "low": np.nan, "high": np.nan, "p": np.nan, "reason": why}
    if np.ptp(change) == 0:
        why = "all pairs of model and copy change alike, so their spread is unknown"
        return {"change": mean, "low": np.nan, "high": np.nan, "p": np.nan, "reason": why}
    error = float(change.std(ddof=1) / np.sqrt(len(change)))
    reach = float(t.ppf((1 + LEVEL) / 2, len(change) - 1)) * error
    p = float(2 * t.sf(abs(mean) / error, len(change) - 1))
    return {"change": mean, "low": mean - reach, "high": mean + reach, "p": p, "reason": ""}
