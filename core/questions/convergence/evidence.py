"""What speaks for the hypothesis, what against it, and what is open, by rule: a row of the summary
is evidence if the hypothesis predicts its sign.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import pandas as pd

from core.figures.numbers import p_text
from core.questions.convergence.levels import KINDS
from core.questions.convergence.summary import COMPETENCE, DECIDES, HYPOTHESIS, THIRDS, TRENDS

Side = Literal["for", "against", "open"]
SIDES: Mapping[str, Side] = {
    "supported": "for",
    "contradicted": "against",
    "not shown": "open",
    "not tested": "open",
}


def weigh(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `Summary` that are evidence, with side and text, the surest first.

    Evidence are the levels of competence, the test that decides each hypothesis, the contrast of
    weak and strong over all models, and the trends of figure 3.
    """
    about, what = summary["about"], summary["what"]
    counts = about.isin((COMPETENCE, TRENDS))
    counts |= about.str.startswith(HYPOTHESIS) & what.str.endswith(DECIDES)
    counts |= (about == THIRDS) & what.str.endswith(KINDS["all"])
    rows = summary[counts].sort_values("p", kind="stable")
    texts = [_text(row) for row in rows.to_dict("records")]
    return rows.assign(side=rows["verdict"].map(SIDES), text=texts)


def _text(row: Mapping[Hashable, Any]) -> str:
    name, what = row["about"].removeprefix(HYPOTHESIS), row["what"].removesuffix(DECIDES)
    subject = what if row["about"] == TRENDS else f"{name[:1].upper()}{name[1:]}: {what}"
    if pd.isna(row["p"]):
        return f"{subject}: {row['reason'] or 'too few models'}."
    letter = "q" if row["what"].endswith(DECIDES) else "p"
    value = f"{row['value']:+.2g}".replace("-", "−")
    numbers = ", ".join(filter(None, (p_text(row["p"], letter), row["counted"])))
    return f"{subject}: **{value}** ({numbers})."
