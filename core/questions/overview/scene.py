"""Where everything of the convergence map lies: computed here once, drawn by the browser and, for
export, as an SVG file.

Distance from the center is alignment with it on a log scale: 1 in the middle, chance on the rim.
Each modality has a sector, in which models are sorted by alignment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.competence.records import SKILL
from core.encoders.encoder import REALITY
from core.figures.numbers import count_text
from core.figures.palette import modality_hue
from core.figures.theme import INK, Mode
from core.modalities import find_modality
from core.questions.overview.closeness import CONSENSUS, MAP_METRICS, ConvergenceMap
from core.study.models import UNKNOWN

GAP = 0.16  # radians between two sectors
NARROWEST = 3  # models that a sector has room for at least
WIDEST_MARK, SMALLEST_MARK, UNKNOWN_MARK = 13.0, 3.0, 5.0  # radii in pixels of a map of radius R
R = 270.0
CODED = "1 − bits per byte of captions"
RIM = 0.01  # of a metric whose chance level is 0
LABELS = 2  # models per sector that are named at once
TICKS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Mark:
    """A model on the map. angle: in radians, from the right, clockwise. path: share of the
    training and distance from the center, the last being where it is now. lines: its card.
    """

    id: str
    title: str
    color: str
    hollow: bool
    size: float
    angle: float
    path: tuple[tuple[float, float], ...]
    lines: tuple[str, ...]
    labeled: bool
    partners: tuple[tuple[str, float], ...]

    @property
    def place(self) -> tuple[float, float]:
        """Return where it is now, in pixels from the center."""
        distance = R * self.path[-1][1]
        return distance * math.cos(self.angle), distance * math.sin(self.angle)


@dataclass(frozen=True)
class Panel:
    """A scatter next to the map; dots: model, and its place from 0 to 1 on both axes. chance: the
    place of chance, or None.
    """

    title: str
    x_label: str
    y_label: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    dots: tuple[tuple[str, float, float], ...]
    chance: float | None


@dataclass(frozen=True)
class Scene:
    """All that the map shows; rings: distance and score. sectors: name, hue, angle."""

    center: str
    rim: str
    rings: tuple[tuple[float, str], ...]
    sectors: tuple[tuple[str, str, float], ...]
    marks: tuple[Mark, ...]
    panels: tuple[Panel, ...]


def lay_out(
    table: pd.DataFrame, question: ConvergenceMap, titles: Mapping[str, str], mode: Mode
) -> Scene:
    """Return the scene of an answer.

    table: as of `ConvergenceMap`. titles: of all models.
    """
    scored = table.dropna(subset=["score"])
    level = scored["chance"].mean()
    rim = level if 0 < level < 1 else RIM
    finished = scored[~scored["copy"]]
    angles, sectors = _sectors(finished)
    top = finished["parameters"].max()
    named = finished[~finished["untrained"]].groupby("modality")["score"].nlargest(LABELS)
    labeled = set(named.index.get_level_values(-1))
    metric = question.comparison.metric
    label = MAP_METRICS.get(metric, question.comparison.spec.title)
    marks = tuple(
        Mark(
            id=row.model,
            title=row.title,
            color=INK[mode].soft if row.untrained else modality_hue(row.modality),
            hollow=bool(row.untrained),
            size=_size(row.parameters, top),
            angle=angles[row.model],
            path=_path(row, scored, rim),
            lines=_lines(row, titles, label),
            labeled=row.Index in labeled,
            partners=_partners(row),
        )
        for row in finished.itertuples()
    )
    center = question.center or str(table["center"].iloc[0])
    return Scene(
        center=_named(center, titles),
        rim=f"chance {level:.3f}" if level > 0 else f"{RIM:g} and below",
        rings=tuple(
            (_distance(score, rim), f"{score:g}") for score in (0.3, 0.1, 0.03) if score > rim
        ),
        sectors=sectors,
        marks=marks,
        panels=_panels(finished[~finished["untrained"]], _named(center, titles), label),
    )


def _distance(score: float, rim: float) -> float:
    """Return 0 for a score of 1, 1 for chance and below."""
    return min(max(math.log(max(score, rim)) / math.log(rim), 0.0), 1.0)


def _sectors(models: pd.DataFrame) -> tuple[dict[str, float], tuple[tuple[str, str, float], ...]]:
    groups = [(str(name), group.sort_values("score")) for name, group in models.groupby("modality")]
    shares = [max(len(group), NARROWEST) for _, group in groups]
    free = 2 * math.pi - GAP * len(groups)
    angles: dict[str, float] = {}
    angle, sectors = GAP / 2 - math.pi / 2, []
    for (name, group), share in zip(groups, shares, strict=True):
        width = free * share / sum(shares)
        steps = (np.arange(len(group)) + 0.5) / len(group)
        angles |= dict(zip(group["model"], angle + width * steps, strict=True))
        sectors.append((name, modality_hue(name), angle + width / 2))
        angle += width + GAP
    return angles, tuple(sectors)


def _size(parameters: float, most: float) -> float:
    """Return the radius of a mark whose area is proportional to the model's parameters."""
    if not (parameters > 0 and most > 0):
        return UNKNOWN_MARK
    return max(SMALLEST_MARK, WIDEST_MARK * math.sqrt(parameters / most))


