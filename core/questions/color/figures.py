"""Figures of colors: clouds that turn together, agreement of sources, and model size."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float, Float64

from core.figures.drawing import Drawing
from core.figures.grammar import Axis, Dots, Facet, Heat, Level, Plot, Scale
from core.figures.marks import SILENT, cards
from core.figures.numbers import share_text
from core.figures.panels import cell, panels, play
from core.figures.theme import COMPETENCE, INK, Mode, clear, hover_card, plain
from core.modalities import LANGUAGE
from core.questions.color.agreement import DISSIMILARITIES

MEASURES: Mapping[str, str] = {
    "kendall": "Kendall τ",
    "spearman": "Spearman ρ",
    "neighbors": "Neighbors shared",
    "disparity": "Procrustes disparity",
}
SIDE = 290  # pixels of a panel
START, STEP, TILT = 30, 30, 30  # degrees: from where colors are seen
CENTER = (55.0, 0.0, 0.0)  # of CIELAB: a middle gray, about which color words lie
CROSS = (  # the axes of CIELAB: name, from, to
    ("L*", (0.0, 0.0, 0.0), (100.0, 0.0, 0.0)),
    ("a*", (50.0, -70.0, 0.0), (50.0, 70.0, 0.0)),
    ("b*", (50.0, 0.0, -70.0), (50.0, 0.0, 70.0)),
)
MOST_DOTS = 400  # points of a panel that are drawn large enough to be pointed at
MOST_WORDS = 40  # points of a panel; of more, names stand in the hover cards alone
LETTER, LINE, GAP = 6.3, 13.0, 9.0  # pixels: of a letter, of a line, from a point to its word
AROUND = (  # where a word may stand, the best first: Plotly's name, steps to the right and up
    ("top center", 0, 1),
    ("middle right", 1, 0),
    ("middle left", -1, 0),
    ("bottom center", 0, -1),
    ("top right", 1, 1),
    ("top left", -1, 1),
    ("bottom right", 1, -1),
    ("bottom left", -1, -1),
)


class Clouds(Plot):
    """The layout of each source in a panel of its own; a slider turns all of them together.

    All panels have one scale and are seen from one side.
    """

    def draw(self, mode: Mode, narrow: bool = False) -> go.Figure:
        """Draw the clouds from all sides."""
        around = [(START + turn) % 360 for turn in range(0, 360, STEP)]
        drawn = [_clouds(self.table, mode, narrow=narrow, turn=turn) for turn in around]
        names = [f"{turn}°" for turn in range(0, 360, STEP)]
        return play(drawn, names, mode, prefix="turned by ", active=0)


def clouds(table: pd.DataFrame) -> Plot:
    """Draw the layout of each source. table: as `ColorLayout` answers."""
    return Clouds("Layouts of colors", (), table=table)


def _clouds(table: pd.DataFrame, mode: Mode, *, narrow: bool, turn: float) -> go.Figure:
    sources = [rows for _, rows in table.groupby("source", sort=False)]
    columns = 1 if narrow else min(3, len(sources))
    rows = math.ceil(len(sources) / columns)
    height = rows * SIDE + (rows - 1) * 50
    figure = panels(
        [_head(source) for source in sources],
        columns,
        mode,
        height=height + 56,
        title="Layouts of colors",
        horizontal_spacing=0.02,
        vertical_spacing=min(0.4, 50 / height),
    )
    figure.update_annotations(font_size=13)
    farthest = np.linalg.norm(project(_points(table), turn), axis=1).max()
    reach = 1.02 * max(75.0, float(farthest))  # the axes reach 75
    for place, source in enumerate(sources):
        _add_cloud(figure, source, mode, cell(place, columns), reach=reach, turn=turn)
    hidden = {"visible": False, "fixedrange": True, "range": [-reach, reach]}
    figure.update_xaxes(**hidden).update_yaxes(**hidden)
    for place in range(len(sources)):
        across = "x" if place == 0 else f"x{place + 1}"
        figure.update_yaxes(scaleratio=1, scaleanchor=across, **cell(place, columns))
    look = {"dragmode": False, "hovermode": "closest"}
    return figure.update_layout(margin_t=48, margin_l=24, margin_r=24, **look).figure()


def _head(table: pd.DataFrame) -> str:
    """Return a panel's heading: the source, then how it agrees with perception."""
    first = table.iloc[0]
    second = f"{len(table)} colors, the reference"
    if table["error"].max() >= 1e-6:
        second = f"τ = {first['kendall']:.2f}, {len(table)} colors".replace("-", "−")
    return f"<b>{plain(first['source'])}</b><br><span style='font-size:12px'>{second}</span>"


