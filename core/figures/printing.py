"""A figure for paper: light colors on white or on nothing, as wide as one or two columns; its
legend as text, and as PDF or PNG.

Figures are laid out for 13 px of text. Printed, these are 8 pt, so that a column is as wide as a
phone; there, panels that were next to each other are one below the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from core.errors import InputError
from core.figures.theme import INK
from core.recipe import Recipe
from core.settings import ROOT

if TYPE_CHECKING:
    import typst

PX_PER_MM = 13 / (8 * 25.4 / 72)  # 13 px are 8 pt
ONE_COLUMN, TWO_COLUMNS = 85, 175  # mm, of most journals
WHITE, NOTHING = "#FFFFFF", "rgba(0,0,0,0)"
_COLOR = re.compile(r"#[0-9a-fA-F]{6}\b|rgba?\([\d., ]+\)")
_ROOM = 92  # pixels below a panel: ticks, their title, and the next panel's heading
_GAP = 0.08  # between two columns, as a share of the plots
MOST_STACKED = 3  # panels in one column
_FRAME = 150  # pixels around all panels
RGB = tuple[int, ...]
FONTS = ROOT / "data" / "fonts"
FAMILY = "Platoscope Sans"
_FAMILIES = re.compile(r"font-family: ?(&quot;|[^;\"])*")
DPI = 300  # of a PNG


def to_print(figure: go.Figure, *, width: int, transparent: bool = False) -> go.Figure:
    """Return a copy of a figure for paper, `width` millimeters wide.

    Dark colors become those of the light theme, and its paper white, or transparent. Dots stay
    vectors, however many they are. At ONE_COLUMN panels are one below the other, or many in two
    columns.
    """
    text = figure.to_json().replace('"scattergl"', '"scatter"')
    dark = figure.layout.template.layout.paper_bgcolor == INK["dark"].paper
    printed = go.Figure(json.loads(_COLOR.sub(lambda found: _on_paper(found[0], dark=dark), text)))
    pixels = round(width * PX_PER_MM)
    if width == ONE_COLUMN:
        _stack(printed)
        _square(printed, pixels)
    ground = NOTHING if transparent else WHITE
    printed.frames = ()  # what moves on a page is still, without its buttons
    printed.update_layout(sliders=(), updatemenus=())
    printed.for_each_annotation(lambda note: note.update(font_size=min(note.font.size or 13, 13)))
    return printed.update_layout(width=pixels, paper_bgcolor=ground, plot_bgcolor=ground)


def _on_paper(color: str, *, dark: bool) -> str:
    rgb, alpha = _parts(color)
    if dark:
        nearest = min(_SCALE, key=lambda one: _distance(one, rgb))
        of_scale = _SCALE[nearest] if _distance(nearest, rgb) <= 6 else rgb
        rgb = _LIGHT.get(rgb, of_scale)
    rgb = _rgb(WHITE) if rgb == _rgb(INK["light"].paper) else rgb
    if alpha:
        return f"rgba({','.join(map(str, rgb))},{alpha})"
    return "#" + "".join(f"{part:02X}" for part in rgb)


def _parts(color: str) -> tuple[RGB, str]:
    if color.startswith("#"):
        return _rgb(color), ""
    *rgb, alpha = [*re.findall(r"[\d.]+", color), ""][:4]
    return tuple(round(float(part)) for part in (*rgb, alpha)[:3]), alpha


def _rgb(color: str) -> RGB:
    return tuple(int(color[place : place + 2], 16) for place in (1, 3, 5))


def _distance(one: RGB, other: RGB) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


_STEPS = [step / 255 for step in range(256)]
_DARK_SCALE, _LIGHT_SCALE = (
    [_parts(color)[0] for color in sample_colorscale(list(INK[mode].scale), _STEPS)]
    for mode in ("dark", "light")
)
_SCALE: Mapping[RGB, RGB] = dict(zip(_DARK_SCALE, _LIGHT_SCALE, strict=True))  # by the dark color
_LIGHT: Mapping[RGB, RGB] = {
    _rgb(getattr(INK["dark"], name)): _rgb(getattr(INK["light"], name))
    for name in ("paper", "text", "soft", "grid", "chance", "ember")
}


@dataclass(frozen=True)
class _Panel:
    x: Any
    y: Any
    left: float
    right: float
    low: float
    high: float


def _stack(figure: go.Figure) -> None:
    """Put the panels of a figure one below the other, or many in two columns, in the order in
    which they are read.
    """
    panels = _panels(figure)
    if len({panel.left for panel in panels}) < 2:
        return
    shared = any(panel.y.showticklabels is False for panel in panels)
    columns = 2 if shared and len(panels) > MOST_STACKED else 1
    before = (figure.layout.height or 450) - _FRAME
    tall = max(panel.high - panel.low for panel in panels) * before
    rows = -(-len(panels) // columns)
    after = rows * (tall + _ROOM) - _ROOM
    owners = [_headings(figure, panel, panels) for panel in panels]
    wide = (1 - (columns - 1) * _GAP) / columns
    for place, (panel, headings) in enumerate(zip(panels, owners, strict=True)):
        row, column = divmod(place, columns)
        top = 1 - row * (tall + _ROOM) / after
        left, low = column * (wide + _GAP), max(0.0, top - tall / after)
        spot = replace(panel, high=top, low=low, left=left, right=left + wide)
        for heading in headings:
            share = (heading.x - panel.left) / (panel.right - panel.left)
            above = (heading.y - panel.high) * before / after
            heading.update(x=spot.left + share * (spot.right - spot.left), y=top + above)
        _name(panel, panels, first=column == 0, last=place + columns >= len(panels))
        panel.x.update(domain=[spot.left, spot.right])
        panel.y.update(domain=[spot.low, spot.high])
    figure.update_layout(height=after + _FRAME)


def _square(figure: go.Figure, pixels: int) -> None:
    panels = _panels(figure)
    if len(panels) == 1 and panels[0].y.scaleanchor:
        figure.update_layout(height=min(figure.layout.height or 450, pixels + _FRAME))


def _panels(figure: go.Figure) -> list[_Panel]:
    used = {f"xaxis{(trace.xaxis or 'x')[1:]}" for trace in figure.data if hasattr(trace, "xaxis")}
    panels = []
    for x in figure.select_xaxes(lambda one: one.plotly_name in used):
        y = figure.layout[f"yaxis{(x.anchor or 'y')[1:]}"]
        across, up = x.domain or (0.0, 1.0), y.domain or (0.0, 1.0)
        panels.append(_Panel(x, y, *across, *up))
    return sorted(panels, key=lambda panel: (-panel.high, panel.left))


def _headings(figure: go.Figure, panel: _Panel, panels: list[_Panel]) -> list[Any]:
    def far(other: _Panel, note: Any) -> float:
        across = max(other.left - note.x, note.x - other.right, 0.0)
        return float(10 * across + abs(note.y - other.high))

    return [
        note
        for note in figure.layout.annotations
        if (note.xref, note.yref) == ("paper", "paper")
        and min(panels, key=lambda other: far(other, note)) is panel
    ]


def _name(panel: _Panel, panels: list[_Panel], *, first: bool, last: bool) -> None:
    """Give the axes of a panel the ticks and titles that they shared with its row and column.

    first: in its row. last: of its column, where the title of the x axis is, unless the axes
    are several.
    """
    panel.x.update(showticklabels=True)
    columns = [one.x for one in panels if one.left == panel.left]
    if len({one.x.title.text for one in panels} - {None, ""}) < 2:
        title = _title(panel.x, [*columns, *(one.x for one in panels)]) if last else None
        panel.x.title.text = title
    row = [one.y for one in panels if one.high == panel.high] + [one.y for one in panels]
    panel.y.update(showticklabels=first)
    panel.y.title.text = _title(panel.y, row) if first else None


def _title(axis: Any, others: Iterable[Any]) -> str | None:
    return next((one.title.text for one in (axis, *others) if one.title.text), None)


def legend_text(figure: go.Figure, table: pd.DataFrame, recipe: Recipe) -> str:
    """Return what is drawn, over how many models and stimuli, by which choices, with which interval
    and chance level, and by which version; numbers that `table` does not have are left out.
    """
    meta = figure.layout.meta
    sentences = [meta["title"], _axes(figure), *_marks(figure), meta.get("note", "")]
    sentences.append(_counts(table))
    choices = ", ".join(_choices(recipe.choices.get("question", recipe.choices)))
    made = f"Platoscope {version('platoscope')}, recipe {recipe.digest}"
    parts = [*sentences, choices and f"Settings: {choices}", made]
    return " ".join(f"{part.rstrip('.?')}." for part in parts if part)


def _axes(figure: go.Figure) -> str:
    x, y = (
        next((_bare(axis.title.text) for axis in axes if axis.title.text), "")
        for axes in (figure.select_xaxes(), figure.select_yaxes())
    )
    return f"{y[:1].upper()}{y[1:]} against {x}" if x and y else (y or x)


def _marks(figure: go.Figure) -> Iterator[str]:
    names = [_bare(trace.name) for trace in figure.data if trace.name]
    names += [_bare(shape.name) for shape in figure.layout.shapes if shape.name]
    for name in dict.fromkeys(names):
        if "chance" in name:
            yield f"Dotted: {name}"
        elif "95%" in name.replace(" ", ""):
            yield f"{name[:1].upper()}{name[1:]}"


def _counts(table: pd.DataFrame) -> str:
    scored = table.dropna(subset="score") if "score" in table else table
    models = {
        name
        for column in ("model", "model_x", "model_y")
        if column in table
        for name in scored[column]
    }
    counts = [f"{len(models)} models"] if models else []
    if "n" in table and table["n"].nunique() == 1:
        counts.append(f"{table['n'].iloc[0]:,} stimuli")
    return f"n = {', '.join(counts)}" if counts else ""


def _choices(choices: Any, name: str = "") -> Iterator[str]:
    if isinstance(choices, dict):
        for key, value in choices.items():
            yield from _choices(value, key)
    elif isinstance(choices, str | int | float) and not isinstance(choices, bool) and choices:
        yield f"{name} {choices}"


def _bare(text: str) -> str:
    return re.sub(r"<[^>]+>", " ", text).replace("&lt;", "<").replace("&amp;", "&").strip()


def to_pdf(
    svg: str,
    *,
    width: int,
    title: str,
    caption: str,
    recipe: str,
    kind: Literal["pdf", "png"] = "pdf",
) -> bytes:
    """Write an SVG drawing as a page of PDF, `width` millimeters wide and as tall as it is, or as
    a PNG of this size.

    title, caption, recipe: go into the information dictionary, as Title, Subject and Keywords.
    The same arguments give the same bytes. Raises InputError for what is no drawing.
    """
    import typst  # 30 MB that a page without an export must not load

    drawing = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)  # its font, which is ours
    drawing = _FAMILIES.sub(f"font-family: {FAMILY}", drawing)
    about = f"title: {_quoted(title)}, description: {_quoted(caption)}, keywords: {_quoted(recipe)}"
    page = f"width: {width}mm, height: auto, margin: 0pt, fill: none"
    image = f'#image(bytes({_quoted(drawing)}), format: "svg", width: 100%)'
    source = f"#set document({about}, date: none)\n#set page({page})\n{image}"
    try:
        made = typst.compile(source.encode(), font_paths=_fonts(), format=kind, ppi=DPI)
    except typst.TypstError as error:
        raise InputError(f"expected an SVG drawing: {error}") from error
    assert isinstance(made, bytes)
    return made


@cache
def _fonts() -> typst.Fonts:
    import typst

    return typst.Fonts(include_system_fonts=False, font_paths=[FONTS])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