def _path(row: Any, scored: pd.DataFrame, rim: float) -> tuple[tuple[float, float], ...]:
    """Return the distances of a model along its training, from an untrained network like it if
    there is one.
    """
    if row.untrained:
        return ((0.0, _distance(row.score, rim)),)
    copies = scored[(scored["run"] == row.run) & scored["copy"]]
    like = scored["untrained"] & (scored["family"] == row.family) & (row.family not in UNKNOWN)
    start = scored[like & (scored["parameters"] == row.parameters)]
    points = sorted(zip(copies["step"] / row.step, copies["score"], strict=True))
    if points and points[0][0] > 0 and len(start):
        points.insert(0, (0.0, start["score"].iloc[0]))
    points.append((1.0, row.score))
    return tuple((float(share), _distance(score, rim)) for share, score in points)


def _named(center: str, titles: Mapping[str, str]) -> str:
    if center == CONSENSUS:
        return "the consensus"
    return center if center == REALITY else titles.get(center, center)


def _lines(row: Any, titles: Mapping[str, str], label: str) -> tuple[str, ...]:
    size = f", {count_text(row.parameters)} parameters" if row.parameters > 0 else ""
    known = [kind for kind in (row.objective, row.family) if kind not in UNKNOWN]
    kind = "untrained" if row.untrained else (*known, f"{row.modality} model")[0]
    aligned = f"{label} with {_named(row.center, titles)} {row.score:.3f}"
    partner = _partners(row)[:1]
    best = [f"best partner {titles.get(name, name)} ({score:.3f})" for name, score in partner]
    return (f"{kind}{size}", aligned, *best)


def _partners(row: Any) -> tuple[tuple[str, float], ...]:
    if not isinstance(row.partners, list | tuple | np.ndarray):
        return ()
    return tuple(zip(map(str, row.partners), map(float, row.partner_scores), strict=True))


def _panels(models: pd.DataFrame, center: str, label: str) -> tuple[Panel, ...]:
    """Return how close vision models are and language models are, by competence."""
    wanted = (
        ("image", "score", f"{label} with {center}", "vision"),
        ("caption", "across", f"{label} with vision", "language"),
    )
    panels = []
    for reads, column, y_label, side in wanted:
        kinds = models["modality"].map(lambda name: find_modality(name).reads)
        own = models[kinds == reads].dropna(subset=["competence", column])
        if len(own) > 1:
            basis = own["basis"].iloc[0]
            basis = CODED if basis == SKILL else basis
            panels.append(_panel(own, column, f"{side}: {basis}", y_label))
    return tuple(panels)


def _panel(models: pd.DataFrame, column: str, x_label: str, y_label: str) -> Panel:
    x, y = models["competence"], models[column]
    x_low, x_high, x_ticks = _axis(x.min(), x.max())
    y_low, y_high, y_ticks = _axis(min(0.0, y.min()), max(0.0, y.max()))
    chance = (models["chance"].mean() - y_low) / (y_high - y_low)
    places = zip(
        models["model"], (x - x_low) / (x_high - x_low), (y - y_low) / (y_high - y_low), strict=True
    )
    return Panel(
        title=y_label,
        x_label=x_label,
        y_label=y_label,
        x_ticks=x_ticks,
        y_ticks=y_ticks,
        dots=tuple((str(name), float(across), float(up)) for name, across, up in places),
        chance=float(chance) if 0 <= chance <= 1 else None,
    )


def _axis(low: float, high: float) -> tuple[float, float, tuple[tuple[float, str], ...]]:
    """Return the ends of an axis and about four round ticks, with equal digits."""
    span = high - low or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(part * power for part in TICKS if part * power >= span / 4)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    digits = max(0, -math.floor(math.log10(step)) + (round(step / power, 1) == 2.5))
    ends = first * step, last * step
    ticks = [index * step for index in range(first, last + 1)]
    places = tuple(((tick - ends[0]) / (ends[1] - ends[0]), f"{tick:.{digits}f}") for tick in ticks)
    return *ends, places