def _points(table: pd.DataFrame) -> Float64[np.ndarray, "n 3"]:
    return table[["x", "y", "z"]].to_numpy(np.float64)


def project(points: Float[np.ndarray, "n 3"], turn: float) -> Float64[np.ndarray, "n 3"]:
    """Return how far right, up and near to the eye each point is of the center of a panel.

    points: up, right and away: L*, a*, b*. They turn around the first axis, in degrees, then by
    TILT toward the eye.
    """
    up, right, away = (points - CENTER).T
    around, over = np.radians(turn), np.radians(TILT)
    x = right * np.cos(around) + away * np.sin(around)
    depth = away * np.cos(around) - right * np.sin(around)
    return np.column_stack(
        [x, up * np.cos(over) + depth * np.sin(over), up * np.sin(over) - depth * np.cos(over)]
    )


def _add_cloud(
    figure: Drawing,
    table: pd.DataFrame,
    mode: Mode,
    at: Mapping[str, int],
    *,
    reach: float,
    turn: float,
) -> None:
    """Add a source's colors, far ones first, with their words, over CIELAB's axes."""
    rows = table.iloc[np.argsort(project(_points(table), turn)[:, 2], kind="stable")]
    seen, count = project(_points(rows), turn), len(rows)
    ends = np.array([point for _, start, end in CROSS for point in (start, end)])
    x, y = np.insert(project(ends, turn)[:, :2], [2, 4, 6], np.nan, axis=0).T
    line = {"color": clear(INK[mode].chance, 0.6), "width": 1}
    figure.add_scatter(x=_numbers(x), y=_numbers(y), mode="lines", line=line, **SILENT, **at)
    tips, names = project(ends[1::2], turn)[:, :2], [name for name, *_ in CROSS]
    words = [] if count > MOST_WORDS else list(rows["color"])[::-1]  # near ones first
    taken = np.concatenate([seen[::-1, :2], tips]) if words else tips
    scale = SIDE / (2 * reach)
    places = place_words(scale * taken[:, 0], scale * taken[:, 1], [*words, *names])
    own = places[: len(words)][::-1] if words else [""] * count
    text = {"mode": "text", "textfont": {"size": 11, "color": INK[mode].soft}}
    figure.add_scatter(
        x=tips[:, 0], y=tips[:, 1], **_texts(names, places[len(words) :]), **text, **SILENT, **at
    )
    size = 12.0 if count <= MOST_WORDS else 8.0 if count <= MOST_DOTS else 4.0
    marker = {
        "color": list(rows["hex"]),
        "size": (size * (1 + 0.25 * np.clip(seen[:, 2] / 100, -1, 1))).round(1).tolist(),
        "opacity": 1.0,
        "line": {"color": INK[mode].soft, "width": 1},
    }
    figure.add_scatter(
        x=seen[:, 0].round(3),
        y=seen[:, 1].round(3),
        mode="markers+text",
        marker=marker,
        cliponaxis=False,
        showlegend=False,
        textfont={"size": 11, "color": INK[mode].text},
        **_texts(list(rows["color"]), own),
        **cards(_card(row) for row in rows.to_dict("records")),
        **at,
    )


def _numbers(values: Float64[np.ndarray, " n"]) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 3) for value in values.tolist()]


def _texts(names: Sequence[str], places: Sequence[str]) -> dict[str, list[str]]:
    """Return names as text next to points; one without a place is not written."""
    return {
        "text": [name if place else "" for name, place in zip(names, places, strict=True)],
        "textposition": [place or "top center" for place in places],
    }


