"""A figure for paper: light colors on white or on nothing, as wide as one or two columns; its
legend as text, and as PDF or PNG.

Figures are laid out for 13 px of text. Printed, these are 8 pt, so that a column is as wide as a
phone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import plotly.graph_objects as go

from core.errors import InputError
from core.figures.numbers import counted
from core.figures.theme import INK, Mode
from core.recipe import Recipe
from core.settings import ROOT

if TYPE_CHECKING:
    import typst

PX_PER_MM = 13 / (8 * 25.4 / 72)  # 13 px are 8 pt
ONE_COLUMN, TWO_COLUMNS = 85, 175  # mm, of most journals
WHITE, NOTHING = "#FFFFFF", "rgba(0,0,0,0)"
_FRAME = 150  # pixels around a panel
Drawn = Callable[[Mode, bool], go.Figure]  # in a color mode, for a phone or not
FONTS = ROOT / "data" / "fonts"
FAMILY = "Platoscope Sans"
_FAMILIES = re.compile(r"font-family: ?(&quot;|[^;\"])*")
DPI = 300  # of a PNG


def to_print(drawn: Drawn, *, width: int, transparent: bool = False) -> go.Figure:
    """Draw a figure for paper, `width` millimeters wide: as on a light page, at ONE_COLUMN as on a
    phone, with white or transparent paper. Dots are vectors, however many they are.
    """
    text = drawn("light", width == ONE_COLUMN).to_json().replace('"scattergl"', '"scatter"')
    printed = go.Figure(json.loads(text.replace(INK["light"].paper, WHITE)))
    pixels, ground = round(width * PX_PER_MM), NOTHING if transparent else WHITE
    (first, *more) = printed.select_yaxes()
    if width == ONE_COLUMN and first.scaleanchor and not more:  # as tall as it is wide
        printed.layout.height = min(printed.layout.height or 450, pixels + _FRAME)
    printed.frames = ()  # what moves on a page is still, without its buttons
    printed.update_layout(sliders=(), updatemenus=())
    printed.for_each_annotation(lambda note: note.update(font_size=min(note.font.size or 13, 13)))
    return printed.update_layout(width=pixels, paper_bgcolor=ground, plot_bgcolor=ground)


def legend_text(figure: go.Figure, table: pd.DataFrame, recipe: Recipe) -> str:
    """Return what is drawn, over how many models and stimuli, by which choices, with which interval
    and chance level, and by which version; numbers that `table` does not have are left out.
    """
    meta = figure.layout.meta
    sentences = [meta["title"], _axes(figure), *_marks(figure), meta.get("note", "")]
    sentences.append(_counts(figure, table))
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


def _counts(figure: go.Figure, table: pd.DataFrame) -> str:
    scored = table.dropna(subset="score") if "score" in table else table
    models = {
        name
        for column in ("model", "model_x", "model_y")
        if column in table
        for name in scored[column]
    }
    dots = [
        dot for trace in figure.data if trace.customdata is not None for dot in trace.customdata
    ]
    shown = models.intersection(name for dot in dots for name in dot) or models
    counts = [counted(len(shown), "model", "models")] if shown else []
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
