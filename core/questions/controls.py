"""Does a simpler explanation suffice? Categories, nuisances, a small gallery, ties of ranks.

Every question is about two models: the most competent vision and language model unless others are
named. Of more than LARGEST stimuli as many are drawn, seeded, to choose models and layers, and for
partial alignment.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int

from core.errors import FeatureError, MetricError, NotApplicableError, PlatoscopeError
from core.figures.grammar import Axis, Dots, Fixed, Level, Line, Palette, Plot
from core.metrics.imbalance import imbalance_terms, rank_all
from core.metrics.knn import mutual_share
from core.modalities import Item, find_modality
from core.options import NEIGHBORS, draws_option, neighbors_option, option, part, seed_option
from core.pairs.lists import overlaps
from core.progress import tell_each
from core.questions.alignment.calibration import factor_groups, find_groups
from core.questions.alignment.question import Alignment, best_models, complete_pair
from core.questions.asking import answer, ask
from core.questions.captions import embedded_levels, texts_at
from core.questions.competence.question import TasksSolved
from core.questions.finding import ALPHA, NAN, Finding, listed
from core.questions.headline import rank_finding, ranked, setups_of
from core.questions.question import Answer, StudyQuestion
from core.questions.simple import simple_features
from core.spaces.neighbors import nearest
from core.spaces.preprocess import normalize_rows
from core.statistics.controls import (
    LEVEL,
    Difference,
    Groups,
    Regression,
    Space,
    Values,
    check_groups,
    compare_paired,
    components,
    count_movable,
    gallery_scores,
    group,
    indicators,
    partial_alignment,
    rank_intervals,
    residual_alignment,
    shared_by_categories,
)
from core.statistics.intervals import find_influences, mean_interval
from core.statistics.nulls import adjust, draw_orders
from core.statistics.trends import RankTrend, rank_trend
from core.study.models import UNTRAINED, reads, skill_ranks, usual, without_variants
from core.study.parts import Calibration, Comparison, LayerPair, Scope
from core.study.selections import encode
from core.study.study import Study

LARGEST = 1024  # stimuli whose similarities are all compared
MOST_CATEGORIES = 64  # of a factor that is permuted within
CLUSTERS = (4, 8, 16, 32, 64)
HARDEST = 5  # factors that are drawn
QUERIES = 256
DRAWS = 1999  # of signs
COMPONENTS = 16  # of each simple feature, regressed out of all models

NO_CONTROL = "this dataset has no image or caption to compute features of"
NO_FACTOR = "this dataset has no labels that several stimuli share"
FREE, FACTOR, CLUSTER = "all stimuli", "within categories", "within clusters"
JOINT = "within conjunctions"
SHADES = {FREE: "soft", FACTOR: "text", JOINT: "text", CLUSTER: "ember"}
REGRESSED = "all factors regressed out"
P = TypeVar("P", "ControlCategories", "ControlLadder", "ControlGallery")


def most_competent(scope: Scope, study: Study, *, k: int) -> tuple[str, str]:
    """Return the most competent language and vision model; the best-aligned two if one of both has
    no known competence.
    """
    models = usual(study.models())
    ranks = skill_ranks(models, study.competence(), ask(TasksSolved(scope), study))
    best = [
        ranks.reindex(models.loc[reads(models, item), "model"]).dropna()
        for item in ("caption", "image")
    ]
    if any(each.empty for each in best):
        every = study.models()
        return best_models(scope, study, without_variants(every[~every["copy"]]), k=k)
    language, vision = (str(each.idxmax()) for each in best)
    return language, vision


def complete(question: P, study: Study) -> P:
    """Name the two models, and their best-aligned layers."""
    pair, k, few = question.pair, _fewer(question.k, study), _drawn(study, question.seed)
    scope = replace(question.scope, stimuli=few.stimuli)
    if not (pair.x or pair.y):
        x, y = most_competent(scope, few, k=k)
        pair = replace(pair, x=x, y=y)
    pair = complete_pair(pair, scope, few, k=k)
    if pair.x == pair.y:
        raise MetricError(f"expected two models to compare; got {pair.x} twice")
    return replace(question, pair=pair, k=k)


def _fewer(k: int, study: Study) -> int:
    """Return k, the usual one lowered for tiny datasets."""
    most = study.size - 2
    if k > most and k != NEIGHBORS:
        raise MetricError(f"expected at most {most} neighbors of {study.size} stimuli; got {k}")
    return min(k, most)


def _titles(study: Study, pair: LayerPair) -> str:
    titles = study.models().set_index("model")["title"]
    return f"{titles[pair.x]} and {titles[pair.y]}"


@dataclass(frozen=True)
class ControlCategories(StudyQuestion):
    """Do two models share more than categories?

    The score of their best layers, with nulls that permute all stimuli, only those of one value of
    a factor, of one conjunction of the hardest factors, and of one cluster; and the score of what a
    regression on all factors leaves of these layers. Clusters of the compared spaces hide part of
    what they share and split what labels would join, so they only show a curve.
    """

    command = "controls categories"
    version = 7
    columns: ClassVar[Mapping[str, str]] = {
        "null": "which stimuli the null permutes: all, those within categories, conjunctions or"
        " clusters, or all once the factors are regressed out",
        "name": "the factor or factors, or the number of clusters",
        "categories": "how many",
        "moved": "stimuli that share their category with others, so that a null can permute them",
        "score": "alignment of the two models' best layers, by mutual k-NN",
        "expected": "alignment of spaces that share nothing but these categories, in one layer",
        "null_mean": "mean score of the permutations, layers chosen again",
        "threshold": "score that 5% of the permutations exceed",
        "p": "p of the permutation test",
        "n": "stimuli",
        "reason": "why there is no test",
    }

    pair: LayerPair = part(LayerPair)
    k: int = neighbors_option()
    null: int = draws_option(199, least=19, label="Permutations", help="permutations of each null")
    seed: int = seed_option("seed of the permutations and clusters")

    def complete(self, study: Study) -> ControlCategories:
        return complete(self, study)

    def answer(self, study: Study) -> Answer:
        factors = _factors(study)
        rows = [self._null(study, FREE, "")]
        rows += [self._null(study, FACTOR, name) for name in tell_each(factors, "factors")]
        hardest = sorted(rows[1:], key=lambda row: -row["null_mean"])
        if joint := _conjunction(study, [row["name"] for row in hardest]):
            rows.append(self._null(study, JOINT, joint))
        few = [count for count in CLUSTERS if count <= study.size // 8]
        rows += [self._null(study, CLUSTER, str(count)) for count in tell_each(few, "clusters")]
        if factors:
            rows.append(self._regress(_drawn(study, self.seed), factors))
        table = pd.DataFrame(rows, columns=list(self.columns))
        return Answer(table, self._findings(table, _titles(study, self.pair)))

    def _null(self, study: Study, null: str, within: str) -> dict[str, Any]:
        """Return the score with a null that permutes within these categories."""
        models, groups = (self.pair.x, self.pair.y), np.zeros(study.size, np.int64)
        if within:
            groups = find_groups(study, within, models, seed=self.seed)
        question = Alignment(
            self.scope,
            models[:1],
            models[1:],
            axis="",
            comparison=Comparison(k=self.k),
            calibration=Calibration(self.null, within=within, seed=self.seed),
        )
        found = ask(question, study).iloc[0]
        names = ("score", "null_mean", "threshold", "p", "n", "reason")
        return {
            "null": null,
            "name": within,
            "categories": int(groups.max()) + 1,
            "moved": count_movable(groups),
            "expected": shared_by_categories(groups, k=self.k),
            **{name: found[name] for name in names},
        }

    def _regress(self, study: Study, names: Collection[str]) -> dict[str, Any]:
        """Return what is left of the score once all factors are regressed out."""
        factors = [factor_groups(study, name) for name in names]
        row = {"null": REGRESSED, "name": "", "categories": len(factors), "reason": ""}
        row["moved"] = study.size
        x, y = (normalize_rows(study.spaces(name)[layer]) for name, layer in self.pair.places)
        orders = draw_orders(study.size, count=self.null, seed=self.seed)
        try:
            found = residual_alignment(x, y, factors, orders, k=self.k)
        except MetricError as error:
            return row | {"n": study.size, "reason": str(error)}
        mean, threshold = found.null.mean(), np.quantile(found.null, 0.95)
        numbers = {"score": found.score, "null_mean": mean, "threshold": threshold, "p": found.p}
        return row | numbers | {"n": found.n}

    def _findings(self, table: pd.DataFrame, titles: str) -> list[Finding]:
        def beyond(claim: str, row: Mapping[Hashable, Any], note: str = "") -> Finding:
            return _claim(
                f"{titles} align beyond {claim}",
                row["score"] - row["null_mean"],
                p=row["p"],
                least=1 / (self.null + 1),
                name="score − null",
                n=int(row["n"]),
                reason=row["reason"],
                note=note,
            )

        rows = table.sort_values(["p", "null_mean"], kind="stable").to_dict("records")
        of = {null: [row for row in rows if row["null"] == null] for null in (FREE, FACTOR, JOINT)}
        chance, every = beyond("chance", of[FREE][0]), "the sum of all categorical factors"
        if not of[FACTOR]:
            claim = f"{titles} align beyond {every}"
            return [Finding(claim, expected="+", reason=NO_FACTOR), chance]
        left, worst, rest = table.iloc[-1].to_dict(), of[FACTOR][-1], ""
        if not left["reason"]:
            rest = f"Of {left['n']:,} stimuli, {left['score']:.3f} is left, null"
            rest += f" {left['null_mean']:.3f}."
        note = f"Least beyond {worst['categories']} categories of {worst['name']}"
        note += f", of {len(of[FACTOR])} factors." if len(of[FACTOR]) > 1 else "."
        single = beyond("any one labeled factor", worst, note)
        findings = [beyond(every, left, rest), chance, single]
        for row in of[JOINT]:
            note = f"{row['categories']:,} combinations; {row['moved']:,} stimuli share theirs"
            note += " with others and were permuted."
            names = listed(row["name"].split(","))
            findings.append(beyond(f"combinations of {names}", row, note))
        return findings

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw the score, and from mean to threshold the nulls of the hardest factors and of
        clusters.
        """
        counts = table["categories"].astype(str)
        labels = table["name"].str.replace(",", ", ") + " (" + counts + ")"
        labels = labels.mask(table["null"].isin((FREE, REGRESSED)), table["null"])
        labels = labels.mask(table["null"] == CLUSTER, counts + " clusters")
        factors = table[table["null"] == FACTOR].nlargest(HARDEST, "null_mean").index
        shown = table.assign(label=labels)
        shown = shown[(shown["null"] != FACTOR) | shown.index.isin(factors)]
        left = shown[shown["null"] == REGRESSED]
        least = 1 / (self.null + 1)
        said = [Finding("", p=p, least=least).p_text if p == p else "" for p in shown["p"]]
        # the line is that of the whole layers
        shown = shown.assign(score=table["score"].iloc[0], p_text=said)
        card = ("<b>{label}</b>", "null {null_mean:.3f}, 95% {threshold:.3f}", "{p_text}")
        return Plot(
            "More than categories",
            marks=(
                Dots(
                    *("null_mean", "label"),
                    color=Palette("null", SHADES),
                    left="null_mean",
                    right="threshold",
                    card=card,
                ),
                Dots("score", "label", table=left, symbol="diamond", color=Fixed("ember")),
            ),
            x=Axis("mutual k-NN", zero=True),
            y=Axis("", names=list(shown["label"])),
            levels=(Level("score", "control", "score", along="x", say=True),),
            empty="No null can be drawn[[: {reason}]].",
        ).over(shown)


