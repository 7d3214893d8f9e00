"""What queries and keys show against what the theory says, in plain sentences."""

from __future__ import annotations

import pandas as pd

from core.theory.attention.question import Attention

KINDS = ("gradients", "weights")


def findings(_: Attention, table: pd.DataFrame) -> list[str]:
    """Return how alike both sides are in the latest model of each family; table: as the command
    gives it.
    """
    latest = table[table["model"].isin(_latest(table))]
    return [
        *(_told(latest, kind) for kind in KINDS),
        "Noise alone would bring the gradients to 1, and weight decay alone the weights; the"
        " models were trained by AdamW, of which the theory says neither.",
    ]


def _latest(table: pd.DataFrame) -> list[str]:
    trained = table.drop_duplicates("model").sort_values("step", kind="stable")
    return list(trained.drop_duplicates("family", keep="last")["model"])


def _told(latest: pd.DataFrame, kind: str) -> str:
    columns = [f"{kind}_alike{name}" for name in ("", "_initial", "_chance")]
    middle = latest.groupby("title", sort=False)[columns].median().dropna()
    if middle.empty:
        return f"No model here predicts the next token, so that there are no {kind}."
    values, initial, chance = (middle[column] for column in columns)
    each = ", ".join(f"{_text(value)} in {title}" for title, value in values.items())
    return (
        f"The {kind} of queries and keys have a median cosine of {each}; fresh weights have"
        f" {_range(initial)}, chance {_range(chance)}."
    )


def _range(values: pd.Series) -> str:
    ends = dict.fromkeys(_text(end) for end in (values.min(), values.max()))
    return " to ".join(ends)


def _text(value: float) -> str:
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")
