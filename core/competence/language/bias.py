"""Bias: how a model's guess at the color of a kind of thing differs from the world's own law.

The model completes "There is a NOUN painted", as captions of the Cave do, with each wording of each
color and a full stop. A color's probability is the sum over its wordings, renormalized over the
colors; a kind's is the mean over the nouns that mean it alone. Phrase and measures were fixed
before any model was asked. Source: section 5 of Huh et al. 2024 (bias should fall as models get
better).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.cave.captions import WORDINGS, with_article
from core.cave.events import COLORS, KINDS, color_law
from core.cave.exams import Item, own_wordings
from core.competence.language.completions import code_endings
from core.encoders.encoder import Encoder

PROMPT = "There is {} painted"
Chances = Float64[np.ndarray, " colors"]


def guess_colors(encoder: Encoder) -> pd.DataFrame:
    """Return the columns kind, color, guess and law: the model's probability of each color of each
    kind, and the world's; each sums to 1 over the colors of a kind.

    Raises EncoderError for a model that does not predict text from left to right.
    """
    words = [word for color in COLORS for word in WORDINGS[color]]
    endings = tuple(f" {word}." for word in words)
    wordings = [(kind, noun) for kind in KINDS for noun in own_wordings(kind, KINDS)]
    items = [
        Item("colors", place, PROMPT.format(with_article(noun)), endings, 0)
        for place, (_, noun) in enumerate(wordings)
    ]
    bits = code_endings(encoder, items)
    shares = np.exp2(bits.min(1, keepdims=True) - bits)
    shares /= shares.sum(1, keepdims=True)
    by_color = shares.reshape(len(items), len(COLORS), -1).sum(2)
    rows = []
    for kind in KINDS:
        guess = by_color[[one == kind for one, _ in wordings]].mean(0)
        rows += list(zip([kind] * len(COLORS), COLORS, guess, color_law(kind), strict=True))
    return pd.DataFrame(rows, columns=["kind", "color", "guess", "law"])


def distance(guess: Chances, law: Chances) -> float:
    """Return the total variation distance ½ Σ |guess − law|, in [0, 1]; 0 without bias."""
    return float(np.abs(guess - law).sum() / 2)


def amplification(guess: Chances, law: Chances) -> float:
    """Return how much more probability a guess gives to the kind's most common color than the law
    does, in [−1, 1]; positive where a habit of the world is exaggerated.

    Colors that are equally common count together.
    """
    common = np.isclose(law, law.max())
    return float((guess - law)[common].sum())
