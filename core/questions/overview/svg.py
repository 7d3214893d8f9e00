"""The convergence map as an SVG file: the scene of the browser at the end of training."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from core.figures.theme import FONT, INK, Mode
from core.questions.overview.scene import Mark, Panel, R, Scene
from core.visible import visible

WIDTH, HEIGHT = 1060, 640
CENTER = (330, 322)
LEFT, SIDE, HIGH = 716, 330, 210  # of a panel's drawing area
TOPS = (70, 390)


def to_svg(scene: Scene, mode: Mode, *, title: str) -> str:
    """Return the map with its panels as the text of an SVG file."""
    ink = INK[mode]
    style = f"font-family:{FONT};font-size:12px;fill:{ink.text}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f" width={quoteattr(str(WIDTH))} height={quoteattr(str(HEIGHT))} style={quoteattr(style)}>",
        f"<title>{_plain(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{ink.paper}"/>',
        f'<g transform="translate({CENTER[0]},{CENTER[1]})">',
        *_rings(scene, mode),
        *(_trail(mark) for mark in scene.marks if len(mark.path) > 1),
        *(_dot(mark, *mark.place, ink.paper) for mark in scene.marks),
        *_labels(scene),
        "</g>",
    ]
    marks = {mark.id: mark for mark in scene.marks}
    for panel, top in zip(scene.panels, TOPS, strict=False):
        parts += _panel(panel, marks, top, mode)
    return "\n".join([*parts, "</svg>"])


def star(radius: float) -> str:
    """Return the outline of a star of five rays around the origin."""
    points = []
    for corner in range(10):
        angle = -math.pi / 2 + corner * math.pi / 5
        length = radius * (0.42 if corner % 2 else 1)
        points.append(f"{length * math.cos(angle):.1f},{length * math.sin(angle):.1f}")
    return f"M{'L'.join(points)}Z"


def _rings(scene: Scene, mode: Mode) -> Iterable[str]:
    ink = INK[mode]
    for distance, text in scene.rings:
        yield f'<circle r="{R * distance:.1f}" fill="none" stroke="{ink.grid}"/>'
        yield _text(3, R * distance - 4, text, fill=ink.soft)
    yield f'<circle r="{R}" fill="none" stroke="{ink.chance}" stroke-dasharray="2 4"/>'
    yield _text(3, -R - 5, scene.rim, fill=ink.soft)
    yield f'<path d="{star(12)}" fill="{ink.text}"/>'
    for name, color, angle in scene.sectors:
        x, y = (R + 26) * math.cos(angle), (R + 26) * math.sin(angle)
        yield _text(x, y + 4, name.upper(), fill=color, anchor=_anchor(x), weight="700")


def _anchor(x: float) -> str:
    return "middle" if abs(x) < 60 else "start" if x > 0 else "end"


def _trail(mark: Mark) -> str:
    points = [
        f"{R * distance * math.cos(mark.angle):.1f},{R * distance * math.sin(mark.angle):.1f}"
        for _, distance in mark.path
    ]
    look = f'stroke="{mark.color}" stroke-width="1.6" stroke-opacity="0.45"'
    return f'<path d="M{"L".join(points)}" fill="none" {look}/>'


def _dot(mark: Mark, x: float, y: float, paper: str) -> str:
    fill, edge = (paper, mark.color) if mark.hollow else (mark.color, paper)
    look = f'r="{mark.size:.1f}" fill="{fill}" stroke="{edge}" stroke-width="1.4"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" {look}><title>{_plain(mark.title)}</title></circle>'


def _labels(scene: Scene) -> Iterable[str]:
    for mark in scene.marks:
        if mark.labeled:
            x, y = mark.place
            inward, anchor = (-1, "end") if x >= 0 else (1, "start")
            yield _text(x + inward * (mark.size + 4), y + 4, mark.title, anchor=anchor)


def _panel(panel: Panel, marks: dict[str, Mark], top: float, mode: Mode) -> Iterable[str]:
    ink = INK[mode]
    yield _text(LEFT, top - 14, panel.title, weight="600")
    for share, text in panel.y_ticks:
        y = top + HIGH * (1 - share)
        yield f'<path d="M{LEFT},{y:.1f}h{SIDE}" stroke="{ink.grid}"/>'
        yield _text(LEFT - 6, y + 4, text, fill=ink.soft, anchor="end")
    for share, text in panel.x_ticks:
        yield _text(LEFT + SIDE * share, top + HIGH + 16, text, fill=ink.soft, anchor="middle")
    if panel.chance is not None:
        y = top + HIGH * (1 - panel.chance)
        yield f'<path d="M{LEFT},{y:.1f}h{SIDE}" stroke="{ink.chance}" stroke-dasharray="2 4"/>'
        yield _text(LEFT + SIDE, y - 4, "chance", fill=ink.soft, anchor="end")
    yield _text(LEFT + SIDE / 2, top + HIGH + 36, panel.x_label, anchor="middle")
    for name, across, up in panel.dots:
        yield _dot(marks[name], LEFT + SIDE * across, top + HIGH * (1 - up), ink.paper)


def _text(
    x: float, y: float, text: str, *, fill: str = "", anchor: str = "start", weight: str = "400"
) -> str:
    color = f' fill="{fill}"' if fill else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {place}{color}>{_plain(text)}</text>"


def _plain(text: str) -> str:
    return escape(visible(text))
