"""Published alignments as crosses beside one's own dots."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from core.figures.marks import cards
from core.figures.theme import INK, Mode, hover_card, plain

PUBLISHED = "published"


def published_marks(points: pd.DataFrame, mode: Mode) -> dict[str, object]:
    """Return the published values of pairs, each above or below the pair's own dot.

    points: as `core.questions.alignment.figures.trend` takes them, published not NaN.
    """
    return {
        "x": points["x"],
        "y": points[PUBLISHED],
        "mode": "markers",
        "marker": cross(mode),
        "legendgroup": PUBLISHED,
        "showlegend": False,
        **cards(_card(row) for row in points.to_dict("records")),
    }


def cross(mode: Mode) -> dict[str, object]:
    """Return the mark of a published value."""
    color = INK[mode].text
    return {"symbol": "x-thin", "size": 9, "color": color, "line": {"color": color, "width": 2}}


def _card(row: Mapping[Hashable, Any]) -> str:
    return hover_card(
        f"<b>{plain(row['title_x'])} × {plain(row['title_y'])}</b>",
        f"published {row[PUBLISHED]:.3f}, here {row['score']:.3f}",
        f"published of the layers {plain(row['published_layers'])}",
        ids=plain(row["published_by"]),
    )
