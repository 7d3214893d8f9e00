"""Color words and the colors that people mean by them: centroids in CIELAB of two public
surveys.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64

from core.errors import UnknownNameError
from core.questions.color.geometry.defaults import SURVEYS
from core.questions.color.geometry.perception import to_hex
from core.settings import ROOT

TABLE = ROOT / "data" / "color" / "words.csv"
LAB = ["L", "a", "b"]


def color_words(survey: str = "xkcd", words: Sequence[str] | None = None) -> pd.DataFrame:
    """Return color words (all 24, or the chosen ones in that order): word, L, a, b, hex, answers.

    L, a, b: the mean in CIELAB of the colors that people called by the word; answers: how many.
    survey: "xkcd" (Heer, Stone 2012) or "uw" (Kim et al. 2019, the means as its authors' table has
    them; answers are those to colors of the whole RGB cube). Raises UnknownNameError for another
    survey or word.
    """
    if survey not in SURVEYS:
        raise UnknownNameError("survey of color words", survey, SURVEYS)
    table = pd.read_csv(TABLE).query("survey == @survey").set_index("word")
    if unknown := [word for word in words or () if word not in table.index]:
        raise UnknownNameError("color word", unknown[0], table.index)
    table = table.loc[list(dict.fromkeys(words))] if words else table
    table = table.assign(hex=to_hex(table[LAB].to_numpy())).reset_index()
    return table[["word", *LAB, "hex", "answers"]]


def nearest_word(
    lab: Float[np.ndarray, "n 3"], centroids: Float[np.ndarray, "words 3"]
) -> Int64[np.ndarray, " n"]:
    """Return the word whose centroid each CIELAB color is nearest to; of equally near ones, the
    first.
    """
    from scipy.spatial import distance

    nearest: np.ndarray = distance.cdist(lab, centroids).argmin(axis=1).astype(np.int64)
    return nearest
