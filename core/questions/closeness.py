"""How close each model is to a center: reality, a model, or a modality; and the convergence map,
which the browser draws, and which is an SVG file.

Distance from the center is alignment with it on a log scale: 1 in the middle, chance on the rim.
Each modality has a sector, in which models are sorted by alignment.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pandas as pd

from core.encoders.encoder import REALITY
from core.errors import MetricError, UnknownNameError
from core.figures.numbers import count_text
from core.figures.palette import modality_hue
from core.figures.printing import WHITE
from core.figures.theme import FONT, INK, Mode, legible
from core.modalities import find_modality, known_first
from core.options import option, part
from core.questions.question import Answer, StudyQuestion
from core.study.comparing import align_models
from core.study.layers import ALL
from core.study.models import (
    UNKNOWN,
    UNTRAINED,
    is_measured,
    is_reality,
    usual,
    without_variants,
)
from core.study.parts import Comparison
from core.study.study import Study, known_worlds
from core.visible import visible

PARTNERS = 5
MAP_METRICS: Mapping[str, str] = {  # that the map offers: chance is known or 0
    "mutual_knn": "k-NN",
    "cycle_knn": "cycle k-NN",
    "cknna": "CKNNA",
    "unbiased_cka": "CKA",
}


@dataclass(frozen=True)
class ConvergenceMap(StudyQuestion):
    """How close is each model to reality, or to another center?"""

    command = "closeness"
    version = 7
    columns: ClassVar[Mapping[str, str]] = {
        "model": "model of a usual training, checkpoint or untrained control",
        "title": "its name",
        "modality": "its modality",
        "objective": "its objective",
        "family": "its family",
        "parameters": "its parameters",
        "untrained": "whether it is untrained",
        "run": "its training",
        "copy": "whether it is a checkpoint",
        "step": "its training steps",
        "center": "what it is compared with",
        "layer": "layer that was compared, −1 for a mean over several models",
        "score": "alignment with the center",
        "chance": "alignment of unrelated models",
        "reason": "why there is no score",
        "partners": "models of other modalities that are best aligned with it",
        "partner_scores": "their alignment",
    }

    center: str = option(
        "",
        label="Center",
        metavar="CENTER",
        help="reality, a model, or a modality: the mean over its models (reality if it is known,"
        " else the first modality)",
    )
    comparison: Comparison = part(Comparison)

    def complete(self, study: Study) -> ConvergenceMap:
        models = study.models()
        kinds = known_first(usual(_shown(models))["modality"])
        offered = [*known_worlds(study), *kinds, *models["model"]]
        center = self.center or next(iter(offered), "")
        if center not in offered:
            raise UnknownNameError("center", center, offered)
        if self.comparison.layers == ALL:
            raise MetricError("one pair of layers is compared with a center; got all: choose best")
        return replace(self, center=center)

    def answer(self, study: Study) -> Answer:
        models, center = _shown(study.models()), self.center
        names, finished = list(models["model"]), usual(models)
        if center in set(models["modality"]):
            kind = list(finished.loc[finished["modality"] == center, "model"])
            pairs = align_models(study, names, kind, self.comparison)
            runs = models.set_index("model")["run"]  # no model is compared with its own training
            pairs = pairs[pairs["model_x"].map(runs) != pairs["model_y"].map(runs)]
            means = pairs.groupby("model_x", sort=False)[["score", "chance"]].mean()
            scores = means.rename_axis("model").reset_index().assign(layer=-1, reason="")
        else:
            others = [name for name in names if name != center]
            scores = align_models(study, others, [center], self.comparison)
            scores = scores.rename(columns={"model_x": "model", "layer_x": "layer"})
            scores = scores[["model", "layer", "score", "chance", "reason"]]
        table = models.assign(untrained=models["group"] == UNTRAINED, center=center)
        table = table.merge(scores, on="model", how="left")
        partners = _partners(study, models, self.comparison)
        return Answer(table.merge(partners, on="model", how="left")[list(self.columns)])


def _shown(models: pd.DataFrame) -> pd.DataFrame:
    """Return usual models, untrained ones and checkpoints."""
    usual_ones = without_variants(models)
    return usual_ones[~(is_reality(usual_ones) | is_measured(usual_ones))]


def _partners(study: Study, models: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Return the models of other modalities that are best aligned with each, and their scores."""
    finished = usual(models)
    rows: list[dict[str, Any]] = []
    for modality, group in models.groupby("modality", sort=False):
        foreign = finished[finished["modality"] != modality]
        if foreign.empty:
            continue
        try:
            pairs = align_models(study, list(group["model"]), list(foreign["model"]), comparison)
        except MetricError:  # no model of a side can be compared; each says so itself
            continue
        best = pairs.dropna(subset=["score"]).sort_values(
            "score", ascending=comparison.toward < 0, kind="stable"
        )
        for name, own in best.groupby("model_x", sort=False):
            own = own.head(PARTNERS)
            rows.append(
                {
                    "model": name,
                    "partners": own["model_y"].tolist(),
                    "partner_scores": own["score"].tolist(),
                }
            )
    return pd.DataFrame(rows, columns=["model", "partners", "partner_scores"])


