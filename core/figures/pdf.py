"""A drawing as PDF, in which vectors stay vectors and the font is embedded, or as PNG."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Literal

from core.errors import InputError
from core.settings import ROOT

if TYPE_CHECKING:
    import typst

FONTS = ROOT / "data" / "fonts"
FAMILY = "Platoscope Sans"
_FAMILIES = re.compile(r"font-family: ?(&quot;|[^;\"])*")


DPI = 300  # of a PNG


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
