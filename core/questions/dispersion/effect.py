"""What dispersion does to alignment: vision with language on sets of stimuli that are chosen by it.

Source: single-stimulus dispersion, figure 2 and supplement S1. docs/methods.md says how the
intervals are made and how well they cover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from core.errors import MetricError, NotApplicableError
from core.figures.grammar import Axis, Dots, Facet, Level, Plot, Size
from core.metrics.spec import MetricSpec
from core.modalities import LANGUAGE
from core.options import models_option, option, part, seed_option
from core.pairs.prepared import one_core_each
from core.pairs.subsets import SetScores, score_sets
from core.progress import tell
from core.questions.asking import ask
from core.questions.dispersion.question import (
    Ranking,
    StimulusDispersion,
    counted,
    set_size,
    size_option,
)
from core.questions.finding import ALPHA, NAN, Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.intervals import TAILS, half_interval
from core.statistics.nulls import draw_orders
from core.study.comparing import engine_over, layer_scores
from core.study.models import reads
from core.study.parts import Measure
from core.study.selections import count_share, ends, random_sets, without
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
    """Which language models are aligned on sets of stimuli, and against what chance."""

    language: tuple[str, ...] = models_option(
        "language models, each in its best layer (all finished ones)",
        name="language",
        label="Language models",
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
        "set": "set of stimuli: low, high, random, full (all), without an end; low/high is the"
        " ratio",
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
    sets: Literal["ends", "drop"] = option(
        "ends",
        label="Sets",
        help="which stimuli are compared: both ends of the ranking, or all stimuli without either"
        " end",
    )
    size: int | None = size_option()
    share: float = option(
        0.25, least=0, most=0.5, help="share of the stimuli that is left out at either end"
    )

    def complete(self, study: Study) -> SetEffect:
        size = set_size(self.size, study) if self.sets == "ends" else None
        if self.sets == "drop":
            count_share(self.share, study.size)
        ranking = replace(self.ranking, spaces=name_spaces(study, self.ranking.spaces))
        language = tuple(dict.fromkeys(self.trial.language or default_language(study)))
        self.measure.settings  # noqa: B018 - raises for a metric or a parameter that is not there
        if not language:
            raise NotApplicableError(f"dataset {study.dataset.name} has no language models")
        question = replace(
            self, ranking=ranking, trial=replace(self.trial, language=language), size=size
        )
        if not question.tested(study):
            raise NotApplicableError(
                "only language models are here: none is left to align them with"
            )
        return question

    def tested(self, study: Study) -> tuple[Layer, ...]:
        """Return the spaces that are aligned with language: those of the consensus, or, if only
        language models rank the stimuli, those of all vision models.
        """
        language = self.trial.language
        spaces = find_spaces(study, self.ranking.spaces)
        if found := tuple(one for one in spaces if one.model not in language):
            return found
        models = by_size(study)
        seeing = models.loc[reads(models, "image"), "model"]
        return tuple(find_spaces(study, [name for name in seeing if name not in language]))

    def answer(self, study: Study) -> Answer:
        """Score vision with language on the sets that the ranking chooses.

        Raises MetricError for spaces that have no score over all stimuli, and for what would take
        hours.
        """
        trial, spec = self.trial, self.measure.spec
        dispersion = ask(StimulusDispersion(self.scope, self.ranking.joint), study)
        values = dispersion[self.ranking.by].to_numpy()
        if self.sets == "ends":
            chosen = dict(zip(("low", "high"), ends(values, self.size or 0), strict=True))
        else:
            left = without(values, count_share(self.share, len(values)))
            chosen = dict(zip(("without high", "without low"), left, strict=True))
        scorer = find_scorer(study, self.tested(study), trial.language, self.measure)
        self._check_work([len(rows) for rows in chosen.values()], scorer)
        every, size = np.arange(study.size), len(next(iter(chosen.values())))
        random = random_sets(study.size, size, count=trial.repeats, seed=trial.seed)
        full, *drawn = score_all(scorer.score, [every, *random], draws=0, seed=trial.seed)
        scores = score_all(scorer.score, [*chosen.values()], draws=trial.draws, seed=trial.seed)
        sets = {**chosen, FULL: every}
        name = "without random" if self.sets == "drop" else "random"
        table = effect_table(
            scorer.tested,
            scorer.languages,
            dict(zip(sets, [*scores, full], strict=True)),
            {name: drawn} if drawn else {},
            spec=spec,
            ratio=("low", "high") if self.sets == "ends" else None,
        )
        means = {name: float(values[rows].mean()) for name, rows in sets.items()}
        sizes = table["set"].map({name: len(rows) for name, rows in sets.items()})
        table = table.assign(
            size=sizes.fillna(size),
            dispersion=table["set"].map(means),
            p=table["p"].where(table["set"] != FULL),
        )
        if len(scorer.missing):
            table = pd.concat([table, scorer.missing], ignore_index=True)
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
        table["chance"] = self.measure.chance(study.size if self.sets == "drop" else size)
        better = spec.higher_is_more_aligned
        if self.sets == "ends":
            return Answer(table, ratio_findings(table, higher_is_better=better))
        items = study.dataset.items
        findings = drop_findings(table, items, repeats=trial.repeats, higher_is_better=better)
        return Answer(table, findings)

    def _check_work(self, sizes: Sequence[int], scorer: Scorer) -> None:
        """Refuse sets for which comparing all pairs of stimuli would take hours."""
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
            empty="No alignment can be computed on these sets[[: {reason}]].",
            height=300,
        ).over(table.join(ratios.add_prefix("ratio_"), on="vision"))


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
    ready to be scored on sets; the study holds the last ones.
    """
    for name in (*(place.model for place in tested), *language):
        study.entry(name)  # notes that it is read, by a scorer that is held, too
    held, key = study.held_scores.scorers, (tested, language, measure)
    if key in held:
        scorer: Scorer = held[key]
        return scorer
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
    held[key] = Scorer(
        list(map(str, tested)),
        languages,
        best,
        lambda rows: np.take_along_axis(score(rows), columns, axis=1),
        pd.DataFrame(rows, columns=["vision", "language", "set", "reason"]),
    )
    for oldest in list(held)[:-MOST_HELD]:
        held.pop(oldest, None)
    return held[key]


class SetScore(NamedTuple):
    """The scores of every pair of spaces on one set and on random parts of it; the last column is
    the mean over y.
    """

    whole: Float64[np.ndarray, "X Y1"]
    parts: Float64[np.ndarray, "draws X Y1"]


def score_all(
    score: SetScores,
    sets: Sequence[Int64[np.ndarray, " _"]],
    *,
    draws: int,
    seed: int,
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
            tell(done, len(jobs), "sets of stimuli")
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
    """Return low and high, NaN of one draw, which says nothing of their spread."""
    if len(scores) < 2:
        return NAN, NAN
    interval: Sequence[float] = np.quantile(scores, TAILS).tolist()
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