def _card(row: Mapping[Hashable, Any]) -> str:
    """Return the hover card of a color by one source."""
    seen = [] if math.isnan(row["seen"]) else [f"seen {row['seen']:,.0f} times"]
    return hover_card(
        f"<b>{plain(row['color'])}</b>, {plain(row['source'])}",
        f"{row['error']:.1f} ΔE from its place in perception",
        f"{share_text(row['neighbors'])} of its nearest colors are its nearest in perception",
        *seen,
        ids=str(row["hex"]),
    )


def place_words(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], words: Sequence[str]
) -> list[str]:
    """Return where the word of each point is, in Plotly's names of `textposition`; "" where all
    places are taken.

    x, y: in pixels, y upward. Words take the first free place around their points in the order
    given; they overlap neither other words nor points.
    """
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in points]
    places = []
    for (px, py), word in zip(points, words, strict=True):
        width = LETTER * len(word)
        for name, right, up in AROUND:
            mid_x, mid_y = px + right * (GAP + width / 2), py + up * (GAP + LINE / 2)
            box = (mid_x - width / 2, mid_y - LINE / 2, mid_x + width / 2, mid_y + LINE / 2)
            if not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
                for other in taken
            ):
                places.append(name)
                taken.append(box)
                break
        else:
            places.append("")
    return places


def agreement(table: pd.DataFrame, *, of: str = DISSIMILARITIES, measure: str = "kendall") -> Plot:
    """Draw how alike every two sources are as a matrix.

    table: as `ColorAgreement` answers. of: "dissimilarities" or "layouts". measure: of MEASURES.
    """
    name = MEASURES[measure]
    shown = table[(table["of"] == of) & (table["measure"] == measure)]
    low = min(0.0, float(shown["value"].min())) if len(shown) else 0.0
    scale = Scale("value", name, low=low, high=1.0, falling=measure == "disparity")
    card = (
        "<b>{x} × {y}</b>",
        name + " {value:.3f} [[[{low:.2f}, {high:.2f}]]]",
        "shuffled colors {chance:.3f}, {p_adjusted:p}",
    )
    return Plot(
        f"{name} of {of} of colors",
        (Heat("x", "y", scale, label="{value:.2f}", card=card, mirrored=True),),
        x=Axis(names=list(dict.fromkeys([*shown["x"], *shown["y"]]))),
        y=Axis(names=list(dict.fromkeys([*shown["x"], *shown["y"]]))),
        row=52,
        empty="No two sources can be compared.",
        table=shown,
    )


def knowledge(table: pd.DataFrame, measure: str = "kendall") -> Plot:
    """Draw how well each language model knows perception, over its size and its competence.

    table: as `ColorModels` answers. Hollow points are models before the end of their training.
    """
    axes = {"parameters": Axis("parameters", log=True), "competence": Axis(COMPETENCE)}
    kept = [column for column in table if column not in axes]
    long = table.dropna(subset=measure).melt(kept, list(axes), "over", "x")
    card = ("<b>{title}</b>", f"{MEASURES[measure]} {{{measure}:.3f}}, {{{measure}_p:p}}")
    shown = {name: axis for name, axis in axes.items() if table[name].notna().any()}
    return Plot(
        "Agreement with perception over size",
        tuple(
            Dots(
                "x",
                measure,
                rows=rows,
                size=10.0,
                hollow=hollow,
                color="group",
                modality=LANGUAGE,
                card=card,
                ids="{model}",
                select=("model",),
            )
            for rows, hollow in (("not copy", False), ("copy", True))
        ),
        x=axes,
        y=Axis(f"{MEASURES[measure]} with perception"),
        facet=Facet("over", {"parameters": "Model size", "competence": "Competence"}),
        levels=() if measure == "disparity" else (Level(0.0, "chance"),),
        empty="No language model here can be asked about colors[[: {reason}]].",
        height=360,
        table=long[long["over"].isin(shown)] if len(long) else table.head(1),
    )