def _factors(study: Study) -> dict[str, Groups]:
    """Return the categories of each factor whose values are few and mostly shared."""
    kept = {}
    for name in study.store.stimuli(study.dataset.name).drop(columns="stimulus"):
        groups = factor_groups(study, str(name))
        with suppress(MetricError):
            check_groups(groups, str(name))
            if 2 <= groups.max() + 1 <= MOST_CATEGORIES:
                kept[str(name)] = groups
    return kept


def _conjunction(study: Study, names: Sequence[str]) -> str:
    """Return, with commas, as many of these factors as leave half of the stimuli others of their
    conjunction, each added in turn if it can be; "" of fewer than two.
    """
    joint = list[str]()
    for name in names:
        both = ",".join((*joint, name))
        if "," not in name and 2 * count_movable(factor_groups(study, both)) >= study.size:
            joint.append(name)
    return ",".join(joint) if len(joint) > 1 else ""


@dataclass(frozen=True)
class ControlLadder(StudyQuestion):
    """Do simple features align as well, and what remains without them?

    Each control is set against the model of the other modality; partial alignment is what remains
    of the two models' correlation of similarities after a regression on the control's similarities
    and their squares.
    """

    command = "controls ladder"
    version = 6
    columns: ClassVar[Mapping[str, str]] = {
        "control": "simple feature, untrained network, or the model itself",
        "of": "what it is computed from: image, caption or both",
        "against": "model of the other modality",
        "score": "its mutual k-NN with that model's best layer",
        "low": "low end of its 95% interval over stimuli",
        "high": "high end of that interval",
        "chance": "mutual k-NN of unrelated spaces",
        "raw": "correlation of the two models' similarities, in their best layers",
        "partial": "the same once the control's similarities are regressed out",
        "partial_low": "low end of its 95% interval over stimuli",
        "partial_high": "high end of that interval",
        "explained": "share of variance of the second model's similarities that it explains",
        "p": "one-sided p of the partial correlation, residuals permuted",
        "n": "stimuli",
        "reason": "why there is no value",
    }

    pair: LayerPair = part(LayerPair)
    k: int = neighbors_option()
    null: int = draws_option(99, least=19, label="Permutations", help="permutations of residuals")
    seed: int = seed_option("seed of the permutations and of the stimuli drawn")

    def complete(self, study: Study) -> ControlLadder:
        return complete(self, study)

    def answer(self, study: Study) -> Answer:
        study = _drawn(study, self.seed)
        models = study.models().set_index("model")
        first, second = self.pair.x, self.pair.y
        kinds = {
            name: find_modality(models.loc[name, "modality"]).reads for name in (first, second)
        }
        x, y = (normalize_rows(study.spaces(name)[layer]) for name, layer in self.pair.places)
        orders = draw_orders(study.size, count=self.null, seed=self.seed)
        terms = dict[str, tuple[Values, Values]]()

        def rung(name: str, of: Item | None, layers: Sequence[Space]) -> tuple[int, dict[str, Any]]:
            """Set layers against the model that reads something else; return the best one."""
            other = next((one for one, kind in kinds.items() if kind != of), second)
            lists = np.stack([nearest(layer, k=self.k + 1) for layer in layers])
            others = study.neighbors(other, k=self.k + 1)
            scores = overlaps(lists, others, k=self.k)
            at, to = np.unravel_index(np.nanargmax(scores), scores.shape)
            terms[name] = find_influences(lists[at], others[to], k=self.k, share=mutual_share)
            half = LEVEL * terms[name][1].std(ddof=1) / math.sqrt(study.size)
            score = scores[at, to]
            row = {"control": name, "of": of, "against": models.loc[other, "title"]}
            row |= {"score": score, "low": max(score - half, 0.0), "high": score + half}
            return int(at), row

        def left(controls: Sequence[Space]) -> dict[str, Any]:
            try:
                found = partial_alignment(x, y, controls, orders)
            except MetricError as error:
                return {"reason": str(error)}
            both = {"partial_low": found.low, "partial_high": found.high}
            names = "raw", "partial", "explained", "p"
            return {name: getattr(found, name) for name in names} | both

        rows = [rung(models.loc[first, "title"], kinds[first], [x])[1]]
        layers: dict[str, tuple[Item | None, Sequence[Space]]] = {
            name: (of, [space]) for name, (of, space) in simple_features(study).items()
        }
        families = models.loc[[first, second], "family"]
        untrained = models[(models["group"] == UNTRAINED) & models["family"].isin(families)]
        for name, model in untrained.iterrows():
            item = find_modality(model["modality"]).reads
            layers[model["title"]] = item, study.spaces(str(name))
        ready: list[tuple[Space, Item | None]] = []
        for name, (of, every) in tell_each(layers.items(), "controls"):
            row: dict[str, Any] = {"control": name, "of": of}
            try:
                every = [normalize_rows(layer) for layer in every]
                at, scored = rung(name, of, every)
                ready.append((every[at], of))
                row |= left([every[at]]) | scored
            except (FeatureError, MetricError) as error:
                row["reason"] = str(error)
            rows.append(row)
        both: tuple[Item, ...] = ("image", "caption")
        for item in both:
            spaces = [space for space, of in ready if of == item]
            if len(spaces) > 1:
                whole = normalize_rows(np.hstack(spaces))
                rows.append(rung(f"all of {item}s", item, [whole])[1])
        if ready:
            controls = [space for space, _ in ready]
            rows.append({"control": ALL_CONTROLS, "of": "both", **left(controls)})
        common = {"chance": self.k / (study.size - 1), "n": study.size, "against": "", "reason": ""}
        table = pd.DataFrame([common | row for row in rows], columns=list(self.columns))
        titles = _titles(study, self.pair)
        rest = table.iloc[1:].dropna(subset="score").sort_values("score", kind="stable")
        ahead = Finding(f"{titles} align more than each control", expected="+", reason=NO_CONTROL)
        if len(rest):
            lead = rest["control"].iloc[-1]
            (own, spread), (simple, other) = terms[rows[0]["control"]], terms[lead]
            found = compare_paired(own, simple, errors=(spread, other), draws=DRAWS, seed=self.seed)
            claim = f"{titles} align more than the best control, {lead}"
            ahead = _beyond(claim, found, study.size)
        direction = self._direction(x, y, models["title"])
        return Answer(table, [self._partial(table, titles), ahead, direction])

    def _direction(self, x: Space, y: Space, titles: pd.Series) -> Finding:
        """Return which of the two models tells more of the other's neighbors."""
        one, other = rank_all(x), rank_all(y)
        names = titles[self.pair.x], titles[self.pair.y]
        there, back = imbalance_terms(one, other), imbalance_terms(other, one)
        if there[0].mean() > back[0].mean():
            there, back, names = back, there, names[::-1]
        errors = back[1], there[1]
        found = compare_paired(back[0], there[0], errors=errors, draws=DRAWS, seed=self.seed)
        return _beyond(
            f"{names[0]} tells more of {names[1]} than the reverse",
            found,
            len(x),
            name="information imbalance, difference",
            note=f"Imbalance {there[0].mean():.2f} against {back[0].mean():.2f}; 1 if unrelated.",
        )

    def _partial(self, table: pd.DataFrame, titles: str) -> Finding:
        claim = f"{titles} align beyond similarities to simple features and their squares"
        last = table[table["control"] == ALL_CONTROLS]
        if last.empty:
            return Finding(claim, expected="+", reason=NO_CONTROL)
        row = last.iloc[0]
        return _claim(
            claim,
            *(row[name] for name in ("partial", "partial_low", "partial_high", "p")),
            least=1 / (self.null + 1),
            name="partial r",
            digits=2,
            n=int(row["n"]),
            reason=row["reason"],
            note="" if row["reason"] else f"Before the regression r = {row['raw']:.2f}.",
        )

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw the models' alignment above that of each control."""
        shown = table.dropna(subset="score").sort_values("score", ascending=False, kind="stable")
        return Plot(
            "Ladder of controls",
            marks=(
                Dots(
                    *("score", "control"),
                    color=Palette("of", {"image": "ember", "caption": "text"}),
                    left="low",
                    right="high",
                    card=(
                        "<b>{control}</b> and {against}",
                        "mutual k-NN {score:.3f} [{low:.3f}, {high:.3f}]",
                    ),
                ),
            ),
            x=Axis("mutual k-NN", zero=True),
            y=Axis("", names=list(dict.fromkeys(shown["control"]))),
            levels=(Level("chance", along="x"),),
            empty="No control can be computed[[: {reason}]].",
        ).over(shown)


