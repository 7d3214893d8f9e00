"""A figure as a specification: marks over the columns of a table, in facets, between axes.

    Plot(
        "Alignment over size",
        x=Axis("parameters", log=True),
        y=Axis("alignment", zero=True),
        marks=(Dots("parameters", "score", color="family", modality=LANGUAGE, card=CARD),),
        facet=Facet("target", note="ρ = {rho:.2f}, {p:p} || {reason:wrap}"),
        levels=(Level("chance"),),
        empty="No alignment can be computed for these models.",
    ).over(table).draw(mode, narrow=narrow)

Every text over a row is a template of `core.figures.texts`. Rows without a number where a mark
needs one are not drawn. A click on a legend entry hides all that has its name.
"""

from __future__ import annotations

import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import RLock
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from core.figures import palette
from core.figures.drawing import (
    Drawing,
    Tree,
    cards,
    cell,
    color_bar,
    draw_panels,
    interval,
    logarithmic,
    reason,
)
from core.figures.numbers import count_text
from core.figures.texts import Row, Template, fill, fill_card
from core.figures.theme import (
    INK,
    Mode,
    clear,
    heading,
    hue,
    mark_sizes,
    plain,
    round_ticks,
    symbol,
    template,
    wrap,
)
from core.modalities import Modality, find_modality

Names = Mapping[Any, str]  # by the values of a column
Places = Mapping[Any, int]
Head = str | Callable[[pd.DataFrame], str]

MOST_PARTED = 40  # rows and columns of a heat map that lines part
MOST_PRINTED = 8  # rows and columns of a heat map whose numbers are printed
NEAR = 3.0  # a ceiling above so many times the highest value would flatten all else
_DIGITS = [  # ticks of one axis have equally many digits, however far one zooms
    {"dtickrange": [10.0**-n, 9.99 * 10.0**-n], "value": f".{n}f"} for n in range(1, 6)
]
_ASIDE = {
    f"legend_{name}": value
    for name, value in {
        "orientation": "v",
        "x": 1.01,
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "tracegroupgap": 0,
    }.items()
}
_DASHES = {
    "chance": "dot",
    "ceiling": "dashdot",
    "noise ceiling": "longdash",
    "zero": "solid",
    "control": "dash",
}


@dataclass(frozen=True)
class Fixed:
    """One color: a name of `theme.Ink` ("text", "soft", "ember", "chance", "paper"), "#RRGGBB", or
    a group of models.
    """

    color: str = "text"


@dataclass(frozen=True)
class Palette:
    """A color for each of a few values of a column.

    colors: as of `Fixed`, by value, whose order they give; without them the values, sorted, go from
    faint to strong. names: in the legend, if others than the values.
    """

    column: str
    colors: Names = field(default_factory=dict)
    names: Names = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """Colors of a number, with a color bar.

    low, high: the ends, by default those of the values. falling: small values stand out. ticks:
    texts by value. bar: whether a color bar is drawn; without one each panel has its own ends.
    """

    column: str
    title: str = ""
    low: float | None = None
    high: float | None = None
    falling: bool = False
    log: bool = False
    percent: bool = False
    ticks: Mapping[float, str] = field(default_factory=dict)
    bar: bool = True

    def values(self, rows: pd.DataFrame) -> pd.Series:
        values = rows[self.column].astype(float)
        return pd.Series(np.log10(values.where(values > 0))) if self.log else values

    def look(self, values: pd.Series, mode: Mode) -> Tree:
        known = values.dropna()
        low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
        low = low if self.low is None else self.low
        high = high if self.high is None else self.high
        colors = list(INK[mode].scale[:: -1 if self.falling else 1])
        return {"colorscale": colors, "cmin": low, "cmax": high}

    def bar_look(self, values: pd.Series, *, below: bool = False) -> Tree:
        texts = dict(self.ticks)
        if self.log and not texts and values.notna().any():
            low, high = 10 ** float(values.min()), 10 ** float(values.max())
            texts = {tick: count_text(tick) for tick in round_ticks(low, high) or [high]}
        places = [math.log10(tick) if self.log else tick for tick in texts]
        look: Tree = {"tickvals": places, "ticktext": list(texts.values())} if texts else {}
        look |= {"tickformat": ".0%"} if self.percent else {}
        if below:
            place = {"len": 1, "x": 0.5, "y": 0, "yanchor": "top"}
            return color_bar(plain(self.title), lying=True, **place, **look)
        return color_bar(wrap(plain(self.title), 16), len=0.8, **look)


Color = str | Fixed | Palette | Scale  # a string is a column of groups of models


@dataclass(frozen=True)
class Size:
    """Diameters of dots, `times` the usual ones, or widths of lines by a number of parameters, over
    all rows of the mark.
    """

    column: str = "parameters"
    times: float = 1.0

    def diameters(self, rows: pd.DataFrame) -> pd.Series:
        return self.times * mark_sizes(rows[self.column])


@dataclass(frozen=True)
class Symbols:
    """A Plotly symbol for each value of a column."""

    column: str
    symbols: Names