GAP = 0.16  # radians between two sectors
NARROWEST = 3  # models that a sector has room for at least
WIDEST_MARK, SMALLEST_MARK, UNKNOWN_MARK = 13.0, 3.0, 5.0  # radii in pixels of a map of radius R
R = 270.0
WIDTH, HEIGHT = 920, 640  # of the map
LEFT = 40  # more of the SVG file, for the names of sectors
CENTER = (330, 322)
KEYS = (690, 60)  # where its legend begins
RIM = 0.01  # of a metric whose chance level is 0
LABELS = 2  # models per sector that are named at once
NAME = 90.0, 18.0  # pixels of a name


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
class Scene:
    """All that the map shows; rings: distance and score. sectors: name, hue, angle. levels:
    distance, first and last angle of an arc, name. keys: symbol and meaning, for the legend.
    """

    center: str
    rim: str
    rings: tuple[tuple[float, str], ...]
    sectors: tuple[tuple[str, str, float], ...]
    marks: tuple[Mark, ...]
    levels: tuple[tuple[float, float, float, str], ...]
    keys: tuple[tuple[str, str], ...]


def lay_out(
    table: pd.DataFrame,
    question: ConvergenceMap,
    titles: Mapping[str, str],
    mode: Mode,
    features: pd.DataFrame | None = None,
) -> Scene:
    """Return the scene of an answer.

    table: as of `ConvergenceMap`. titles: of all models. features: control, of and score of simple
    features, the closest to the center first.
    """
    scored = table.dropna(subset=["score"])
    level = scored["chance"].mean()
    rim = level if 0 < level < 1 else RIM
    finished = scored[~scored["copy"]]
    angles, sectors, ends = _sectors(finished, mode)
    levels = [] if features is None else _levels(features, ends, rim)
    top = finished["parameters"].max()
    named = finished[~finished["untrained"]].groupby("modality")["score"].nlargest(LABELS)
    labeled = set(named.index.get_level_values(-1))
    metric = question.comparison.metric
    label = MAP_METRICS.get(metric, question.comparison.spec.title)
    copies = dict(iter(scored[scored["copy"]].groupby("run")))
    untrained = scored[scored["untrained"] & ~scored["family"].isin(UNKNOWN)]
    first = untrained.dropna(subset="parameters").drop_duplicates(["family", "parameters"])
    starts = first.set_index(["family", "parameters"])["score"].to_dict()
    marks = tuple(
        Mark(
            id=row.model,
            title=row.title,
            color=INK[mode].soft if row.untrained else modality_hue(row.modality),
            hollow=bool(row.untrained),
            size=_size(row.parameters, top),
            angle=angles[row.model],
            path=_path(row, copies.get(row.run), starts, rim),
            lines=_lines(row, titles, label),
            labeled=row.Index in labeled,
            partners=_best_partners(row),
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
        marks=_apart(marks),
        levels=tuple(levels),
        keys=(
            ("star", f"center: {_named(center, titles)}"),
            ("rim", "chance"),
            ("ring", f"{label} (log), higher inward"),
            ("dot", "model (area: size)"),
            *((("hollow", "untrained network"),) if finished["untrained"].any() else ()),
            *((("level", "best simple feature"),) if levels else ()),
            *((("trail", "checkpoints"),) if any(len(mark.path) > 1 for mark in marks) else ()),
        ),
    )


def _apart(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Return the marks without the labels that would cover another."""
    places: list[tuple[float, float]] = []
    for mark in sorted((one for one in marks if one.labeled), key=lambda one: one.path[-1][1]):
        x, y = mark.place
        if all(abs(x - a) > NAME[0] or abs(y - b) > NAME[1] for a, b in places):
            places.append((x, y))
    return tuple(replace(mark, labeled=mark.labeled and mark.place in places) for mark in marks)


def _levels(
    features: pd.DataFrame, ends: Mapping[str, tuple[float, float]], rim: float
) -> list[tuple[float, float, float, str]]:
    """Return the arc of the closest simple feature of what each sector's models read."""
    levels = []
    for name, (first, last) in ends.items():
        own = features[features["of"] == find_modality(name).reads]
        for feature, score in own[["control", "score"]].head(1).to_numpy():
            levels.append((_distance(score, rim), first, last, f"{feature} {score:.3f}"))
    return levels


def _distance(score: float, rim: float) -> float:
    """Return 0 for a score of 1, 1 for chance and below."""
    return min(max(math.log(max(score, rim)) / math.log(rim), 0.0), 1.0)


def _sectors(
    models: pd.DataFrame, mode: Mode
) -> tuple[dict[str, float], tuple[tuple[str, str, float], ...], dict[str, tuple[float, float]]]:
    """Return the angle of each model, the sectors as of `Scene`, and where each begins and ends."""
    groups = [(str(name), group.sort_values("score")) for name, group in models.groupby("modality")]
    shares = [max(len(group), NARROWEST) for _, group in groups]
    free = 2 * math.pi - GAP * len(groups)
    angles: dict[str, float] = {}
    angle, sectors, ends = GAP / 2 - math.pi / 2, [], {}
    for (name, group), share in zip(groups, shares, strict=True):
        width = free * share / sum(shares)
        steps = (np.arange(len(group)) + 0.5) / len(group)
        angles |= dict(zip(group["model"], angle + width * steps, strict=True))
        sectors.append((name, legible(modality_hue(name), mode), angle + width / 2))
        ends[name] = angle, angle + width
        angle += width + GAP
    return angles, tuple(sectors), ends


def _size(parameters: float, most: float) -> float:
    """Return the radius of a mark whose area is proportional to the model's parameters."""
    if not (parameters > 0 and most > 0):
        return UNKNOWN_MARK
    return max(SMALLEST_MARK, WIDEST_MARK * math.sqrt(parameters / most))


def _path(
    row: Any,
    copies: pd.DataFrame | None,
    starts: Mapping[Hashable, float],
    rim: float,
) -> tuple[tuple[float, float], ...]:
    """Return the distances of a model along its training. copies: its checkpoints. starts: scores
    of untrained networks by family and parameters; the training begins at one like the model.
    """
    if row.untrained:
        return ((0.0, _distance(row.score, rim)),)
    points: list[tuple[float, float]] = []
    if copies is not None:
        points = sorted(zip(copies["step"] / row.step, copies["score"], strict=True))
    start = starts.get((row.family, row.parameters))
    if points and points[0][0] > 0 and start is not None:
        points.insert(0, (0.0, start))
    points.append((1.0, row.score))
    return tuple((float(share), _distance(score, rim)) for share, score in points)


def _named(center: str, titles: Mapping[str, str]) -> str:
    return center if center == REALITY else titles.get(center, f"{center} models")


def _lines(row: Any, titles: Mapping[str, str], label: str) -> tuple[str, ...]:
    size = f", {count_text(row.parameters)} parameters" if row.parameters > 0 else ""
    known = [kind for kind in (row.objective, row.family) if kind not in UNKNOWN]
    kind = "untrained" if row.untrained else (*known, f"{row.modality} model")[0]
    aligned = f"{label} with {_named(row.center, titles)} {row.score:.3f}"
    partner = _best_partners(row)[:1]
    best = [f"best partner {titles.get(name, name)} ({score:.3f})" for name, score in partner]
    return (f"{kind}{size}", aligned, *best)


def _best_partners(row: Any) -> tuple[tuple[str, float], ...]:
    if not isinstance(row.partners, list | tuple | np.ndarray):
        return ()
    return tuple(zip(map(str, row.partners), map(float, row.partner_scores), strict=True))


def to_svg(scene: Scene, mode: Mode, *, title: str) -> str:
    """Return the map with its legend as the text of an SVG file."""
    ink, whole = INK[mode], LEFT + WIDTH
    fonts = FONT.replace('"', "'")  # within an attribute
    style = f"font-family:{fonts};font-size:12px;fill:{ink.text}"
    paper = WHITE if mode == "light" else ink.paper
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-LEFT} 0 {whole} {HEIGHT}"'
        f' width="{whole}" height="{HEIGHT}" style={quoteattr(style)}>',
        f"<title>{_plain(title)}</title>",
        f'<rect x="{-LEFT}" width="{whole}" height="{HEIGHT}" fill="{paper}"/>',
        f'<g transform="translate({CENTER[0]},{CENTER[1]})">',
        *_rings(scene, mode),
        *_arcs(scene, mode),
        *(_trail(mark) for mark in scene.marks if len(mark.path) > 1),
        *(_dot(mark, *mark.place, ink.paper) for mark in scene.marks),
        *_labels(scene),
        "</g>",
        *_legend(scene, mode),
        "</svg>",
    ]
    return "\n".join(parts)


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
        anchor = "middle" if abs(x) < 60 else "start" if x > 0 else "end"
        yield _text(x, y + 4, name.upper(), fill=color, anchor=anchor, weight="700")