ALL_CONTROLS = "all simple features"


def _claim(claim: str, *values: float, **more: Any) -> Finding:
    """Return a finding over stimuli that a value above 0 supports. values: as of `Finding`."""
    named = dict(zip(("value", "low", "high", "p"), values, strict=False))
    usual: dict[str, Any] = {"digits": 3, "over": "stimuli", "expected": "+"}
    return Finding(claim, **(usual | named | more))


def _beyond(claim: str, found: Difference, n: int, **more: Any) -> Finding:
    values = found.value, found.low, found.high, found.p
    return _claim(claim, *values, n=n, **({"name": "difference"} | more))


def _drawn(study: Study, seed: int) -> Study:
    """Return the study of LARGEST of its stimuli if it has more."""
    if study.size <= LARGEST:
        return study
    places = np.sort(draw_orders(study.size, count=1, seed=seed)[0, :LARGEST])
    rows = places if study.rows is None else study.rows[places]
    return study.under(study.clamping, stimuli=encode(rows, study.dataset.size))


ALL_FACTORS, ALL_FEATURES = "all categorical factors", "simple features"


@dataclass(frozen=True)
class ControlTrend(StudyQuestion):
    """Does the headline's trend survive the controls?

    The trend of alignment with competence across vision and language in what a regression leaves
    of the best layers of each pair: on all categorical factors, or on the first components of
    simple features. A setup counts with its first run; of more than 1,024 stimuli, that many are
    drawn.
    """

    command = "controls trend"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "without": "what is regressed out of all models",
        "columns": "how many numbers per stimulus",
        "mean": "mean mutual k-NN of all pairs of models",
        "change": "change of alignment from the least to the most competent third",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "rho": "rank correlation of alignment with competence within groups",
        "p": "one-sided p of a rise, competence permuted within groups",
        "draws": "permutations",
        "setups": "vision and language setups of known competence",
        "n": "stimuli that the regression does not fit exactly",
        "reason": "why there is no test",
    }

    k: int = neighbors_option()
    permutations: int = draws_option(1999, least=19, help="permutations of competence")
    seed: int = seed_option("seed of permutations, intervals and of the stimuli drawn")

    def answer(self, study: Study) -> Answer:
        study, k = _drawn(study, self.seed), _fewer(self.k, study)
        setups = setups_of(study)
        setups = setups.assign(model=[models[0] for models in setups["models"]])
        language, vision = (setups[setups["reads"] == item] for item in ("caption", "image"))
        if language.empty or vision.empty:
            raise NotApplicableError("A trend across modalities needs vision and language models")
        question = Alignment(
            replace(self.scope, stimuli=study.stimuli),
            tuple(language["model"]),
            tuple(vision["model"]),
            axis="",
            comparison=Comparison(k=k),
        )
        pairs = ask(question, study).dropna(subset="score")
        factors = [factor_groups(study, name) for name in _factors(study)]
        features = [space for _, space in simple_features(study).values()]
        known: dict[str, list[Values]] = {}
        if factors:
            known[ALL_FACTORS] = indicators(factors)
        if features:
            parts = (components(space, most=COMPONENTS) for space in features)
            known[ALL_FEATURES] = [column for part in parts for column in part]
        known["nothing"] = []
        rows = list[dict[str, Any]]()
        for without, columns in tell_each(known.items(), "regressions"):
            row = {"without": without, "columns": len(columns), "n": study.size, "reason": ""}
            scores, n = pairs["score"], study.size
            try:
                if columns:
                    scores, n = self._score(study, pairs, columns, k)
            except MetricError as error:
                rows.append(row | asdict(RankTrend(reason=str(error))))
                continue
            table = pairs.assign(score=scores)
            wide = table.pivot(index="model_y", columns="model_x", values="score")
            wide = wide.reindex(index=vision["model"], columns=language["model"])
            trend = rank_trend(
                wide.to_numpy(np.float64),
                ranked(vision),
                ranked(language),
                draws=self.permutations,
                seed=self.seed,
            )
            rows.append(row | {"n": n, "mean": scores.mean()} | asdict(trend))
        counted = int(vision["rank"].notna().sum() + language["rank"].notna().sum())
        claim, findings = "Better models align more across vision and language", list[Finding]()
        whole = rows[-1]["change"]  # with nothing regressed out
        for one in rows:
            within = ""
            if one["columns"]:
                within = f" once {one['without']} are regressed out"
                if whole > 0 and math.isfinite(one["change"]):
                    within += f", which leaves {one['change'] / whole:.0%} of the rise"
            findings.append(rank_finding(claim + within, one, n=counted, digits=4))
        every = pd.DataFrame(rows).assign(setups=counted)
        return Answer(every.reindex(columns=list(self.columns)), findings)

    def _score(
        self, study: Study, pairs: pd.DataFrame, columns: Sequence[Values], k: int
    ) -> tuple[pd.Series, int]:
        """Return the mutual k-NN of each pair's residuals, and over how many stimuli."""
        regression = Regression.on(columns, k=k)
        near = dict[tuple[str, int], Int[np.ndarray, "1 m k"]]()
        sides = [(f"model_{side}", f"layer_{side}") for side in "xy"]
        rows = pairs.to_dict("records")
        places = {(row[model], row[layer]) for row in rows for model, layer in sides}
        for model, layer in tell_each(sorted(places), "layers"):
            with suppress(FeatureError, MetricError):  # of one model, which then has no score
                rest = regression.leave(normalize_rows(study.spaces(model)[layer]))
                near[model, layer] = regression.neighbors(rest, k=k)[None]
        scores = []
        for row in rows:
            first, second = (near.get((row[model], row[layer])) for model, layer in sides)
            if first is None or second is None:
                scores.append(NAN)
            else:
                scores.append(float(overlaps(first, second, k=k)[0, 0]))
        return pd.Series(scores, pairs.index), int(regression.free.sum())

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw the change from the least to the most competent third without each."""
        return Plot(
            "The headline after regressing out factors and features",
            marks=(
                Dots(
                    *("change", "without"),
                    left="low",
                    right="high",
                    card=(
                        "<b>without {without}</b>",
                        "{change:.4f} [{low:.4f}, {high:.4f}], {p:p}",
                        "mean alignment {mean:.3f}",
                    ),
                ),
            ),
            x=Axis("best − worst third, mutual k-NN", zero=True),
            y=Axis("regressed out", names=list(table["without"])),
            levels=(Level(0.0, along="x"),),
            empty="The trend cannot be tested[[: {reason}]].",
        ).over(table)


@dataclass(frozen=True)
class ControlGallery(StudyQuestion):
    """Does alignment survive among more stimuli, with several captions or images each?

    Queries are QUERIES random stimuli, whose neighbors are sought among ever more of the dataset,
    in the two models' best layers.
    """

    command = "controls gallery"
    version = 7
    columns: ClassVar[Mapping[str, str]] = {
        "setting": "one caption and image each, or the mean of several",
        "size": "stimuli in the gallery",
        "score": "mutual k-NN of the queries",
        "low": "low end of its 95% interval over queries",
        "high": "high end of that interval",
        "chance": "mutual k-NN of unrelated spaces",
        "expected": "mutual k-NN of spaces that share nothing but the categories",
        "categories": "the factor with the most categories",
        "queries": "how many",
        "reason": "why there is no score",
    }

    pair: LayerPair = part(LayerPair)
    k: int = neighbors_option()
    seed: int = seed_option("seed of the queries and galleries")

    def complete(self, study: Study) -> ControlGallery:
        return complete(self, study)

    def answer(self, study: Study) -> Answer:
        names = dict(self.pair.places)
        spaces = {name: normalize_rows(study.spaces(name)[layer]) for name, layer in names.items()}
        x, y = (spaces[name] for name, _ in self.pair.places)
        factors = _factors(study)
        by = max(factors, key=lambda name: factors[name].max(), default="")
        groups = factors[by] if by else np.arange(study.size)
        averaged = list[tuple[str, Space, Space, Groups]]()
        unshared = ""
        reader = next((one for one in names if study.entry(one).level is not None), "")
        if reader:
            other = y if reader == self.pair.x else x
            levels = embedded_levels(study).query("model == @reader").set_index("level")["name"]
            texts = {
                level: normalize_rows(study.spaces(name)[names[reader]])
                for level, name in levels.items()
            }
            if len(texts) > 1:
                mean = normalize_rows(np.mean([*texts.values()], axis=0))
                averaged.append((f"mean of {len(texts)} captions", mean, other, groups))
            alike = {level: _same_texts(texts_at(study, level)) for level in texts}
            count, level = max(((count_movable(alike[one]), one) for one in texts), default=(0, ""))
            if count < study.size / 2:
                unshared = f"{count:,} of {study.size:,} images share a caption"
            else:
                shared = alike[level]
                read, seen = (_means(one, shared) for one in (texts[level], other))
                first = np.unique(shared, return_index=True)[1]  # of the images with one caption
                averaged.append((SHARED, read, seen, groups[first]))
        rows, last = list[dict[str, Any]](), dict[str, Values]()
        for setting, one, two, cells in [(SINGLE, x, y, groups), *averaged]:
            more, last[setting] = self._curve(setting, one, two, cells, by)
            rows += more
        if unshared:
            rows.append({"setting": SHARED, "size": study.size, "reason": unshared})
        table = pd.DataFrame([{"reason": "", **row} for row in rows], columns=list(self.columns))
        findings = self._findings(table, last, _titles(study, self.pair))
        if unshared:
            claim = "Several images per caption cannot be tested"
            findings.append(Finding(claim, reason=unshared))
        return Answer(table, findings)

    def _curve(
        self, setting: str, x: Space, y: Space, groups: Groups, by: str
    ) -> tuple[list[dict[str, Any]], Float64[np.ndarray, " queries"]]:
        """Return a row per gallery, and each query's share of common neighbors in the largest."""
        n = len(x)
        queries = min(QUERIES, n // 4)
        row = {"setting": setting, "queries": queries, "categories": by}
        if queries <= self.k:
            few = f"{n} stimuli are too few for k = {self.k}"
            return [row | {"size": n, "reason": few}], np.empty(0)
        order = draw_orders(n, count=1, seed=self.seed)[0]
        doublings = range(int(math.log2(n / queries)) + 1)
        sizes = sorted({*(queries * 2**power for power in doublings), n})
        scores = gallery_scores(x, y, order=order, queries=queries, sizes=sizes, k=self.k)
        rows = []
        for size, each in zip(sizes, scores, strict=True):
            low, high = mean_interval(each)
            expected = shared_by_categories(groups[order[:size]], k=self.k) if by else NAN
            measured = {"score": each.mean(), "low": low, "high": high, "expected": expected}
            rows.append(row | {"size": size, "chance": self.k / (size - 1)} | measured)
        return rows, scores[-1]

    def _findings(
        self, table: pd.DataFrame, scores: Mapping[str, Values], titles: str
    ) -> list[Finding]:
        known = table[table["setting"] == SINGLE].dropna(subset="score")
        if known.empty:
            reason = str(table["reason"].iloc[0])
            return [Finding(f"{titles} align in a larger gallery", expected="+", reason=reason)]
        first, last = known.iloc[0], known.iloc[-1]
        falls = "falls" if last["score"] < first["score"] else "rises"
        note = (
            f"Mutual k-NN {falls} from {first['score']:.3f} among {first['size']:,} to"
            f" {last['score']:.3f}, chance from {first['chance']:.3f} to {last['chance']:.3f}."
        )
        if last["categories"]:
            above = "less" if last["score"] < last["expected"] else "more"
            note += f" That is {above} than {last['categories']} alone could give"
            note += f" ({last['expected']:.3f})."

        def above_chance(claim: str, row: pd.Series, **more: Any) -> Finding:
            ends = (row[name] - row["chance"] for name in ("score", "low", "high"))
            n = int(row["queries"])
            return _claim(claim, *ends, name="score − chance", n=n, over="queries", **more)

        claim = f"{titles} align beyond chance among {last['size']:,} stimuli"
        few = "the dataset has no larger gallery" if last["size"] <= LARGEST else ""
        findings = [above_chance(claim, last, reason=few, note=note)]
        largest = table[table["setting"] != SINGLE].dropna(subset="score")
        for _, row in largest.drop_duplicates("setting", keep="last").iterrows():
            own, note = scores[row["setting"]], f"{row['score']:.3f} among {row['size']:,}"
            if row["setting"] == SHARED:
                claim = "The means of images with one caption align beyond chance"
                findings.append(above_chance(claim, row, note=f"{note}."))
                continue
            found = compare_paired(own, scores[SINGLE], draws=DRAWS, seed=self.seed)
            claim = f"The {row['setting']} per image aligns more than one"
            note += f", {last['score']:.3f} with one caption."
            findings.append(_beyond(claim, found, len(own), over="queries", note=note))
        return findings

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw the score over the size of the gallery, with chance and categories alone."""
        single = table[table["setting"] == SINGLE]
        ticks = [float(size) for size in single["size"]]
        return Plot(
            "Alignment over the gallery",
            marks=(
                Dots(
                    *("size", "score"),
                    color=Palette("setting"),
                    low="low",
                    high="high",
                    join=True,
                    card=("<b>{setting}</b>", "{score:.3f} among {size:,}"),
                ),
                Line(
                    "size",
                    "expected",
                    table=single,
                    color=Fixed("ember"),
                    dash="dash",
                    name="categories alone",
                ),
                Line(
                    "size", "chance", table=single, color=Fixed("chance"), dash="dot", name="chance"
                ),
            ),
            x=Axis("stimuli in the gallery", log=True, ticks=ticks),
            y=Axis("mutual k-NN", log=True),
            height=260,
            empty="No gallery can be drawn[[: {reason}]].",
        ).over(table)


SINGLE, SHARED = "one caption, one image", "mean of images with one caption"


def _same_texts(texts: Sequence[Sequence[str]]) -> Groups:
    """Number the captions; case, spaces and a final period make no other caption."""
    plain = [" ".join(" ".join(one).casefold().split()).rstrip(".") for one in texts]
    return group(pd.Series(plain))


def _means(space: Space, groups: Groups) -> Float[np.ndarray, "groups _"]:
    """Return the mean over each group's rows."""
    sums = np.zeros((groups.max() + 1, space.shape[1]))
    np.add.at(sums, groups, space)
    return sums / np.bincount(groups)[:, None]


@dataclass(frozen=True)
class ControlRanks(StudyQuestion):
    """Do the ranks of models differ significantly?

    Models of one modality by their mean alignment with those of the other, in best layers. Ranks
    have joint 95% intervals over stimuli; neighboring models are compared pair by pair.
    """

    command = "controls ranks"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "rank": "rank by mean alignment, 1 for the highest",
        "model": "model",
        "title": "its name",
        "score": "mean mutual k-NN with the other modality's models, in best layers",
        "rank_low": "best rank in the joint 95% interval",
        "rank_high": "worst rank in that interval",
        "lead": "how much more aligned it is than the next",
        "low": "low end of the lead's 95% interval over stimuli",
        "high": "high end of that interval",
        "p": "two-sided p of the lead, the two models swapped stimulus by stimulus",
        "needed": "stimuli with which the lead would be found with a power of 80%",
        "apart": "share of all pairs of models whose difference is significant, jointly",
        "n": "stimuli",
    }

    of: Literal["language", "vision"] = option("language", label="Models of", help="whose ranks")
    k: int = neighbors_option()
    draws: int = draws_option(1999, least=2, label="Draws", help="draws of intervals and tests")
    seed: int = seed_option("seed of the draws")

    def answer(self, study: Study) -> Answer:
        models, k = usual(study.models()), _fewer(self.k, study)
        items: dict[str, Item] = {"language": "caption", "vision": "image"}
        sides = {
            name: models.loc[reads(models, item), "model"].tolist() for name, item in items.items()
        }
        names, others = sides.pop(self.of), next(iter(sides.values()))
        if len(names) < 2 or not others:
            raise NotApplicableError(
                f"Ranks need two {self.of} models and one of the other modality; there are"
                f" {len(names)} and {len(others)}"
            )
        aligned = ask(
            Alignment(self.scope, tuple(names), tuple(others), axis="", comparison=Comparison(k=k)),
            study,
        ).dropna(subset="score")
        terms = {name: np.zeros((2, study.size)) for name in names}
        for pair in aligned.to_dict("records"):
            lists = [
                study.neighbors(pair[f"model_{side}"], k=k + 1)[pair[f"layer_{side}"]]
                for side in "xy"
            ]
            terms[pair["model_x"]] += np.stack(find_influences(*lists, k=k, share=mutual_share))
        counts = aligned["model_x"].value_counts()
        known = [name for name in names if counts.get(name, 0)]
        values = np.stack([terms[name] / counts[name] for name in known])
        own, influences = values[:, 0], values[:, 1]
        means = own.mean(axis=1)
        low, high, apart = rank_intervals(means, influences, draws=self.draws, seed=self.seed)

        def compare(a: int, b: int) -> Difference:
            both = influences[a], influences[b]
            return compare_paired(own[a], own[b], errors=both, draws=self.draws, seed=self.seed)

        order = np.argsort(-means, kind="stable").tolist()
        titles = study.models().set_index("model")["title"]
        rows = []
        for rank, at in enumerate(order, start=1):
            row = {"rank": rank, "model": known[at], "title": titles[known[at]], "score": means[at]}
            row |= {"rank_low": low[at], "rank_high": high[at]}
            if rank < len(order):
                lead = compare(at, order[rank])
                row |= {"lead": lead.value, "low": lead.low, "high": lead.high}
                row |= {"p": lead.p, "needed": lead.needed}
            rows.append(row)
        table = pd.DataFrame(rows, columns=list(self.columns))
        share = apart[np.triu_indices(len(known), 1)].mean()
        table = table.assign(apart=share, n=study.size).infer_objects()
        return Answer(table, self._findings(table))

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        first = table.iloc[0]
        tied = table.loc[(table["rank_low"] == 1) & (table["rank"] > 1), "title"].tolist()
        lead = Difference(first["lead"], first["low"], first["high"], first["p"], first["needed"])
        claim = f"{first['title']} is more aligned than every other {self.of} model"
        findings = [
            _beyond(
                claim,
                lead,
                int(first["n"]),
                name="lead",
                reason=f"tied with {listed(tied)}" if tied else "",
                note=f"{first['apart']:.0%} of all pairs differ.",
            )
        ]
        leads = table.dropna(subset="needed")
        close = leads[
            (adjust(leads["p"].to_numpy(float)) > ALPHA)
            & np.isfinite(leads["needed"].astype(float))
        ]
        if len(close):
            findings.append(
                Finding(
                    f"{len(close)} of {len(leads)} neighboring ranks are not apart",
                    float(close["needed"].median()),
                    name="median stimuli needed",
                    digits=0,
                )
            )
        return findings

    def plot(self, table: pd.DataFrame) -> Plot:
        """Draw each model's rank with its interval."""
        return Plot(
            "Ranks and ties",
            marks=(
                Dots(
                    *("rank", "title"),
                    left="rank_low",
                    right="rank_high",
                    card=(
                        "<b>{title}</b>",
                        "mutual k-NN {score:.3f}",
                        "rank {rank}, 95% {rank_low} to {rank_high}",
                        "[[{needed:,.0f} stimuli would separate it from the next]]",
                    ),
                    select=("model",),
                    ids="{model}",
                ),
            ),
            x=Axis("rank by mean alignment with the other modality", whole=True),
            y=Axis("", names=list(table["title"])),
            height=90 + 28 * len(table),  # names may take two lines
            empty="No ranks can be compared.",
        ).over(table)