@dataclass(frozen=True)
class Axis:
    """What an axis measures.

    ticks: numbers, texts by number, or "data": the values themselves. names: categories: all as
    they come (True), these in this order, or with their names. percent: 20%; signed: +20%. zero:
    begins there. range: its ends, as numbers or places of categories from 0. whole: no ticks
    between whole numbers. equal: has the scale of the x axis. bare: neither ticks nor grid. top:
    slanted names above the panel.
    """

    title: str = ""
    log: bool = False
    ticks: Sequence[float] | Mapping[float, str] | Literal["data"] = ()
    names: bool | Sequence[str] | Names = False
    percent: bool = False
    signed: bool = False
    zero: bool = False
    range: tuple[float, float] | None = None
    whole: bool = False
    reversed: bool = False
    equal: bool = False
    bare: bool = False
    top: bool = False

    def clean(self, rows: pd.DataFrame, column: str) -> pd.Series:
        """Return which rows have a place on the axis."""
        if self.names:
            given = () if self.names is True else tuple(self.names)
            return rows[column].isin(given) if given else rows[column].notna()
        values = rows[column].astype(float)
        return np.isfinite(values) & ((values > 0) if self.log else True)

    def order(self, values: Sequence[Any]) -> dict[Any, int]:
        """Return the places of categories, those given or these in the order they come."""
        names = values if self.names is True else self.names if self.names else ()
        return {name: place for place, name in enumerate(dict.fromkeys(names))}

    def look(self, values: pd.Series, places: Places, *, upright: bool) -> Tree:
        """Return the axis as Plotly has it. values: all values on it. upright: a y axis."""
        equal = {"scaleanchor": "x", "scaleratio": 1} if self.equal else {}
        if self.bare:
            fixed = {"range": list(self.range)} if self.range else {}
            return {"showticklabels": False, "showgrid": False, **fixed, **equal}
        if self.names:
            return self._categories(places, upright)
        look = self._ticks(values)
        if self.whole and len(values) and values.max() - values.min() < 10:
            look |= {"dtick": 1}
        if self.zero:
            look |= {"rangemode": "tozero"}
        if self.range:
            ends = [math.log10(end) for end in self.range] if self.log else list(self.range)
            look |= {"range": ends[:: -1 if self.reversed else 1]}
        elif self.reversed:
            look |= {"autorange": "reversed"}
        return look | equal

    def _ticks(self, values: pd.Series) -> Tree:
        if isinstance(self.ticks, Mapping):
            look = {"tickvals": list(self.ticks), "ticktext": list(self.ticks.values())}
            return look | ({"type": "log"} if self.log else {})
        if self.log:
            return logarithmic(self._powers(values))
        look = {"tickformatstops": _DIGITS}
        if self.percent:
            sign = "+" if self.signed else ""
            fine = {"dtickrange": [None, 0.0099], "value": f"{sign}.1%"}
            look = {"tickformat": f"{sign}.0%", "tickformatstops": [fine]}
        elif self.signed:
            look = {"tickformat": "+", "labelalias": {"+0": "0"}}
        if self.ticks:
            ticks = sorted(set(values)) if self.ticks == "data" else list(self.ticks)
            look |= {"tickvals": ticks}
            if self.percent:
                look |= {"ticktext": [f"{tick:.0%}" for tick in ticks]}
        return look

    def _categories(self, places: Places, upright: bool) -> Tree:
        names = self.names if isinstance(self.names, Mapping) else {}
        width = 24 if upright or self.top else max(9, 60 // max(1, len(places)))
        texts = [wrap(plain(names.get(name, name)), width) for name in places]
        ends = list(self.range or (-0.5, len(places) - 0.5))
        down = upright != self.reversed
        return {
            "tickvals": list(places.values()),
            "ticktext": texts,
            "range": ends[:: -1 if down else 1],
            "showgrid": False,
            "zeroline": False,
            **({"side": "top", "tickangle": -60} if self.top else {}),
        }

    def _powers(self, values: pd.Series) -> list[float]:
        if isinstance(self.ticks, str):
            every = sorted(set(values))
            gap = max(1.2, (every[-1] / every[0]) ** (1 / 8)) if every else 1.0
            kept = every[-1:]
            for value in reversed(every[:-1]):
                kept += [value] if kept[-1] / value >= gap else []
            return kept[::-1]
        if self.ticks:
            return list(self.ticks)
        low, high = (values.min(), values.max()) if len(values) else (1.0, 10.0)
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        powers = range(first, last + 1, max(1, (last - first) // 5))
        steps = (1, 2, 5) if high < 100 * low else (1,)
        return [step * 10.0**power for power in powers for step in steps]


@dataclass(frozen=True)
class Facet:
    """A panel for each value of a column.

    names: of the panels in their order; other values are left out. head, note: templates over the
    panel's first row, or functions of its rows that return finished text; the head is the panel's
    name without one, and nothing if None. columns: most next to each other; one on a phone. share:
    the axes that all panels have in common.
    """

    column: str
    names: Names = field(default_factory=dict)
    head: Head | None = ""
    note: Head = ""
    columns: int = 4
    share: str = "y"


@dataclass(frozen=True)
class Level:
    """A line across each panel at a value, or at those of a column if all its rows have the same.

    kind: the look, and the name unless there is one; a zero line has none. rows: a query. several:
    a line at each value of the column. along: its axis. say: the name is written
    at its end, too. A ceiling far above all marks is named in the legend and not drawn.
    """

    value: float | str
    kind: Literal["chance", "ceiling", "noise ceiling", "zero", "control"] = "chance"
    name: Template = ""
    rows: str = ""
    several: bool = False
    along: Literal["x", "y"] = "y"
    say: bool = False
    table: pd.DataFrame | None = None

    def values(self, table: pd.DataFrame) -> list[tuple[float, str]]:
        rows = table.query(self.rows) if self.rows else table
        if isinstance(self.value, str):
            if self.value not in rows:
                return []
            rows = rows.dropna(subset=self.value)
            if rows[self.value].nunique() > 1 and not self.several:
                return []
            found = [(float(r[self.value]), self._called(r)) for r in rows.to_dict("records")]
            return list(dict.fromkeys(found))
        row = rows.iloc[0].to_dict() if len(rows) else {}
        return [] if math.isnan(self.value) else [(float(self.value), self._called(row))]

    def line(self, mode: Mode) -> Tree:
        color = INK[mode].text if self.kind == "control" else INK[mode].chance
        return {"color": color, "width": 1.5, "dash": _DASHES[self.kind]}

    def _called(self, row: Row) -> str:
        return fill(self.name, row) or (self.kind if self.kind != "zero" else "")


@dataclass(frozen=True)
class Panel:
    """What a mark draws into: the color mode, its axes, and the places of categories on them."""

    mode: Mode
    narrow: bool
    x: Axis
    y: Axis
    x_places: Places
    y_places: Places

    def places(self, rows: pd.DataFrame, column: str, axis: Literal["x", "y"]) -> pd.Series:
        order = self.x_places if axis == "x" else self.y_places
        if not (self.x if axis == "x" else self.y).names:
            return rows[column]
        return rows[column].map(order) + rows.get("_aside", 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Mark(ABC):
    """What all marks have.

    table: its own, instead of the plot's; without the facet's column it is in every panel. rows: a
    pandas query. color: a column of groups of models, each in its hue, or another `Color`.
    modality: a column, or one for all: it decides symbols. name: in the legend, for a color that
    names no groups. card, ids: templates of the hover card; none without them. select: columns that
    a click returns.
    """

    table: pd.DataFrame | None = None
    rows: str = ""
    color: Color = Fixed()
    modality: str | Modality = ""
    opacity: float = 1.0
    name: str = ""
    card: tuple[Template, ...] = ()
    ids: Template = ""
    select: tuple[str, ...] = ()

    def needs(self) -> tuple[str, ...]:
        """Return the columns on the x and the y axis."""
        return (self.x, self.y)  # type: ignore[attr-defined]

    def prepared(self, table: pd.DataFrame, mode: Mode) -> pd.DataFrame:
        """Return the mark's rows with key and label in the legend, color and symbol of each."""
        rows = table if self.table is None else self.table
        rows = (rows.query(self.rows) if self.rows else rows).copy()
        color = self.color
        rows["_key"], rows["_label"], rows["_color"] = self.name, plain(self.name), ""
        if isinstance(color, Fixed):
            rows["_color"] = _paint(color.color, mode)
        elif isinstance(color, Palette):
            colors = _colors(color, rows[color.column], mode)
            rows = rows[rows[color.column].isin(colors)]
            rows["_rank"] = rows[color.column].map({name: n for n, name in enumerate(colors)})
            rows["_color"] = rows[color.column].map(colors)
            rows["_key"] = rows[color.column].map(lambda value: color.names.get(value, str(value)))
            rows["_label"] = rows["_key"].map(plain)
        elif isinstance(color, str):
            rows["_key"] = rows[color].astype(str)
            rows["_color"] = rows["_key"].map({key: hue(key, mode) for key in set(rows["_key"])})
            rows["_label"] = rows["_key"].map(plain)
        return rows

    @abstractmethod
    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        """Return what is drawn of a panel's rows."""

    def entry(self, row: Row, mode: Mode) -> Tree:
        """Return a legend entry's look from the first row of its group."""
        mark = {"color": row["_color"] or INK[mode].soft, "size": 10, "symbol": "square"}
        return {"mode": "markers", "marker": mark}

    def _groups(self, rows: pd.DataFrame) -> Iterator[tuple[Tree, str, pd.DataFrame]]:
        for key, part in rows.groupby("_key", sort=False):
            named = {"legendgroup": str(key)} if key else {}
            yield {**named, "showlegend": False}, part["_color"].iloc[0], part

    def _hover(self, records: Sequence[Row]) -> Tree:
        if not self.card and not self.ids:
            return {"hoverinfo": "skip"}
        return cards([fill_card(self.card, self.ids, row) if row else "" for row in records])

    def _selected(self, records: Sequence[Row]) -> Tree:
        if not self.select:
            return {}
        return {"customdata": [[row.get(name, "") for name in self.select] for row in records]}


@dataclass(frozen=True, eq=False)
class Dots(Mark):
    """A dot per row.

    size: pixels, a column of them, or a `Size`. symbol: Plotly's, or a `Symbols`; by default the
    modality's. low, high and left, right: ends of intervals up and across. label: a template at
    the dot's `side`. join: a column whose equal rows a thin, faint line joins within a group, in
    the order of x; True joins the whole group by a full one. hollow: in the paper's color. edge: a
    column of groups that color the edge. dodge: the distance of groups between two categories.
    """

    x: str
    y: str
    size: float | str | Size = 9.0
    symbol: str | Symbols = ""
    low: str = ""
    high: str = ""
    left: str = ""
    right: str = ""
    label: Template = ""
    side: str = "middle right"
    join: str | bool = ""
    hollow: bool = False
    edge: str = ""
    dodge: float = 0.0

    def prepared(self, table: pd.DataFrame, mode: Mode) -> pd.DataFrame:
        rows = super().prepared(table, mode)
        if isinstance(self.symbol, Symbols):
            shapes = self.symbol
            rows = rows[rows[shapes.column].isin(shapes.symbols)]
            rows["_symbol"] = rows[shapes.column].map(shapes.symbols)
        else:
            rows["_symbol"] = self.symbol or "circle"
            if isinstance(self.modality, Modality) and not self.symbol:
                rows["_symbol"] = [symbol(group, self.modality) for group in rows["_key"]]
            elif self.modality and not self.symbol:
                kinds = zip(rows["_key"], rows[self.modality], strict=True)
                rows["_symbol"] = [symbol(group, find_modality(kind)) for group, kind in kinds]
        if isinstance(self.size, Size):
            rows["_size"] = self.size.diameters(rows)
        elif isinstance(self.size, str):
            rows["_size"] = rows[self.size]
        if self.dodge:
            keys = list(dict.fromkeys(rows["_key"]))
            steps = {key: self.dodge * (n - (len(keys) - 1) / 2) for n, key in enumerate(keys)}
            rows["_aside"] = rows["_key"].map(steps)
        return rows

    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        kind = "scattergl" if len(rows) > 1000 else "scatter"  # the graphics card draws many
        for group, color, part in self._groups(rows):
            if self.join:
                yield self._joined(panel, part, color or INK[panel.mode].soft) | group
            x, y = panel.places(part, self.x, "x"), panel.places(part, self.y, "y")
            records = part.to_dict("records")
            trace: Tree = {"type": kind, "x": x, "y": y, "mode": "markers", **group}
            shade = clear(color, 0.6) if color else INK[panel.mode].soft
            bar = {"color": shade, "thickness": 1.5, "width": 0}
            if self.low:
                ends = part[self.low].astype(float), part[self.high].astype(float)
                trace["error_y"] = interval(y, *ends, **bar)
            if self.left:
                ends = part[self.left].astype(float), part[self.right].astype(float)
                trace["error_x"] = interval(x, *ends, **bar)
            if self.label:
                texts = [fill(self.label, row) for row in records]
                trace |= {"mode": "markers+text", "text": texts, "textposition": self.side}
                trace |= {"cliponaxis": False} if kind == "scatter" else {}
            marker = self._marker(part, color, panel.mode)
            yield {**trace, "marker": marker, **self._hover(records), **self._selected(records)}

    def entry(self, row: Row, mode: Mode) -> Tree:
        look = super().entry(row, mode)
        edges = [row[self.edge]] if self.edge else []
        marker = self._shade(row["_symbol"], row["_color"] or INK[mode].soft, edges, mode)
        marker |= {"size": min(10.0, self.size) if isinstance(self.size, float | int) else 10}
        marker["symbol"] = row["_symbol"]
        line = {"color": row["_color"], "width": 2} if row["_color"] else {}
        joined = {"mode": "lines+markers", "line": line} if self.join is True and line else {}
        return {**look, "marker": marker, **joined}

    def _marker(self, part: pd.DataFrame, color: str, mode: Mode) -> Tree:
        symbols = part["_symbol"].unique()
        marker: Tree = {
            "symbol": symbols[0] if len(symbols) == 1 else part["_symbol"].tolist(),
            "size": part["_size"].tolist() if "_size" in part else self.size,
            **self._shade(symbols[0], color, part[self.edge] if self.edge else (), mode),
        }
        if isinstance(self.color, Scale) and not color and not self.hollow:
            marker["color"] = self.color.values(part)
        return marker

    def _shade(self, symbol: str, color: str, edges: Iterable[str], mode: Mode) -> Tree:
        """Return the colors of a dot and its edge. edges: groups that color it."""
        thin = any(word in symbol for word in ("open", "line-", "-thin"))
        line: Tree = {"color": INK[mode].paper, "width": 1}
        if self.edge and not self.hollow:
            line = {"color": [hue(str(one), mode) for one in edges], "width": 2}
        elif self.hollow or thin:
            line = {"color": color, "width": 2 if thin else 1.5}
        shade = clear(color, self.opacity) if color and self.opacity < 1 else color
        return {"line": line, "opacity": 1.0, "color": INK[mode].paper if self.hollow else shade}

    def _joined(self, panel: Panel, part: pd.DataFrame, color: str) -> Tree:
        runs = _in_runs(part, "" if self.join is True else str(self.join))
        x, y, _ = _broken(panel, runs, self.x, self.y)
        faint, width = (1.0, 2.0) if self.join is True else (0.5, 1.5)
        line = {"color": clear(color, faint * self.opacity), "width": width}
        return {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": line} | {
            "hoverinfo": "skip"
        }


@dataclass(frozen=True, eq=False)
class Line(Mark):
    """A line through the rows in the order of x, one for each value of the column `by`.

    mean: rows of one line with the same value of this column are averaged first. width: pixels, or
    a `Size`. ends: a template written at each line's end. ordered: whether the rows are sorted.
    """

    x: str
    y: str
    by: str = ""
    mean: str = ""
    width: float | Size = 2.0
    dash: str = "solid"
    ends: Template = ""
    ordered: bool = True

    def prepared(self, table: pd.DataFrame, mode: Mode) -> pd.DataFrame:
        rows = super().prepared(table, mode)
        if isinstance(self.width, Size):
            rows["_width"] = ((self.width.diameters(rows) - 4.0) / 5.0).clip(1.0, 4.0)
        return rows

    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        for group, color, part in self._groups(rows):
            lines = self._averaged(_in_runs(part, self.by))
            separate = "_width" in part or bool(self.ends)
            for _, together in lines.groupby("_run") if separate else [(0, lines)]:
                x, y, records = _broken(panel, together, self.x, self.y, ordered=self.ordered)
                width = together["_width"].iloc[0] if "_width" in part else self.width
                line = {"color": clear(color, self.opacity), "width": width, "dash": self.dash}
                trace = {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": line, **group}
                if self.ends:
                    last = fill(self.ends, records[-1])
                    trace |= {"mode": "lines+text", "text": [""] * (len(x) - 1) + [last]}
                    trace |= {"textposition": "middle right", "cliponaxis": False}
                yield {**trace, **self._hover(records), **self._selected(records)}

    def entry(self, row: Row, mode: Mode) -> Tree:
        width = self.width if isinstance(self.width, float | int) else 2
        color = clear(row["_color"] or INK[mode].soft, self.opacity)
        return {"mode": "lines", "line": {"color": color, "width": width, "dash": self.dash}}

    def _averaged(self, rows: pd.DataFrame) -> pd.DataFrame:
        if not self.mean:
            return rows
        same = ["_run", self.mean]
        means = rows.groupby(same, sort=False)[[self.x, self.y]].transform("mean")
        return rows.assign(**{self.x: means[self.x], self.y: means[self.y]}).drop_duplicates(same)


@dataclass(frozen=True, eq=False)
class Ribbon(Mark):
    """A band between two columns over x."""

    x: str
    low: str
    high: str
    opacity: float = field(default=0.15, kw_only=True)

    def needs(self) -> tuple[str, ...]:
        return (self.x, self.low)

    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        for group, color, part in self._groups(rows.dropna(subset=self.high)):
            band = part.sort_values(self.x)
            x, low, high = (list(band[name]) for name in (self.x, self.low, self.high))
            shade = {"fill": "toself", "fillcolor": clear(color, self.opacity), "mode": "none"}
            ends = {"x": [*x, *x[::-1]], "y": [*high, *low[::-1]]}
            yield {"type": "scatter", **ends, **shade, "hoverinfo": "skip", **group}

    def entry(self, row: Row, mode: Mode) -> Tree:
        shade = clear(row["_color"] or INK[mode].soft, max(0.3, self.opacity))
        return {"mode": "markers", "marker": {"color": shade, "size": 10, "symbol": "square"}}


@dataclass(frozen=True, eq=False)
class Bars(Mark):
    """A bar per row: x its place and y its value, or if it lies the other way round.

    base: a column where bars begin. label: a template at its end. width: as a share of the place.
    """

    x: str
    y: str
    lying: bool = False
    base: str = ""
    label: Template = ""
    width: float | None = None

    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        for group, color, part in self._groups(rows):
            x, y = panel.places(part, self.x, "x"), panel.places(part, self.y, "y")
            records = part.to_dict("records")
            shade = clear(color, self.opacity)
            trace: Tree = {"type": "bar", "x": x, "y": y, "marker": {"color": shade}}
            trace |= {"orientation": "h" if self.lying else "v"}
            if self.base:
                length = (x if self.lying else y).astype(float)
                trace["base"] = part[self.base]
                trace["x" if self.lying else "y"] = length - part[self.base]
            if self.width:
                trace |= {"width": self.width}
            if self.label:
                texts = [fill(self.label, row) for row in records]
                trace |= {"text": texts, "textposition": "outside", "cliponaxis": False}
            yield {**trace, **group, **self._hover(records), **self._selected(records)}


@dataclass(frozen=True, eq=False)
class Heat(Mark):
    """A cell per row in the color of z.

    z: a column, or a `Scale`. label: a template printed in the cells if they are few. mirrored:
    each row counts for both orders of x and y.
    """

    x: str
    y: str
    z: str | Scale
    label: Template = ""
    mirrored: bool = False

    @property
    def scale(self) -> Scale:
        return Scale(self.z, self.z) if isinstance(self.z, str) else self.z

    def prepared(self, table: pd.DataFrame, mode: Mode) -> pd.DataFrame:
        rows = super().prepared(table, mode)
        if self.mirrored:
            turned = rows.rename(columns={self.x: self.y, self.y: self.x})
            rows = pd.concat([rows, turned[turned[self.x] != turned[self.y]]])
        return rows

    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        x, y = panel.places(rows, self.x, "x"), panel.places(rows, self.y, "y")
        across = list(panel.x_places.values()) if panel.x.names else sorted(set(x))
        down = list(panel.y_places.values()) if panel.y.names else sorted(set(y))
        cells = pd.DataFrame({"x": x, "y": y, "z": self.scale.values(rows)})
        records = rows.to_dict("records")
        cells["card"] = [fill_card(self.card, self.ids, row) for row in records]
        most = max(len(across), len(down))
        few, gap = most <= MOST_PRINTED, int(most <= MOST_PARTED)
        cells["text"] = [fill(self.label, row) if few else "" for row in records]
        z, hover, text = (
            cells.pivot(index="y", columns="x", values=name).reindex(index=down, columns=across)
            for name in ("z", "card", "text")
        )
        scale = self.scale.look(cells["z"], panel.mode)
        ends = {"zmin": scale["cmin"], "zmax": scale["cmax"], "colorscale": scale["colorscale"]}
        yield {
            "type": "heatmap",
            "x": across,
            "y": down,
            "z": z.to_numpy(float),
            "xgap": gap,
            "ygap": gap,
            "hoverongaps": False,
            "hovertext": hover.fillna("").to_numpy(),
            "hovertemplate": "%{hovertext}<extra></extra>",
            "text": text.fillna("").to_numpy(),
            "texttemplate": "%{text}",
            "textfont": {"size": 10 if panel.narrow else 12},
            "showscale": False,
            **({} if self.scale.bar else ends),
        }


@dataclass(frozen=True, eq=False)
class Text(Mark):
    """A template written at each row. y: a column, or "" for the top of the panel."""

    x: str
    y: str
    text: Template
    size: int = 11
    side: str = "middle center"

    def needs(self) -> tuple[str, ...]:
        return (self.x, self.y) if self.y else (self.x,)

    def traces(self, panel: Panel, rows: pd.DataFrame) -> Iterator[Tree]:
        for group, color, part in self._groups(rows):
            trace = {
                "type": "scatter",
                "x": panel.places(part, self.x, "x"),
                "y": panel.places(part, self.y, "y"),
                "mode": "text",
                "text": [fill(self.text, row) for row in part.to_dict("records")],
                "textposition": self.side,
                "textfont": {"size": self.size, "color": color},
                "cliponaxis": False,
                "hoverinfo": "skip",
            }
            yield trace | group


@dataclass(frozen=True, eq=False)
class Plot:
    """A figure as a specification; see the module.

    title: names exported files and is read aloud. x, y: an axis, or one for each panel by its
    value. empty: a template over the table's first row: why nothing is drawn. height: of a row of
    panels; row: of a category of the y axis, instead. head: without facets, as of `Facet`. legend:
    whether there is one, or "right": next to the panels, below them on a phone. note: more for the
    legend of a printed figure.
    """

    title: str
    marks: tuple[Mark, ...]
    x: Axis | Mapping[Any, Axis] = Axis()
    y: Axis | Mapping[Any, Axis] = Axis()
    facet: Facet | None = None
    levels: tuple[Level, ...] = ()
    head: Head = ""
    empty: Template = "There is nothing to draw."
    height: int = 320
    row: int = 0
    legend: bool | Literal["right"] = True
    note: str = ""
    table: pd.DataFrame = field(default_factory=pd.DataFrame)

    def over(self, table: pd.DataFrame) -> Plot:
        return replace(self, table=table)

    def draw(self, mode: Mode, narrow: bool = False) -> go.Figure:
        """Draw the figure. narrow: on a phone, its panels one below the other.

        The latest specifications are kept with what was drawn of them, since a redraw of a page
        draws the same again.
        """
        try:
            key = pickle.dumps((self, mode, narrow, palette.shown()))
        except (AttributeError, TypeError, pickle.PicklingError):  # it has a function without name
            return self.make(mode, narrow)
        if len(key) > MOST_KEPT:
            return self.make(mode, narrow)
        with _drawing:  # else visitors who come at once all draw the same
            kept = _keep_drawn(_Specification(key, self, mode, narrow))
        return go.Figure(kept, _validate=False)

    def make(self, mode: Mode, narrow: bool) -> go.Figure:
        """Return the figure, drawn from the specification alone."""
        return _Drawn(self, mode, narrow).figure()


_drawing = RLock()
MOST_KEPT = 1_000_000  # bytes of a specification whose figure is kept


@dataclass(frozen=True)
class _Specification:
    """What a figure depends on, as bytes that stand for all of it."""

    key: bytes
    plot: Plot = field(compare=False)
    mode: Mode = field(compare=False)
    narrow: bool = field(compare=False)


@lru_cache(maxsize=64)
def _keep_drawn(specification: _Specification) -> go.Figure:
    return specification.plot.make(specification.mode, specification.narrow)


Layers = list[tuple[Mark, pd.DataFrame]]


class _Drawn:
    def __init__(self, plot: Plot, mode: Mode, narrow: bool) -> None:
        self.plot, self.mode, self.narrow = plot, mode, narrow
        every = [(mark, mark.prepared(plot.table, mode)) for mark in plot.marks]
        parts = {key: self._layers(key, every) for key in self._keys([rows for _, rows in every])}
        self.parts = {key: part for key, part in parts.items() if any(len(r) for _, r in part)}
        most = plot.facet.columns if plot.facet else 1
        self.columns = 1 if narrow else max(1, min(most, len(self.parts)))
        self.entries: dict[str, Tree] = {}  # of the legend, by legend group

    def figure(self) -> go.Figure:
        plot = self.plot
        if not self.parts:
            row = plot.table.iloc[0].to_dict() if len(plot.table) else {}
            why = fill(plot.empty, row, escape=False) or "There is nothing to draw."
            return reason(why, self.mode)
        figure = self._panels()
        bars: list[tuple[Scale, pd.Series]] = []
        for place, (key, layers) in enumerate(self.parts.items()):
            at, panel = cell(place, self.columns), self._panel(key)
            for mark, rows in layers:
                axis = self._color_axis(mark, bars)
                for trace in mark.traces(panel, rows) if len(rows) else ():
                    marker = trace.get("marker", {})
                    if axis and trace["type"] == "heatmap":
                        del trace["showscale"]
                        trace["coloraxis"] = axis
                    elif axis and marker and not isinstance(marker.get("color"), str):
                        trace["marker"] = {**marker, "coloraxis": axis}
                    figure.add_trace(trace, **at)
                if plot.legend:
                    self._name(mark, rows)
            self._add_levels(figure, key, at)
            self._set_axes(figure, key, panel, place)
        axes = [self._axes(key)[0] for key in self.parts]
        below = self.narrow and any(axis.top for axis in axes)  # a phone has no room for both
        for number, (scale, values) in enumerate(bars):
            look = scale.look(values, self.mode)
            look["colorbar"] = scale.bar_look(values, below=below)
            figure.update_layout(**{f"coloraxis{number + 1 if number else ''}": look})
        for group, entry in self.entries.items():
            figure.add_scatter(x=[None], y=[None], legendgroup=group, **entry)
        meta = {"title": plot.title} | ({"note": plot.note} if plot.note else {})
        return figure.update_layout(barmode="overlay", meta=meta).figure()

    def _keys(self, tables: Sequence[pd.DataFrame]) -> list[Any]:
        facet = self.plot.facet
        if not facet:
            return [""]
        having = [table[facet.column] for table in tables if facet.column in table]
        found = [value for column in having for value in column]
        if facet.names:
            return [key for key in facet.names if key in set(found)]
        return [key for key in dict.fromkeys(found) if not pd.isna(key)]

    def _layers(self, key: Any, every: Layers) -> Layers:
        found = []
        for mark, table in every:
            rows = self._within(table, key)
            for column, axis in zip(mark.needs(), self._axes(key), strict=False):
                rows = rows[axis.clean(rows, column)] if len(rows) else rows
            found.append((mark, rows))
        return found

    def _within(self, table: pd.DataFrame, key: Any) -> pd.DataFrame:
        facet = self.plot.facet
        if not facet or facet.column not in table:
            return table
        return table[table[facet.column] == key]

    def _axes(self, key: Any) -> tuple[Axis, Axis]:
        x, y = self.plot.x, self.plot.y
        return x if isinstance(x, Axis) else x[key], y if isinstance(y, Axis) else y[key]

    def _shared(self, name: Literal["x", "y"]) -> bool:
        facet = self.plot.facet
        return not facet or (name in facet.share and isinstance(getattr(self.plot, name), Axis))

    def _values(self, key: Any, name: Literal["x", "y"]) -> list[Any]:
        place = 0 if name == "x" else 1
        layers = (
            [layer for part in self.parts.values() for layer in part]
            if self._shared(name)
            else self.parts[key]
        )
        return [
            value
            for mark, rows in layers
            for column in mark.needs()[place : place + 1]
            for value in rows[column]
        ]

    def _panel(self, key: Any) -> Panel:
        x, y = self._axes(key)
        places = x.order(self._values(key, "x")), y.order(self._values(key, "y"))
        return Panel(self.mode, self.narrow, x, y, *places)

    def _panels(self) -> Drawing:
        plot = self.plot
        heads = [self._head(key) for key in self.parts]
        rows = math.ceil(len(heads) / self.columns)
        lines = max(head.count("<br>") + 1 if head else 0 for head in heads)
        top = 12 + 19 * lines
        tall = plot.height
        if plot.row:
            tall = plot.row * max(len(self._panel(key).y_places) for key in self.parts) + 70
        whole = tall * rows + (rows - 1) * (top + 52)
        figure = draw_panels(
            rows,
            self.columns,
            heads,
            horizontal_spacing=min(0.03 if self._shared("y") else 0.1, 0.9 / self.columns),
            vertical_spacing=(top + 52) / whole if rows > 1 else 0.0,
        )
        figure.update_annotations(font_size=13)
        aside = plot.legend == "right" and not self.narrow
        below = 20 if aside else 90
        look = {"template": template(self.mode), "height": whole + top + below}
        look |= {"margin_t": top + 6, **(_ASIDE if aside else {})}
        return figure.update_layout(**look)

    def _head(self, key: Any) -> str:
        facet, plot = self.plot.facet, self.plot
        rows = self._within(plot.table, key)
        if facet and (facet.column not in plot.table or rows.empty):
            rows = next(rows for _, rows in self.parts[key] if len(rows))
        if not facet:
            return _head_text(plot.head, rows)
        name = heading(str(facet.names.get(key, key)))
        head = f"<b>{wrap(name, 34)}</b>" if facet.head == "" else _head_text(facet.head, rows)
        note = _head_text(facet.note, rows)
        return head + (f"<br><span style='font-size:12px'>{note}</span>" if note else "")

    def _color_axis(self, mark: Mark, bars: list[tuple[Scale, pd.Series]]) -> str:
        scale = _scale(mark)
        if scale is None or not scale.bar:
            return ""
        if scale not in [one for one, _ in bars]:
            layers = [layer for part in self.parts.values() for layer in part]
            parts = [rows for one, rows in layers if _scale(one) == scale]
            bars.append((scale, scale.values(pd.concat(parts))))
        number = [one for one, _ in bars].index(scale) + 1
        return f"coloraxis{number if number > 1 else ''}"

    def _name(self, mark: Mark, rows: pd.DataFrame) -> None:
        clearest = isinstance(mark, Dots) and mark.opacity == 1  # says color and symbol
        for row in rows.drop_duplicates("_key").to_dict("records"):
            if row["_key"] and (clearest or row["_key"] not in self.entries):
                self.entries[row["_key"]] = {"name": row["_label"], **mark.entry(row, self.mode)}

    def _add_levels(self, figure: Drawing, key: Any, at: Mapping[str, int]) -> None:
        for level in self.plot.levels:
            table = self.plot.table if level.table is None else level.table
            seen = [one for one in self._values(key, level.along) if isinstance(one, float | int)]
            for value, name in level.values(self._within(table, key)):
                line = level.line(self.mode)
                hidden = "ceiling" in level.kind and seen and value > NEAR * max(seen) > 0
                group = f"{name}, {value:.2f} (above the plot)" if hidden else name
                shown = self.plot.legend and bool(name) and group not in self.entries
                if shown:
                    self.entries[group] = {"name": group, "mode": "lines", "line": line}
                if hidden:
                    continue
                other = "x" if level.along == "y" else "y"
                ends: Tree = {f"{level.along}0": value, f"{level.along}1": value}
                ends |= {f"{other}0": 0, f"{other}1": 1, f"{other}ref": f"{other} domain"}
                outer = level.along == "y" and bool(seen) and value >= max(seen)
                said = {"text": name, "textposition": "end", "font": {"size": 11}}
                said |= {"yanchor": "top"} if outer else {}  # else it would be cut off
                more = {"label": said} if level.say else {}
                look = {"type": "line", "layer": "below", "legendgroup": group, "line": line}
                figure.add_shape(**look, **ends, **more, **at)

    def _set_axes(self, figure: Drawing, key: Any, panel: Panel, place: int) -> None:
        at, count = cell(place, self.columns), len(self.parts)
        axes: tuple[tuple[Literal["x", "y"], Axis, Places], ...] = (
            ("x", panel.x, panel.x_places),
            ("y", panel.y, panel.y_places),
        )
        for name, axis, places in axes:
            values = pd.Series(self._values(key, name))
            look = axis.look(values, places, upright=name == "y")
            labeled = any(  # texts at the ends of bars need space
                isinstance(mark, Bars) and mark.label and mark.lying == (name == "x")
                for mark, _ in self.parts[key]
            )
            if labeled and not axis.range:
                look["range"] = [min(0.0, 1.1 * values.min()), 1.2 * max(0.0, values.max())]
            if axis.top and panel.narrow:
                look["tickangle"] = -90
            if "scaleanchor" in look and place:
                look["scaleanchor"] = f"x{place + 1}"
            own = not isinstance(getattr(self.plot, name), Axis)
            rows = math.ceil(count / self.columns)
            middle = at["row"] == (rows + 1) // 2 or self.columns == 1 or not self._shared("y")
            last = at["row"] == rows if name == "x" else at["col"] == 1 and middle
            if own or last:
                width = 34 if self.narrow or self.columns > 1 else 60
                look["title"] = {"text": wrap(plain(axis.title), width)}
            if self._shared(name) and place:
                look["matches"] = name
            if name == "y" and self._shared(name) and at["col"] > 1:
                look["showticklabels"] = False
            change = figure.update_xaxes if name == "x" else figure.update_yaxes
            change(**look, **at)


def _scale(mark: Mark) -> Scale | None:
    color = mark.scale if isinstance(mark, Heat) else mark.color
    return color if isinstance(color, Scale) else None


def _head_text(head: Head | None, rows: pd.DataFrame) -> str:
    if callable(head):
        return head(rows)
    return fill(head, rows.iloc[0].to_dict() if len(rows) else {}) if head else ""


def _paint(name: str, mode: Mode) -> str:
    if name.startswith("#"):
        return name
    return str(getattr(INK[mode], name, "")) or hue(name, mode)


def _colors(palette: Palette, values: pd.Series, mode: Mode) -> dict[Any, str]:
    if palette.colors:
        return {value: _paint(name, mode) for value, name in palette.colors.items()}
    order = [value for value in palette.names if value in set(values)] or sorted(set(values))
    if len(order) == 1:
        return {order[0]: INK[mode].ember}
    strengths = list(np.linspace(0.3, 0.95, len(order)))
    sampled = sample_colorscale(list(INK[mode].scale), strengths, colortype="tuple")
    colors = ["#" + "".join(f"{round(255 * part):02X}" for part in rgb) for rgb in sampled]
    return dict(zip(order, colors, strict=True))


def _in_runs(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Number the values of a column in the order they come, as `_run`; without it all are one."""
    runs = rows.groupby(by, sort=False).ngroup() if by else 0
    rows = rows.assign(_run=runs)
    return rows[rows["_run"] >= 0]  # rows without a value are in no run


def _broken(
    panel: Panel, rows: pd.DataFrame, x: str, y: str, *, ordered: bool = True
) -> tuple[list[Any], list[Any], list[Row]]:
    """Return several runs as one line, in which None parts two."""
    rows = rows.assign(_x=panel.places(rows, x, "x"), _y=panel.places(rows, y, "y"))
    rows = rows.sort_values(["_run", "_x"] if ordered else "_run", kind="stable")
    gaps = np.flatnonzero(np.diff(rows["_run"])) + 1
    across, up = list(rows["_x"]), list(rows["_y"])
    records: list[Row] = list(rows.to_dict("records"))
    for gap in gaps[::-1]:  # from the end: the places before stay
        across.insert(gap, None)
        up.insert(gap, None)
        records.insert(gap, {})
    return across, up, records
