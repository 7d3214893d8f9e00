"""Do better language models agree more with vision models? The alignment of models, with its null,
its interval and its fit along an axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from core.encoders.encoder import REALITY
from core.errors import MetricError
from core.figures.grammar import Plot
from core.modalities import Item, find_modality, known_first
from core.options import models_option, option, part
from core.questions.alignment.axes import (
    ABOUT,
    COMPETENCE,
    FIRST_KNOWN,
    NOISE,
    Axis,
    Side,
    axis_of,
    axis_values,
    calibrated_points,
    check_axis,
    compared_models,
    find_axis,
    fits,
    recipe_means,
    trend_points,
    usual_axis,
)
from core.questions.alignment.calibration import (
    add_intervals,
    add_noise,
    add_nulls,
    add_shares,
    check_resampling,
    factor_groups,
    find_groups,
)
from core.questions.alignment.figures import layer_map, trend
from core.questions.asking import ask
from core.questions.competence.question import unasked
from core.questions.finding import ALPHA, NAN, Finding, listed
from core.questions.question import Answer, StudyQuestion
from core.statistics.controls import count_movable
from core.statistics.correlations import spearman_interval
from core.study.comparing import align_models, choose_engine
from core.study.layers import ALL
from core.study.models import open_because, reads, trained, without_variants
from core.study.noise import bound_of
from core.study.parts import Calibration, Comparison, LayerPair, Scope
from core.study.spaces import largest_models
from core.study.study import Study, finished_models, known_worlds

READ: tuple[Item, Item] = ("caption", "image")
FITTED = ("fitted", "slope", "intercept", "r2", "rho", "rho_p")


@dataclass(frozen=True)
class Alignment(StudyQuestion):
    """Do better language models align more with vision models?

    With `all` as layers, the alignment of every layer of x's models with every layer of y's.
    """

    command = "align"
    version = 10
    columns: ClassVar[Mapping[str, str]] = {
        "model_x": "model on the axis",
        "model_y": "model that it is compared with",
        "layer_x": "layer of the first, from 0; one beyond the last is all side by side",
        "layer_y": "layer of the second",
        "score": "alignment, by the metric",
        "chance": "alignment of unrelated models",
        "n": "stimuli",
        "k": "neighbors",
        "noise_ceiling": "alignment that a model without noise could reach",
        "ceiling": "alignment of two seeds of one recipe; across modalities the geometric mean",
        "share": "(score − chance) / (ceiling − chance)",
        "null_mean": "mean score of shuffled stimuli",
        "null_sd": "its standard deviation",
        "threshold": "score that 5% of shuffles exceed",
        "p": "p of the permutation test",
        "calibrated": "0 at the threshold, 1 at full alignment",
        "p_adjusted": "p adjusted for the false discovery rate over all pairs",
        "low": "low end of the score's 95% interval over stimuli",
        "high": "high end of that interval",
        "axis": "position of the model on the axis",
        "panel": "what the other model is grouped by",
        "fitted": "recipes that the panel's fit takes",
        "slope": "change in alignment per unit of the axis",
        "intercept": "alignment at 0 of the axis",
        "r2": "share of variance that the line explains",
        "rho": "Spearman's ρ of the axis and alignment in the panel, from −1 to 1",
        "rho_p": "its p, two-sided",
        "reason": "why there is no value",
        "layer_name_x": "name of the layer of the first",
        "layer_name_y": "name of the layer of the second",
        "title_x": "name of the first",
        "group_x": "family or objective of the first",
        "parameters_x": "parameters of the first",
        "modality_x": "modality of the first",
        "recipe_x": "recipe of the first, the same for all seeds",
        "title_y": "name of the second",
        "parameters_y": "parameters of the second",
        "modality_y": "modality of the second",
        "recipe_y": "recipe of the second",
        "line_x": "models of one line count once in tests",
        "counted": "whether the fit takes the pair",
        "compared": "whether means over the models compared with take it",
        "axis_title": "what is on the axis",
    }
    hidden: ClassVar[tuple[str, ...]] = (
        *(*FITTED, *ABOUT, "line_x", "counted", "compared", "axis_title"),
        *("layer_name_x", "layer_name_y"),
    )

    x: tuple[str, ...] = models_option(
        "models (all finished ones of --axis-models)", name="x", label="Models"
    )
    y: tuple[str, ...] = models_option(
        "models to compare them with (all finished ones of the other modality, and reality)",
        name="y",
        label="Compared with",
    )
    axis_models: Side = option(
        "language",
        label="Competence of",
        help="if no models are named, the models whose competence is on the axis",
    )
    axis: str = option(
        FIRST_KNOWN,
        label="Axis",
        help="what alignment is plotted against: competence (of language models 1 − bits per byte,"
        " of vision models tasks solved; else own scores), parameters, step, a score by its task"
        " and origin, 'HellaSwag (published)', or usual: the first that five models have of"
        " competence, the score of most models, and parameters",
    )
    unfinished: bool = option(
        False,
        label="Unfinished models",
        help="if no models are named, checkpoints and untrained models too",
    )
    panels: bool = option(
        False,
        label="By objective",
        help="draw a panel for each objective or family of the models compared with",
    )
    comparison: Comparison = part(Comparison)
    calibration: Calibration = part(Calibration)

    @property
    def label(self) -> str:
        """Return what an axis of the scores says."""
        label = self.comparison.label
        if not self.calibration.null:
            return label
        return f"calibrated {label}".replace(", lower is more aligned", "")

    def complete(self, study: Study) -> Alignment:
        """Name the models that are meant if none are named, and the axis."""
        comparison = self.comparison
        if comparison.layers != ALL:
            comparison.read_layers()
        elif self.calibration.resamples:
            raise MetricError(
                "nulls and intervals belong to one score per pair of models; choose best, last, a"
                " pair or a depth"
            )
        check_resampling(self)
        if self.calibration.within and not self.calibration.within.isdecimal():
            find_groups(study, self.calibration.within, (), seed=0)  # refused before work begins
        choose_engine(study, comparison)
        items = READ if self.axis_models == "language" else READ[::-1]
        every = (finished_models(study, one, unfinished=self.unfinished) for one in items)
        left = {*unasked(study)}
        x, y = (tuple(name for name in names if name not in left) for names in every)
        question = replace(self, x=self.x or x, y=self.y or (*y, *known_worlds(study)))
        if question.axis == FIRST_KNOWN:
            one = COMPETENCE if comparison.layers == ALL else usual_axis(question, study)
            return replace(question, axis=one)  # a map of layers has none
        check_axis(question, study)
        return question

    def answer(self, study: Study) -> Answer:
        """Align every model of x with every other model of y.

        The alignment without an axis is an answer of its own, which all axes share.
        """
        if not self.axis:
            table = self._aligned(study)
            return Answer(table, self._values(table, study))
        table = ask(replace(self, axis="", panels=False), study)
        models = study.models()
        if self.comparison.layers == ALL or table.empty:
            titles = models.set_index("model")["title"]
            named = {f"title_{side}": table[f"model_{side}"].map(titles) for side in "xy"}
            return Answer(table.assign(**named), self._values(table, study))
        axis = axis_of(self, study)
        placed = table.assign(axis=table["model_x"].map(axis_values(self, study)).astype(float))
        points = trend_points(placed, models)
        lines = fits(points, self._axis)
        rows = [
            (fit.n, fit.slope, fit.intercept, fit.r2, fit.spearman, fit.p)
            for fit in (lines[str(panel)] for panel in points["panel"])
        ]
        fitted = pd.DataFrame(rows, columns=list(FITTED), index=points.index)
        points = points.join(fitted).assign(axis_title=axis.title)
        first = [*placed.columns.drop("reason"), "panel", *FITTED, "reason"]
        points = points[[*first, *points.columns.difference(first, sort=False)]]
        said = trend_findings(points, self, axis, models)
        values = self._values(points, study)
        return Answer(
            points, [*said, *values] if placed["axis"].notna().any() else [*values, *said]
        )

    def _aligned(self, study: Study) -> pd.DataFrame:
        table = align_models(study, self.x, self.y, self.comparison)
        others = table["model_x"] != table["model_y"]
        table = table[others].reset_index(drop=True) if others.any() else table
        table = add_noise(add_shares(table, self, study), self, study)
        if self.calibration.null:
            table = add_nulls(table, self, study)
        if self.calibration.bootstrap:
            table = add_intervals(table, self, study)
        table = table.assign(reason=table.pop("reason"))  # the last column
        if self.comparison.layers == ALL:
            layers = study.models().set_index("model")["layers"]
            for side in "xy":
                places = zip(table[f"model_{side}"], table[f"layer_{side}"], strict=True)
                table[f"layer_name_{side}"] = [
                    layers[name][at] if at < len(layers[name]) else "all layers side by side"
                    for name, at in places
                ]
        return table

    @property
    def _axis(self) -> Axis:
        return find_axis(self.axis)

    def plot(self, table: pd.DataFrame) -> Plot:
        bound = bound_of(self.comparison)
        if self.comparison.layers == ALL:
            return layer_map(table, self.comparison.spec, bound)
        title = str(table["axis_title"].iloc[0]) if "axis_title" in table else self.axis
        kinds = set(table["modality_x"]) if "modality_x" in table else set()
        side: Side = "vision" if kinds == {"vision"} else "language"
        axis = replace(self._axis, title=title, side=side)
        points = calibrated_points(table) if self.calibration.null else table
        return trend(points, axis, label=self.label, bound=bound, panels=self.panels)

    def _values(self, table: pd.DataFrame, study: Study) -> list[Finding]:
        """Return how aligned the models are, what permutations say, and how far noise lets them
        come; reality counts as no model.
        """
        said = []
        scored = table[table["model_y"] != REALITY].dropna(subset="score")
        if len(scored):
            high = self.comparison.toward > 0
            titles = study.models().set_index("model")["title"]
            best = scored.loc[(self.comparison.toward * scored["score"]).idxmax()]
            means = scored.groupby("model_y", sort=False)["score"].mean()
            first = means.idxmax() if high else means.idxmin()
            level = scored["chance"].mean()
            chance = f"Chance is {level:.3f}; most" if np.isfinite(level) else "Most"
            said.append(
                Finding(
                    "Mean alignment of these models",
                    scored["score"].mean(),
                    digits=3,
                    n=len(scored),
                    over="pairs",
                    note=f"{chance} aligned are {titles[best['model_x']]} and"
                    f" {titles[best['model_y']]} ({best['score']:.3f}), on average"
                    f" {titles[first]} ({means[first]:.3f}).",
                )
            )
        if "p_adjusted" in scored and scored["p_adjusted"].notna().any():
            tested = scored["p_adjusted"].dropna()
            sure = int((tested < ALPHA).sum())
            beyond = f"{sure} of {len(tested)} pairs are aligned beyond chance"
            note, within = "p < .05, adjusted for all of them.", self.calibration.within
            if within and not within.isdecimal():
                moved = count_movable(factor_groups(study, within))
                note += f" {moved:,} of {study.size:,} stimuli share their category with others"
                note += " and were permuted."
            said.append(Finding(beyond, note=note))
        if NOISE in table and table[NOISE].notna().any():
            bound, known = bound_of(self.comparison), table[NOISE].dropna()
            claim = f"The noise ceiling is {bound}{known.min():.2f} to {known.max():.2f}"
            said.append(Finding(claim))
        return said


def trend_findings(
    points: pd.DataFrame, question: Alignment, axis: Axis, models: pd.DataFrame
) -> list[Finding]:
    """Return whether trained models align the more the more competent they are, or the further
    along another axis. A recipe on the axis counts once, with its mean over the recipes that it is
    compared with. points: of `trend_points`.
    """
    rows = points[points["model_x"].isin(trained(models)["model"]) & points["compared"]]
    scored = rows.dropna(subset="score")
    means = recipe_means(scored.assign(x=scored["axis"]))
    mean = means.dropna(subset="x")
    rho = spearman_interval(
        mean["x"].to_numpy(),
        question.comparison.toward * mean["score"].to_numpy(),
        mean["line_x"].tolist(),
    )
    others = compared_models(models, points["model_y"])
    kinds = [find_modality(kind) for kind in known_first(others["modality"])]
    targets = listed(kind.plural for kind in kinds) if kinds else axis.targets
    claim = f"alignment with {targets} rises with {axis.short}"
    if axis.is_competence:
        claim = f"better {axis.models} align more with {targets}"
    unknown = open_because(models, scored.dropna(subset="axis")["model_x"])
    without = len(means) - len(mean)
    notes = [
        f"Not counted: {without} with unknown {axis.short}." if without else "",
        f"The test is open: {unknown}." if unknown else "",
    ]
    return [
        Finding(
            f"{claim[:1].upper()}{claim[1:]}",
            rho.value,
            NAN if unknown else rho.low,
            NAN if unknown else rho.high,
            NAN if unknown or (rho.p < ALPHA and not rho.sure) else rho.p,
            name="ρ",
            n=rho.n,
            over=axis.models,
            expected="+",
            reason=rho.reason,
            note=" ".join(filter(None, notes)),
        )
    ]


def complete_pair(pair: LayerPair, scope: Scope, study: Study, *, k: int) -> LayerPair:
    """Name the models and layers that are left out: the most aligned ones by mutual k-NN."""
    if not (pair.x and pair.y):
        models = study.models()
        counted = without_variants(models[~models["copy"]])
        first, second = best_models(scope, study, counted, k=k)
        pair = replace(pair, x=pair.x or first, y=pair.y or second)
    for name, layer in ((pair.x, pair.layer_x), (pair.y, pair.layer_y)):
        count = len(study.entry(name).dims)
        if layer is not None and layer >= count:
            raise MetricError(f"expected a layer of {name} from 0 to {count - 1}; got {layer}")
    if pair.layer_x is None or pair.layer_y is None:
        best_x, best_y = best_layers(scope, study, pair.x, pair.y, k=k)
        x = best_x if pair.layer_x is None else pair.layer_x
        y = best_y if pair.layer_y is None else pair.layer_y
        pair = replace(pair, layer_x=x, layer_y=y)
    return pair


def best_models(scope: Scope, study: Study, models: pd.DataFrame, *, k: int) -> tuple[str, str]:
    """Return the best-aligned language and vision model, the two largest if one of both is missing.

    models: of `core.study.models.describe`.
    """
    if len(models) < 2:
        raise MetricError(f"expected two models to compare; got {len(models)}: embed another one")
    language, vision = (
        models.loc[reads(models, item), "model"].tolist() for item in ("caption", "image")
    )
    if not (language and vision):
        there = models["model"].tolist()
        large = [name for name in largest_models(study) if name in there]
        first, second = list(dict.fromkeys([*large, *there]))[:2]
        return first, second
    scores = _aligned(scope, study, language, vision, k=k).dropna(subset="score")
    if scores.empty:
        return language[0], vision[0]
    best = scores.sort_values("score").iloc[-1]
    return best["model_x"], best["model_y"]


def best_layers(scope: Scope, study: Study, x: str, y: str, *, k: int) -> tuple[int, int]:
    """Return the layers of two models that agree most by mutual k-NN."""
    row = _aligned(scope, study, [x], [y], k=k).iloc[0]
    return int(row["layer_x"]), int(row["layer_y"])


def _aligned(
    scope: Scope, study: Study, x: Sequence[str], y: Sequence[str], *, k: int
) -> pd.DataFrame:
    usual = Comparison.of("mutual_knn", {"k": k})
    return ask(Alignment(scope, tuple(x), tuple(y), axis="", comparison=usual), study)
