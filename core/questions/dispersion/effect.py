"""What dispersion does to alignment: vision with language on sets of stimuli that are chosen by it.

Source: single-stimulus dispersion, figure 2 and supplement S1: CKNNA is up to twice as high on the
low set as on the high one and higher in every model; without the most dispersed quarter it rises
and without the least dispersed it falls in every model.

Alignment is scored as everywhere in a study: spaces clamped, rows of length 1.

A set's interval comes of random three quarters of it, with the same k: a draw with replacement
would hold copies, and a copy is the nearest neighbor of its stimulus in every space. Three quarters
vary around the whole by 1/√3 of what the whole varies around the world, so their deviations are
scaled by √3 (Shao, Wu 1989: the jackknife that leaves out many). The interval says how far the
score would be from itself for other stimuli from the same part of the ranking. In simulations of
CKNNA and mutual kNN it is 1.1 to 1.5 times as wide as it had to be, since what two neighbors do
jointly is counted twice; of a ratio 0.9 to 1.05 times, with a coverage of 92 to 96%. (Of halves it
is 1.5 to 1.9 times with half of k; with all of k that of a ratio is too narrow.) It takes as given
the ranking, the layers, chosen on all stimuli, and the models, and it is that of one model: of four
without any effect one or more has a ratio whose interval leaves out 1 in 15 to 22% of simulations.
The p-value asks something else: how often a random set of this size scores as far from the mean of
random sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError
from core.figures.grammar import Axis, Dots, Facet, Level, Line, Plot, Size
from core.metrics.spec import MetricSpec
from core.modalities import LANGUAGE, VISION
from core.options import option, part, seed_option
from core.pairs.prepared import one_core_each
from core.pairs.subsets import SetScores, score_sets
from core.progress import Progress
from core.questions.asking import ask
from core.questions.dispersion.question import (
    Ranking,
    StimulusDispersion,
    check_summary,
    counted,
    set_size,
    size_option,
)
from core.questions.finding import ALPHA, NAN, Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.correlations import LEAST_MODELS, competence_fit
from core.statistics.intervals import LEVEL, half_interval
from core.statistics.nulls import adjust, draw_orders
from core.study.comparing import engine_over, layer_scores
from core.study.models import reads
from core.study.parts import Measure
from core.study.selections import (
    Chosen,
    check_parts,
    count_share,
    ends,
    parts,
    random_sets,
    without,
)
from core.study.spaces import (
    Layer,
    by_size,
    default_language,
    describe_spaces,
    find_spaces,
    name_spaces,
)
from core.study.study import Study

LEAST_SETS = 40  # random ones for a two-sided p below 0.05
MOST_HELD = 2  # scorers: each holds every neighbor of every stimulus
MOST_PAIRS = 3e11  # of stimuli: half an hour to an hour of two cores, by the width of the spaces
ALL = ""  # the mean over the language models
FULL = "full"  # all stimuli
PART = 0.75  # of a set, rounded down
SCALE = np.sqrt(PART / (1 - PART))  # of the deviations of parts; see above
NO_SCORE = "the metric has no value on this set"
NO_RATIO = "a ratio needs positive scores of both sets and of their parts"

Values = Float64[np.ndarray, " n"]
Draws = Float64[np.ndarray, " draws"]


@dataclass(frozen=True)
class Trial:
    """Whose alignment with language is measured on sets of stimuli, and against what chance."""

    tested: tuple[str, ...] = option(
        (),
        label="Tested models",
        metavar="M:LAYER",
        help="spaces that are aligned with language (those of the consensus)",
    )
    language: tuple[str, ...] = option(
        (),
        label="Language models",
        metavar="M",
        help="language models, each in its best layer (all finished ones)",
    )
    cross_fitted: bool = option(
        False, help="rank the stimuli for each tested space by the other models alone"
    )
    repeats: int = option(50, least=0, most=10_000, label="Random sets", help="random sets")
    draws: int = option(
        100,
        least=0,
        most=10_000,
        label="Resamples",
        help="random three quarters of a set, for its 95%% interval",
    )
    seed: int = seed_option("seed of random sets and draws")


@dataclass(frozen=True)
class SetEffect(StudyQuestion):
    """Are models better aligned with language on stimuli they agree on?"""

    command = "dispersion effect"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "vision": "space that is aligned with language",
        "language": "language model, empty for the mean over all",
        "layer": "its layer, -1 for the mean",
        "set": "set of stimuli: low, high, random, full (all); parts by number, 1 is the least"
        " dispersed; without an end; low/high is the ratio",
        "size": "stimuli in the set",
        "dispersion": "mean dispersion of the set",
        "score": "alignment",
        "low": "low end of its 95% interval",
        "high": "high end of that interval",
        "p": "p against random sets, two-sided",
        "reason": "what is missing, and why",
        "title": "name of the space",
        "group": "objective of its model",
        "language_title": "name of the language model",
        "language_group": "its family",
        "parameters": "its parameters",
        "chance": "alignment of unrelated models on sets of this size",
    }

    ranking: Ranking = part(Ranking)
    trial: Trial = part(Trial)
    measure: Measure = part(Measure, metric="cknna")
    sets: Literal["ends", "parts", "drop"] = option(
        "ends",
        label="Sets",
        help="which stimuli are compared: both ends of the ranking, all parts of it, or all stimuli"
        " without either end",
    )
    size: int | None = size_option()
    parts: int = option(10, least=2, most=1_000, help="parts that the ranking is split into")
    share: float = option(
        0.25, least=0, most=0.5, help="share of the stimuli that is left out at either end"
    )

    def complete(self, study: Study) -> Self:
        size = set_size(self.size, study) if self.sets == "ends" else None
        if self.sets == "parts":
            check_parts(study.size, self.parts)
        elif self.sets == "drop":
            count_share(self.share, study.size)
        spaces = name_spaces(study, self.ranking.spaces)
        ranking = replace(self.ranking, spaces=spaces)
        language = self.trial.language or tuple(default_language(study))
        named = self.trial.tested or spaces
        if not self.trial.tested and {one.model for one in find_spaces(study, named)} & {*language}:
            models = by_size(study)  # the usual spaces are of language if few models see
            named = tuple(models.loc[reads(models, "image"), "model"])
        tested = find_spaces(study, named)
        self.measure.settings  # noqa: B018 - raises for a metric or a parameter that is not there
        if not self.trial.cross_fitted:
            check_summary(ranking.by, spaces)
        for names, what in ((tested, "vision"), (language, "language")):
            if not names:
                raise MetricError(
                    f"expected {what} models; dataset {study.dataset.name} has none: embed one"
                )
        models = [*dict.fromkeys(place.model for place in tested), *language]
        if twice := sorted({name for name in models if models.count(name) > 1}):
            raise MetricError(
                f"expected each model once, tested or as a language model; got {', '.join(twice)}"
                " more than once"
            )
        trial = replace(self.trial, tested=tuple(map(str, tested)), language=language)
        return replace(self, ranking=ranking, trial=trial, size=size)

    def answer(self, study: Study, report: Progress | None) -> Answer:
        """Score vision with language on the sets that the ranking chooses, one ranking for each
        tested space if it is cross-fitted; the random sets are the same for all.

        Raises MetricError for spaces that have no score over all stimuli, and for what would take
        hours.
        """
        tested, trial, spec = find_spaces(study, self.trial.tested), self.trial, self.measure.spec
        rankings = self._rankings(study, tested, report)
        chosen = [self._choose(values) for _, values in rankings]
        scorer = find_scorer(study, tuple(tested), trial.language, self.measure)
        sizes = [len(rows) for sets in chosen for rows in sets.values()]
        self._check_work(sizes, scorer)
        every, size = np.arange(study.size), min(sizes)  # parts may differ by one
        random = random_sets(study.size, size, count=trial.repeats, seed=trial.seed)
        full, *drawn = score_all(
            scorer.score, [every, *random], draws=0, seed=trial.seed, report=report
        )
        tables = []
        for (rows, values), sets in zip(rankings, chosen, strict=True):
            scores = score_all(
                scorer.score, [*sets.values()], draws=trial.draws, seed=trial.seed, report=report
            )
            sets = {**sets, FULL: every}
            table = effect_table(
                scorer.tested[rows],
                scorer.languages,
                {name: one.of(rows) for name, one in zip(sets, [*scores, full], strict=True)},
                {self._random: [one.of(rows) for one in drawn]} if drawn else {},
                spec=spec,
                ratio=("low", "high") if self.sets == "ends" else None,
            )
            means = {name: float(values[part].mean()) for name, part in sets.items()}
            table["size"] = table["set"].map({name: len(part) for name, part in sets.items()})
            table["dispersion"] = table["set"].map(means)
            tables.append(table.assign(p=table["p"].where(table["set"] != FULL)))
        tables.append(scorer.missing)
        table = pd.concat([one for one in tables if len(one)], ignore_index=True)
        table["size"] = table["size"].fillna(size).astype(int)
        layers = [
            scorer.layers.get(pair, -1) for pair in zip(table.vision, table.language, strict=True)
        ]
        table.insert(2, "layer", layers)
        models = study.models()
        spaces = describe_spaces(list(dict.fromkeys(table["vision"])), models).set_index("space")
        about = models.set_index("model")[["title", "group", "parameters"]]
        names = {"title": "language_title", "group": "language_group"}
        table = table.join(spaces[["title", "group"]], on="vision")
        table = table.join(about.rename(columns=names), on="language")
        table = table.fillna(dict.fromkeys(names.values(), ""))
        length = {"ends": self.size or 0, "parts": study.size // self.parts, "drop": study.size}
        table["chance"] = self.measure.chance(length[self.sets])
        better = spec.higher_is_more_aligned
        if self.sets == "ends":
            findings = ratio_findings(table, higher_is_better=better)
        elif self.sets == "parts":
            findings = trend_findings(table, higher_is_better=better)
        else:
            items = study.dataset.items
            findings = drop_findings(table, items, repeats=trial.repeats, higher_is_better=better)
        return Answer(table, findings)

    @property
    def _random(self) -> str:
        return "without random" if self.sets == "drop" else "random"

    def _rankings(
        self, study: Study, tested: Sequence[Layer], report: Progress | None
    ) -> list[tuple[slice, Values]]:
        """Return which tested spaces each ranking is for, with its value per stimulus."""

        def values(ranking: Ranking) -> Values:
            check_summary(ranking.by, ranking.spaces)
            table = ask(StimulusDispersion(self.scope, ranking.joint), study, report)
            return table[ranking.by].to_numpy()

        if not self.trial.cross_fitted:
            return [(slice(None), values(self.ranking))]
        found = []
        for at, place in enumerate(tested):
            others = [s for s in self.ranking.spaces if s.rpartition(":")[0] != place.model]
            ranking = replace(self.ranking, spaces=tuple(others))
            found.append((slice(at, at + 1), values(ranking)))
        return found

    def _choose(self, values: Values) -> dict[str, Chosen]:
        """Return the sets of a ranking by name; raises StimuliError for sets that cannot be."""
        if self.sets == "parts":
            return {str(i): rows for i, rows in enumerate(parts(values, self.parts), 1)}
        if self.sets == "ends":
            return dict(zip(("low", "high"), ends(values, self.size or 0), strict=True))
        left = without(values, count_share(self.share, len(values)))
        return dict(zip(("without high", "without low"), left, strict=True))

    def _check_work(self, sizes: Sequence[int], scorer: Scorer) -> None:
        """Refuse sets in which comparing all pairs of stimuli, again for each random set and part,
        would take hours.
        """
        trial, draws = self.trial, 1 + self.trial.draws * PART**2
        spaces = len(scorer.tested) + len(scorer.languages)
        pairs = spaces * (draws * sum(size**2 for size in sizes) + trial.repeats * min(sizes) ** 2)
        if pairs > MOST_PAIRS:
            raise MetricError(
                f"scoring sets of {max(sizes):,} stimuli, {trial.draws} parts of each and"
                f" {trial.repeats} random ones compares {pairs:.1g} pairs of stimuli; at most"
                f" {MOST_PAIRS:.0g} expected: ask for fewer draws and repeats, or study fewer"
                " stimuli"
            )

    def plot(self, table: pd.DataFrame) -> Plot:
        k = self.measure.settings.get("k")
        label = f"alignment ({self.measure.spec.short}{f', k = {k}' if k else ''})"
        empty = "No alignment can be computed on these sets[[: {reason}]]."
        if self.sets == "parts":
            return self._plot_parts(table, label, empty)
        is_ends = self.sets == "ends"
        names = (
            {"low": "low", "random": "random", "high": "high"}
            if is_ends
            else {
                "full": "none",
                "without low": "lowest",
                "without random": "random",
                "without high": "highest",
            }
        )
        ratios = table[(table["set"] == "low/high") & (table["language"] == "")]
        ratios = ratios.set_index("vision")[["score", "low", "high", "reason"]]
        card = (
            "{set}, n = {size:,}",
            "alignment {score:.3f}[[ [{low:.3f}, {high:.3f}]]]",
            "[[{p:p} against random sets]]",
        )
        single = Dots(
            "set",
            "score",
            rows="language != '' and set != 'full'",
            color="language_group",
            modality=LANGUAGE,
            size=Size("parameters", times=0.7),
            join="language",
            card=("<b>{language_title}</b> × {title}", *card),
            ids="{language} × {vision}",
        )
        mean = Dots(
            "set",
            "score",
            rows="language == '' and set != 'full'",
            symbol="diamond",
            size=10,
            low="low",
            high="high",
            join=True,
            name="mean, 95% interval",
            card=("<b>mean over the language models</b> × {title}", *card),
            ids="mean × {vision}",
        )
        whole = [  # what all stimuli reach cannot be compared with smaller sets: no line joins it
            replace(one, rows=one.rows.replace("!= 'full'", "== 'full'"), join="")
            for one in (single, mean)
        ]
        note = (
            "low / high <b>{ratio_score:.2f}</b> [{ratio_low:.2f}, {ratio_high:.2f}]"
            " || no ratio: {ratio_reason:wrap}"
        )
        return Plot(
            "Alignment by dispersion" if is_ends else "Alignment without either end of dispersion",
            marks=(single, mean) if is_ends else (single, mean, *whole),
            x=Axis("dispersion" if is_ends else "left out by dispersion", names=names),
            y=Axis(label, zero=True),
            facet=Facet("vision", head="<b>{title}</b>", note=note if is_ends else ""),
            levels=(Level("chance"),),
            empty=empty,
            height=300,
        ).over(table.join(ratios.add_prefix("ratio_"), on="vision"))

    def _plot_parts(self, table: pd.DataFrame, label: str, empty: str) -> Plot:
        mean = table[(table["language"] == "") & table["set"].str.isdigit()]
        aside = pd.Series(range(mean["vision"].nunique()), index=mean["vision"].unique())
        aside = 0.06 * (aside - aside.mean())  # intervals stay apart
        rows = mean.assign(part=mean["set"].astype(int) + mean["vision"].map(aside))
        card = (
            "<b>{title}</b>, mean over the language models",
            f"part {{set}} of {self.parts}, n = {{size:,}}",
            "alignment {score:.3f}[[ [{low:.3f}, {high:.3f}]]]",
            "[[{p:p} against random sets]]",
        )
        ticks = {float(place): str(place) for place in range(1, self.parts + 1)}
        return Plot(
            "Alignment by part of the ranking by dispersion",
            marks=(
                Line("part", "score", color="group", by="vision"),
                Dots(
                    "part",
                    "score",
                    color="group",
                    modality=VISION,
                    low="low",
                    high="high",
                    card=card,
                    ids="{vision}",
                ),
            ),
            x=Axis("part, 1 = least dispersed", ticks=ticks),
            y=Axis(label, zero=True),
            levels=(Level("chance"),),
            empty=empty,
            height=280,
        ).over(rows)


def ratio_findings(table: pd.DataFrame, *, higher_is_better: bool = True) -> list[Finding]:
    """Return, for each space, whether it is better aligned on the low set, by the interval of the
    ratio of scores.

    Of several spaces the intervals are widened on the scale of logarithms, so that with no effect
    at all one or more is supported in about 5% of cases (Bonferroni; measured: 6% of 200
    simulations of four).
    """
    means = table[table["language"] == ""]
    ratios = means[means["set"] == "low/high"]
    tested = int(ratios["low"].notna().sum())
    single, wide = (NormalDist().inv_cdf(1 - ALPHA / 2 / max(count, 1)) for count in (1, tested))
    findings = []
    for row in ratios.to_dict("records"):
        ratio = float(row["score"])
        low, high = (ratio * (row[end] / ratio) ** (wide / single) - 1 for end in ("low", "high"))
        findings.append(
            Finding(
                f"{row['title']} is better aligned with language where models agree",
                ratio - 1,
                low,
                high,
                name="low / high set − 1",
                unit="%",
                expected="+" if higher_is_better else "-",
                reason=row["reason"] or ("there is no interval" if np.isnan(low) else ""),
            )
        )
    return counted(
        findings,
        "are better aligned with language where models agree",
        name="median low / high − 1",
        unit="%",
        caveat="Intervals are Bonferroni-adjusted; those drawn are not." if tested > 1 else "",
        published="Published: up to +100% with CKNNA, above 0 in every model (figure 2).",
    )


def drop_findings(
    table: pd.DataFrame,
    items: str = "stimuli",
    *,
    repeats: int,
    higher_is_better: bool = True,
) -> list[Finding]:
    """Return, for each space, whether it is better aligned without the most dispersed stimuli and
    worse without the least dispersed ones, each compared with as many left out at random, since a
    metric of neighbors moves with their number. p: of the random sets, two-sided.
    """
    mean, findings = table[table["language"] == ""], []
    few = f"{repeats} random sets are too few to judge chance; {LEAST_SETS} are needed"
    for end, which, way in (("high", "most", "better"), ("low", "least", "worse")):
        one_end = []
        for _, rows in mean.groupby("vision", sort=False):
            sets = rows.set_index("set")
            scores = [float(sets["score"].get(f"without {name}", NAN)) for name in (end, "random")]
            one_end.append(
                Finding(
                    f"{rows['title'].iloc[0]} is {way} aligned without the {which} dispersed"
                    f" {items}",
                    scores[0] - scores[1],
                    p=float(sets["p"].get(f"without {end}", NAN)),
                    name="change",
                    digits=3,
                    n=repeats,
                    over="random sets",
                    expected="+" if (way == "better") == higher_is_better else "-",
                    reason=few if repeats < LEAST_SETS else "",
                )
            )
        says = f"are {way} aligned without the {which} dispersed {items}"
        published = "Published: in every model (supplement S1)."
        head = counted(one_end, says, published=published, name="median change", digits=3)
        findings.append(head)
    heads = [one[0] for one in findings if one]
    return [*heads, *(finding for one in findings for finding in one[1:])]


def trend_findings(table: pd.DataFrame, *, higher_is_better: bool = True) -> list[Finding]:
    """Return, for each space, whether alignment falls along the parts of the ranking, by Spearman's
    correlation of the mean over language models; p adjusted over spaces.

    The parts hold other stimuli each, so that their scores are independent.
    """
    mean = table[(table["language"] == "") & table["set"].str.isdigit()].dropna(subset="score")
    fits = {
        str(title): competence_fit(*run[["set", "score"]].to_numpy(np.float64).T)
        for title, run in mean.groupby("title", sort=False)
    }
    known = [title for title, fit in fits.items() if not fit.reason]
    p = dict(zip(known, adjust(np.array([fits[title].p for title in known])), strict=True))
    findings = [
        Finding(
            f"{title} is less aligned with language where models disagree",
            fit.spearman if title in p else NAN,
            p=float(p.get(title, NAN)),
            name="ρ",
            n=int((mean["title"] == title).sum()),
            over="parts",
            expected="-" if higher_is_better else "+",
            reason="" if title in p else f"needs {LEAST_MODELS} parts with different scores",
        )
        for title, fit in fits.items()
    ]
    return counted(findings, "are less aligned the more models disagree", name="median ρ")


class Scorer(NamedTuple):
    """What scores sets of stimuli: every tested space with every language model in its best layer
    for that space.

    layers: by tested space and language model. missing: a row for each tested space and each
    language model that has no score, with the reason.
    """

    tested: list[str]
    languages: list[str]
    layers: dict[tuple[str, str], int]
    score: SetScores
    missing: pd.DataFrame


def find_scorer(
    study: Study, tested: tuple[Layer, ...], language: tuple[str, ...], measure: Measure
) -> Scorer:
    """Find each language model's best layer for each tested space over all stimuli, and make both
    ready to be scored on sets; the last ones are held by the study.
    """
    for name in (*(place.model for place in tested), *language):
        study.entry(name)  # notes that it is read, by a scorer that is held, too
    held, key = study.held_scores.scorers, (tested, language, measure)
    if key not in held:
        held[key] = _make_scorer(study, tested, language, measure)
        for oldest in list(held)[:-MOST_HELD]:
            held.pop(oldest, None)
    scorer: Scorer = held[key]
    return scorer


def _make_scorer(
    study: Study, tested: tuple[Layer, ...], language: tuple[str, ...], measure: Measure
) -> Scorer:
    compared = layer_scores(study, [place.model for place in tested], language, measure)
    pick = np.nanargmax if measure.spec.higher_is_more_aligned else np.nanargmin
    best: dict[tuple[str, str], int] = {}
    refused = []
    for name in language:
        scores = [compared[place.model, name][place.layer] for place in tested]
        if any(np.isnan(one).all() for one in scores):
            refused.append(name)
        else:
            best |= {
                (str(at), name): int(pick(one)) for at, one in zip(tested, scores, strict=True)
            }
    languages = [name for name in language if name not in refused]
    if not languages:
        raise MetricError(
            f"no language model has a score with each of {', '.join(map(str, tested))}; leave one"
            " of them out"
        )
    # a layer that several pairs share is read once
    needed = sorted({(name, layer) for (_, name), layer in best.items()})
    columns = np.array(
        [[needed.index((name, best[str(at), name])) for name in languages] for at in tested]
    )
    read = {
        name: study.spaces(name)
        for name in dict.fromkeys([*(place.model for place in tested), *languages])
    }
    x, y = ([read[name][layer] for name, layer in places] for places in (tested, needed))
    engine = engine_over(study.size, measure, layers=len(x) + len(y), device=study.device)
    score = score_sets(engine, x, y, k=measure.settings.get("k", 0))
    reason = "no layer of it has a score with each of the tested spaces"
    rows = [(str(at), name, FULL, reason) for name in refused for at in tested]
    return Scorer(
        list(map(str, tested)),
        languages,
        best,
        lambda rows: np.take_along_axis(score(rows), columns, axis=1),
        pd.DataFrame(rows, columns=["vision", "language", "set", "reason"]),
    )


class SetScore(NamedTuple):
    """The scores of every pair of spaces on one set and on random parts of it; the last column is
    the mean over y.
    """

    whole: Float64[np.ndarray, "X Y1"]
    parts: Float64[np.ndarray, "draws X Y1"]

    def of(self, rows: slice) -> SetScore:
        """Return the scores of some of x's spaces."""
        return SetScore(self.whole[rows], self.parts[:, rows])


