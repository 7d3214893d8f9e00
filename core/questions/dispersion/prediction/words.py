"""Words that one of two sets of captions has more often than the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
import pandas as pd

from core.errors import InputError
from core.statistics.nulls import adjust

# captions of both sets together that must have a word: among many words a rarer one cannot be
# distinguished from chance
LEAST = 5
COLUMNS = ("word", "in_low", "in_high", "low", "high", "odds_ratio", "p", "p_adjusted")


def enriched(low: Sequence[Collection[str]], high: Sequence[Collection[str]]) -> pd.DataFrame:
    """Test every word of two sets of captions for being in more captions of one set than of the
    other.

    odds_ratio: a (H − b) / (b (L − a)), where a of the L low and b of the H high captions have the
    word, however often: above 1 it is more frequent in the low set; 0 where no low caption has it,
    or all high ones; infinite in the opposite case. p: Fisher's exact test, two-sided; p_adjusted:
    for the false discovery rate over all words tested. Words of fewer than LEAST captions, or of
    all, are not tested; a word's total says nothing of its sets, so this leaves p valid. low, high:
    the words of each caption. Returns a row per word, lowest p first: word, in_low, in_high
    (captions), low, high (sizes of the sets), odds_ratio, p, p_adjusted. Raises InputError for an
    empty set. Source: Fisher 1935; Bourgon, Gentleman, Huber 2010 (leaving out by the total).
    """
    for captions, name in ((low, "low"), (high, "high")):
        if not len(captions):
            raise InputError(
                f"words are compared between two sets of captions; the {name} set is empty: choose"
                " a larger size"
            )
    in_low, in_high = (
        Counter(word for words in captions for word in set(words)) for captions in (low, high)
    )
    total = in_low + in_high
    tested = sorted(word for word, count in total.items() if LEAST <= count < len(low) + len(high))
    test = cache(lambda a, b: _fisher(a, b, len(low), len(high)))
    rows = [
        (word, in_low[word], in_high[word], len(low), len(high), *test(in_low[word], in_high[word]))
        for word in tested
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS[:-1])).astype(
        {"odds_ratio": np.float64, "p": np.float64}
    )
    table["p_adjusted"] = adjust(table["p"].to_numpy())
    return table.sort_values(["p", "word"], ignore_index=True)


def _fisher(a: int, b: int, low: int, high: int) -> tuple[float, float]:
    """Return the odds ratio and p; neither is undefined, since not every caption has the word and
    some do.
    """
    from scipy import stats  # a third of a second that pages without a test must not pay

    exact = stats.fisher_exact(np.array([[a, low - a], [b, high - b]]))
    return float(exact.statistic), float(exact.pvalue)