MARKS = (
    "beyond chance",
    "beyond categories",
    "beyond simple features",
    "in a larger gallery",
    "ranks apart",
)


@dataclass(frozen=True)
class ControlMarks(StudyQuestion):
    """Which objections does the headline's alignment answer?

    Five marks of the most competent vision and language model, of the headline's trend and of the
    language models' ranks. A mark with several tests shows the last one if all are passed, else
    the first that is not.
    """

    command = "controls marks"
    version = 13
    listed = False
    columns: ClassVar[Mapping[str, str]] = {
        "mark": "what the alignment survives",
        "of": "the models",
        "short": "its number",
        "number": "all that the test says",
        "verdict": "supported, contradicted, open or unknown",
        "claim": "what was tested",
    }

    def answer(self, study: Study) -> Answer:
        def of(question: StudyQuestion) -> tuple[pd.DataFrame, Sequence[Finding]]:
            try:
                found = answer(question, study)
            except PlatoscopeError as error:
                return pd.DataFrame(), [Finding(question.title(), expected="+", reason=str(error))]
            return found.table, found.findings

        titles = ""
        with suppress(PlatoscopeError):
            titles = _titles(study, complete(ControlLadder(self.scope), study).pair)
        _, (labels, *more) = of(ControlCategories(self.scope))
        chance, *factors = more or [labels]
        _, (features, *more) = of(ControlLadder(self.scope))
        ahead = more[0] if more else features
        curve, (among, *_) = of(ControlGallery(self.scope))
        ranks, (lead, *_) = of(ControlRanks(self.scope))

        trends, tested = of(ControlTrend(self.scope))
        trend = dict(zip(trends.get("without", ()), tested, strict=False))

        def last_of(without: str, *tests: Finding) -> Finding:
            every = [*tests, *(trend[one] for one in [without] if one in trend)]
            every = [one for one in every if one in tests or one.verdict != "unknown"]
            return next((one for one in every if one.verdict != "supported"), every[-1])

        findings = [
            chance,
            last_of(ALL_FACTORS, *factors[:1], labels, *factors[1:]),
            last_of(ALL_FEATURES, features, ahead),
        ]
        numbers = [findings[0].p_text, "", "", "", ""]
        for at, without in ((1, ALL_FACTORS), (2, ALL_FEATURES)):
            numbers[at], also = findings[at].statistics, trend.get(without)
            if also is not None and also is not findings[at] and also.statistics:
                numbers[at] += f"; the trend over all models without them: {also.statistics}"
        shorts = [*(one.p_text for one in findings), "", ""]
        findings += [among, lead]
        if among.verdict != "unknown":
            last = curve[curve["setting"] == SINGLE].iloc[-1]
            times = last["score"] / last["chance"]
            shorts[3] = f"{times:.1f}×"
            said = f"{times:.1f} times chance"
            numbers[3] = "; ".join(filter(None, (said, among.reason)))
        if lead.verdict != "unknown":
            share = f"{ranks['apart'].iloc[0]:.0%}"
            shorts[4] = share
            numbers[4] = "; ".join(filter(None, (lead.reason, f"{share} of pairs differ")))
        rows = [
            (
                mark,
                "language models" if one is lead else "all models" if one in tested else titles,
                *(texts if one.verdict != "unknown" else ("", "")),
                one.verdict,
                one.claim,
            )
            for mark, *texts, one in zip(MARKS, shorts, numbers, findings, strict=True)
        ]
        return Answer(pd.DataFrame(rows, columns=list(self.columns)), findings)