def score_all(
    score: SetScores,
    sets: Sequence[Int64[np.ndarray, " _"]],
    *,
    draws: int,
    seed: int,
    report: Progress | None = None,
) -> list[SetScore]:
    """Score sets, each with `draws` random parts of three quarters of it."""
    jobs = [
        job
        for rows in sets
        for job in (
            rows,
            *(
                rows[order < int(PART * len(rows))]
                for order in draw_orders(len(rows), count=draws, seed=seed)
            ),
        )
    ]
    scored = []
    with one_core_each() as pool:
        for done, scores in enumerate(pool.map(score, jobs), start=1):
            scored.append(np.concatenate([scores, scores.mean(axis=1, keepdims=True)], axis=1))
            if report:
                report(done, len(jobs), "sets of stimuli")
    each = np.split(np.array(scored), len(sets))
    return [SetScore(scores[0], scores[1:]) for scores in each]


def effect_table(
    x: Sequence[str],
    y: Sequence[str],
    sets: Mapping[str, SetScore],
    random: Mapping[str, Sequence[SetScore]],
    *,
    spec: MetricSpec,
    ratio: tuple[str, str] | None = None,
) -> pd.DataFrame:
    """Return a row for each pair of spaces and each set, the mean over y as a pair of its own (y is
    then ALL).

    Columns vision, language, set, score, low and high (95%), p, reason: why something is NaN.
    sets: chosen sets by name; p is two-sided against the random sets, NaN if there are none.
    random: at most one name; its score is the mean over the draws, its interval their 2.5 to 97.5%
    quantiles. ratio: adds a set `a/b` whose score is that of a over that of b, with the interval of
    its logarithm from parts of both.
    """
    rows = []
    for a, first in enumerate(x):
        for b, second in enumerate((*y, ALL)):
            drawn = {
                name: np.array([each.whole[a, b] for each in draws])
                for name, draws in random.items()
            }
            null = next(iter(drawn.values()), np.array([]))
            chosen = {name: (one.whole[a, b], one.parts[:, a, b]) for name, one in sets.items()}
            lines = []
            for name, (score, draws) in chosen.items():
                low, high = NAN, NAN
                if len(draws) > 1:  # scaled, three quarters vary as halves do
                    low, high = half_interval(score, SCALE * draws, spec=spec).tolist()
                lines.append((name, score, low, high, _tail(score, null)))
            lines += [(name, each.mean(), *_quantiles(each), NAN) for name, each in drawn.items()]
            if ratio:
                lines.append(("/".join(ratio), *_ratio(*(chosen[name] for name in ratio)), NAN))
            rows += [(first, second, *line) for line in lines]
    table = pd.DataFrame(rows, columns=["vision", "language", "set", "score", "low", "high", "p"])
    missing = np.where(table["set"].str.contains("/"), NO_RATIO, NO_SCORE)
    return table.assign(reason=np.where(table["score"].isna(), missing, ""))