def _arcs(scene: Scene, mode: Mode) -> Iterable[str]:
    ink = INK[mode]
    for distance, first, last, name in scene.levels:
        radius, large = R * distance, int(last - first > math.pi)
        (x, y), (a, b), (left, top) = (
            (far * math.cos(angle), far * math.sin(angle))
            for far, angle in ((radius, first), (radius, last), (radius - 14, first))
        )
        path = f"M{x:.1f},{y:.1f}A{radius:.1f},{radius:.1f},0,{large},1,{a:.1f},{b:.1f}"
        yield f'<path d="{path}" fill="none" stroke="{ink.soft}" stroke-dasharray="6 3"/>'
        # inside, where the sector has no models at its beginning
        yield _text(left, top + 4, name, fill=ink.soft, anchor="start" if y < 0 else "end")


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


def _legend(scene: Scene, mode: Mode) -> Iterable[str]:
    ink = INK[mode]
    symbols = {
        "star": f'<path d="{star(7)}" fill="{ink.text}"/>',
        "ring": f'<circle r="7" fill="none" stroke="{ink.grid}"/>',
        "rim": f'<circle r="7" fill="none" stroke="{ink.chance}" stroke-dasharray="2 3"/>',
        "dot": f'<circle r="5" fill="{ink.soft}"/>',
        "hollow": f'<circle r="5" fill="none" stroke="{ink.soft}" stroke-width="1.4"/>',
        "level": f'<path d="M-8,0H8" stroke="{ink.soft}" stroke-dasharray="6 3"/>',
        "trail": f'<path d="M-8,0H8" stroke="{ink.soft}" stroke-width="1.6"/>',
    }
    for line, (symbol, text) in enumerate(scene.keys):
        yield f'<g transform="translate({KEYS[0]},{KEYS[1] + 22 * line})">{symbols[symbol]}'
        yield f"{_text(16, 4, text)}</g>"


def _text(
    x: float, y: float, text: str, *, fill: str = "", anchor: str = "start", weight: str = "400"
) -> str:
    color = f' fill="{fill}"' if fill else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {place}{color}>{_plain(text)}</text>"


def _plain(text: str) -> str:
    return escape(visible(text))