def _quantiles(scores: Draws) -> Sequence[float]:
    """Return low and high, NaN of one draw, which does not tell how draws differ."""
    if len(scores) < 2:
        return NAN, NAN
    interval: Sequence[float] = np.quantile(scores, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return interval


def _tail(score: float, null: Draws) -> float:
    """Return the two-sided p-value of a score among draws, min(1, 2 · (1 + #{as far on its side}) /
    (draws + 1)).
    """
    if not null.size or np.isnan(score) or np.isnan(null).any():
        return NAN
    above, below = np.count_nonzero(null >= score), np.count_nonzero(null <= score)
    return min(1.0, 2 * (1 + min(above, below)) / (len(null) + 1))


def _ratio(over: tuple[float, Draws], under: tuple[float, Draws]) -> tuple[float, float, float]:
    """Return a ratio and its interval: the logarithm of parts' ratios varies around its mean as
    that of the whole does.
    """
    # NaN is not above 0 either
    if not (np.array([over[0], under[0], *over[1], *under[1]]) > 0).all():
        return NAN, NAN, NAN
    ratio, draws = over[0] / under[0], np.log(over[1] / under[1])
    low, high = NAN, NAN
    if len(draws):
        low, high = ratio * np.exp(_quantiles(SCALE * (draws - draws.mean())))
    return ratio, float(low), float(high)
