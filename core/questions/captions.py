"""Do longer captions align better? Language models at each caption level against vision models.

Source: Huh et al. 2024, figure 9: alignment with vision models rises with the words of a caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.stats import page_trend_test

from core.encoders.encoder import REALITY
from core.errors import InputError, MetricError, NotApplicableError, UnknownNameError
from core.figures.grammar import Axis, Dots, Facet, Level, Line, Palette, Plot, Size
from core.metrics.knn import mutual_terms
from core.modalities import VISION, find_modality
from core.options import models_option, option, part
from core.progress import tell_each
from core.questions.asking import ask
from core.questions.finding import ALPHA, Finding, most_p
from core.questions.question import Answer, StudyQuestion
from core.statistics.intervals import student_interval
from core.statistics.nulls import adjust
from core.stimuli.captions import Texts
from core.stimuli.statistics import split_words
from core.store.schema import embedding_file
from core.study.comparing import align_models, choose_engine
from core.study.models import clusters, is_reality, reads, usual
from core.study.parts import Comparison
from core.study.spaces import default_language
from core.study.study import Study

EDGES = np.linspace(0, 1, 11)  # bins of the share of facts mentioned
FEWEST = 16  # images of a bin
LEAST_FAMILIES, LEAST_LEVELS = 2, 3  # of a trend test
TREND = ("model_y", "models", "families", "levels", "slope", "low", "high", "rho", "p", "reason")
NO_FACTS = "what a caption mentions is known only for a dataset whose factors are"


@dataclass(frozen=True)
class _ModelsByLevel(StudyQuestion):
    """A question about language models at every caption level that they are embedded at."""

    x: tuple[str, ...] = models_option(
        "language models (all finished ones of two or more caption levels)",
        name="x",
        label="Language models",
    )
    y: tuple[str, ...] = models_option(
        "models to compare them with (all finished vision models, and reality)",
        name="y",
        label="Compared with",
    )
    comparison: Comparison = part(Comparison)

    @classmethod
    def left_out(cls, study: Study) -> Sequence[str]:
        return outdated_sentences(study)

    def complete(self, study: Study) -> _ModelsByLevel:
        self.comparison.read_layers()
        choose_engine(study, self.comparison)
        return replace(self, x=_readers(study, self.x), y=_targets(study, self.y))


@dataclass(frozen=True)
class CaptionScores(_ModelsByLevel):
    """How does each language model align at each caption level?"""

    command = "captions scores"
    version = 2
    listed = False

    def answer(self, study: Study) -> Answer:
        read = embedded_levels(study).query("model in @self.x")
        levels = list(read.groupby("level")["name"])
        tables = []
        for level, names in tell_each(levels, "caption levels"):
            table = align_models(study, list(names), self.y, self.comparison)
            tables.append(table.rename(columns={"model_x": "name"}).assign(level=level))
        about = ask(CaptionLevels(self.scope), study)[["level", "words", "bytes", "facts"]]
        joined = read[["model", "name"]].merge(pd.concat(tables, ignore_index=True), on="name")
        joined = joined.merge(about, on="level")
        return Answer(joined.sort_values("words", kind="stable", ignore_index=True))


@dataclass(frozen=True)
class CaptionAlignment(_ModelsByLevel):
    """Do longer captions align better?

    Over facts: of captions of one length, do those that mention more align better? Alignment is
    then that of single stimuli, by mutual k-NN in the best layers.
    """

    command = "captions alignment"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "model_y": "what the language models are compared with: a model, or a group of models",
        "level": "caption level",
        "words": "words per caption, mean",
        "mean": "alignment, mean over language models",
        "deviation": "its standard deviation over language models",
        "models": "language models",
        "chance": "alignment of unrelated models",
        "families": "families that the trend rests on",
        "slope": "change in alignment per doubling of the words",
        "low": "low end of its 95% interval (Student's t over families)",
        "high": "high end of that interval",
        "rho": "mean rank correlation of alignment with the words, from −1 to 1",
        "p": "p of Page's test, two-sided",
        "p_adjusted": "p adjusted for the false discovery rate over the targets",
        "reason": "why there is no trend",
        "paired": "language models that have every level of the trend",
        "title": "name of the target",
        "group": "objective of the target, or what it is a group of",
        "parameters": "parameters of the target",
        "facts": "share of the factors that the captions of a bin mention",
        "score": "mutual k-NN of single stimuli, mean over the bin",
        "stimuli": "stimuli of the bin",
    }

    by: Literal["objective", "model", "modality"] = option(
        "objective",
        label="Lines",
        help="what each line is: an objective, a model, or all vision models (modality, figure 9)",
    )
    over: Literal["words", "facts"] = option(
        "words", label="Over", help="the number of words, or the share of the factors mentioned"
    )

    @property
    def scores(self) -> CaptionScores:
        """Return the question that asks for each model's own scores."""
        return CaptionScores(self.scope, self.x, self.y, self.comparison)

    def complete(self, study: Study) -> CaptionAlignment:
        if self.over == "facts":
            if study.dataset.world is None:
                raise NotApplicableError(f"{NO_FACTS}; ask for alignment by words instead")
            if self.comparison.metric != "mutual_knn":
                raise InputError("over facts, single images are scored by mutual k-NN")
        complete = super().complete(study)
        assert isinstance(complete, CaptionAlignment)
        return complete

    def is_kept(self) -> bool:
        return self.over == "facts"

    def answer(self, study: Study) -> Answer:
        if self.over == "facts":
            return self._over_facts(study)
        models = study.models()
        groups, names = self._groups(models)
        shown = models.assign(at=models["model"].map(groups))
        about = shown.groupby("at")[["group", "parameters"]].first()
        if self.by != "model":
            about = about.assign(group=about.index, parameters=np.nan)
        rows = by_group(ask(self.scores, study), groups)
        trends = level_trends(rows, clusters(models)).drop(columns="levels")
        trends = trends.rename(columns={"models": "paired"})
        table = by_level(rows).merge(trends, on="model_y", how="left")
        table = table.assign(title=table["model_y"].map(names)).join(about, on="model_y")
        last = table["group"].str.lower() == REALITY
        table = pd.concat([table[~last], table[last]], ignore_index=True)
        return Answer(table, self._findings(table))

    def _groups(self, models: pd.DataFrame) -> tuple[dict[str, str], dict[str, str]]:
        """Return the group of each model (its objective, itself, or all models of its modality),
        and what groups are called.
        """
        if self.by == "modality":
            everyone = models["modality"].map(lambda name: f"all {find_modality(name).plural}")
            panels = everyone.mask(is_reality(models), models["title"])
        else:
            panels = models["group" if self.by == "objective" else "title"]
        groups = models["model"] if self.by == "model" else panels
        return dict(zip(models["model"], groups, strict=True)), dict(
            zip(groups, panels, strict=True)
        )

    def _over_facts(self, study: Study) -> Answer:
        groups, names = self._groups(study.models())
        bins = self.bins(study)
        named = bins.assign(model_y=bins["model_y"].map(groups)).dropna(subset="model_y")
        table = named.groupby(["model_y", "level", "facts"], sort=False, as_index=False)[
            ["score", "stimuli", "chance"]
        ].mean()  # over the targets of a group, whose bins are the same stimuli
        table = table.assign(title=table["model_y"].map(names))
        last = table["model_y"].str.lower() == REALITY
        table = pd.concat([table[~last], table[last]], ignore_index=True)
        return Answer(table, facts_findings(table))

    def bins(self, study: Study) -> pd.DataFrame:
        """Return the bins of `by_share` for each target and level; an image's score is its mutual
        k-NN, mean over language models, in the layers that align best at that level.
        """
        rows = ask(self.scores, study).dropna(subset="score")
        facts = {level: facts_at(study, level) for level in rows["level"].unique()}
        k = self.comparison.settings["k"]

        def shared(pair: Mapping[Any, Any]) -> Float64[np.ndarray, " n"]:
            x, y = (
                study.neighbors(pair[name], k=k)[pair[layer], :, :k]
                for name, layer in (("name", "layer_x"), ("model_y", "layer_y"))
            )
            return mutual_terms(x, y)

        tables = []
        for (target, level), pairs in rows.groupby(["model_y", "level"], sort=False):
            scores = np.mean([shared(pair) for pair in pairs.to_dict("records")], axis=0)
            bins = by_share(facts[level], scores, edges=EDGES, fewest=FEWEST)
            about = {"model_y": target, "level": level, "chance": pairs["chance"].iloc[0]}
            tables.append(bins.assign(**about))
        columns = ["model_y", "level", "facts", "score", "stimuli", "chance"]
        return pd.concat(tables, ignore_index=True)[columns]

    def _findings(self, table: pd.DataFrame) -> list[Finding]:
        sign = "+" if self.comparison.spec.higher_is_more_aligned else "-"
        findings = []
        for row in table.drop_duplicates("model_y").to_dict("records"):
            # a trend needs the interval of the slope and the order of the levels to agree
            agree = row["low"] * row["rho"] > 0 and row["high"] * row["rho"] > 0
            sure = agree or not row["p_adjusted"] < ALPHA
            findings.append(
                Finding(
                    f"Longer captions align better with {row['title']}",
                    row["slope"],
                    row["low"] if sure else np.nan,
                    row["high"] if sure else np.nan,
                    row["p_adjusted"] if sure else np.nan,
                    name="change per doubling",
                    digits=3,
                    n=int(row["families"]),
                    over="families",
                    expected=sign,
                    reason=row["reason"],
                    note="" if sure else "The slope's interval and the order of levels disagree.",
                )
            )
        return findings

    def verdict(self, table: pd.DataFrame, findings: Sequence[Finding]) -> Finding:
        """Return for how many of the targets longer captions align better; reality is none."""
        rows = table.drop_duplicates("model_y").reset_index(drop=True)
        kept = rows.index[rows["group"].str.lower() != REALITY]
        found = [findings[place] for place in kept]
        if len(found) < 2:
            return findings[0]
        better = [one for one in found if one.verdict == "supported"]
        what = "vision models" if self.by == "model" else "objectives of vision models"
        claim = f"Longer captions align better with {len(better)} of {len(found)} {what}"
        if better:
            claim += f", each with {most_p(one.p for one in better)}"
        return Finding(
            claim,
            float(np.nanmedian([one.value for one in found])),
            name="median change per doubling",
            digits=3,
            n=max(one.n for one in found),
            over="families",
        )

    def plot(self, table: pd.DataFrame) -> Plot:
        if "facts" in table:
            return self._plot_facts(table)
        note = "{slope:+.3f} per doubling [{low:+.3f}, {high:+.3f}], {p_adjusted:p}"
        ends = {
            "bottom": table["mean"] - table["deviation"],
            "top": table["mean"] + table["deviation"],
        }
        return Plot(
            "Alignment by the number of words",
            marks=(
                Line("words", "mean", by="model_y", color="group", width=Size("parameters")),
                Dots(
                    "words",
                    "mean",
                    color="group",
                    modality=VISION,
                    size=Size("parameters", times=0.6),
                    low="bottom",
                    high="top",
                    card=(
                        "<b>{title}</b>",
                        "level {level}, {words:.1f} words",
                        "alignment {mean:.3f}[[ ± {deviation:.3f}]][[, chance {chance:.3f}]]",
                        "mean and deviation over {models} language models",
                        note,
                    ),
                    ids="{model_y}",
                    select=("model_y",) if self.by == "model" else (),
                ),
            ),
            x=Axis("words per caption", log=True, ticks="data"),
            y=Axis(self.comparison.label, zero=True),
            facet=Facet("group", note="" if self.by == "model" else "{slope:+.3f}, {p_adjusted:p}"),
            levels=(Level("chance"),),
            empty="No alignment can be computed at these caption levels.",
            height=230,
            legend=self.by == "model",  # else a panel's title names its only line
        ).over(table[table["words"] > 0].assign(**ends))

    def _plot_facts(self, table: pd.DataFrame) -> Plot:
        numbered = {level: float(level) if level.isdigit() else np.inf for level in table["level"]}
        levels = sorted(numbered, key=lambda level: (numbered[level], level))
        ranks = {level: rank for rank, level in enumerate(levels)}
        colors = Palette("rank", names={rank: level for level, rank in ranks.items()})
        return Plot(
            "Alignment by what a caption mentions",
            marks=(
                Line("facts", "score", by="level", color=colors),
                Dots(
                    "facts",
                    "score",
                    color=colors,
                    size="size",
                    card=(
                        "level {level}: {facts:.0%} mentioned",
                        "alignment {score:.3f}, chance {chance:.3f}",
                        "{stimuli:,.0f} stimuli",
                    ),
                ),
            ),
            x=Axis("share of the factors mentioned", percent=True, range=(0, 1.02)),
            y=Axis(self.comparison.label, zero=True),
            facet=Facet("title"),
            levels=(Level("chance"),),
            empty="Too few captions mention the same share of factors to be compared.",
            height=230,
        ).over(table.assign(size=3 + 0.5 * table["stimuli"] ** 0.5, rank=table["level"].map(ranks)))


@dataclass(frozen=True)
class CaptionLevels(StudyQuestion):
    """What do the captions of each level contain?"""

    command = "captions levels"
    version = 2
    device = None
    columns: ClassVar[Mapping[str, str]] = {
        "level": "caption level",
        "words": "words per caption, mean",
        "bytes": "bytes per caption in UTF-8, mean",
        "facts": "share of the factors mentioned, mean",
        "models": "models that read it",
        "reason": "why the share is not known",
    }

    @classmethod
    def left_out(cls, study: Study) -> Sequence[str]:
        return outdated_sentences(study)

    def answer(self, study: Study) -> Answer:
        levels = embedded_levels(study).groupby("level", sort=False)["model"].nunique()
        rows = []
        for level, models in tell_each(list(levels.items()), "caption levels"):
            texts = [" ".join(several) for several in texts_at(study, str(level))]
            words = np.mean([len(split_words(text)) for text in texts])
            size = np.mean([len(text.encode()) for text in texts])
            facts = float(facts_at(study, str(level)).mean())
            rows.append((level, words, size, facts, models, NO_FACTS if np.isnan(facts) else ""))
        table = pd.DataFrame(rows, columns=list(self.columns))
        return Answer(table.sort_values("words", kind="stable", ignore_index=True))


def facts_findings(bins: pd.DataFrame) -> list[Finding]:
    """Return for each target at how many levels captions that mention more align better: the sign
    of the least-squares slope over bins, weighted by their images. This is no test.
    """
    scored = bins.dropna(subset="score")
    several = scored[scored.groupby(["model_y", "level"])["facts"].transform("size") > 1]
    if several.empty:
        return [Finding("Too few captions of one level differ in how much they mention")]

    def rises(level: pd.DataFrame) -> bool:
        middle = (level["facts"] * level["stimuli"]).sum() / level["stimuli"].sum()
        return bool(((level["facts"] - middle) * level["stimuli"] * level["score"]).sum() > 0)

    findings = []
    for title, rows in several.groupby("title", sort=False):
        better = [rises(level) for _, level in rows.groupby("level")]
        findings.append(
            Finding(
                f"With {title}, captions that mention more align better at {sum(better)} of"
                f" {len(better)} levels"
            )
        )
    return findings


def _readers(study: Study, models: Sequence[str]) -> tuple[str, ...]:
    if not study.dataset.levels:
        raise NotApplicableError(f"{study.dataset.name!r} holds no captions")
    counts = embedded_levels(study)["model"].value_counts()
    readers = [str(name) for name in counts.index[counts > 1]]
    trained = [name for name in default_language(study) if name in readers]
    named = tuple(dict.fromkeys(models or trained))
    if not (readers and named):
        raise MetricError(
            "expected a trained language model that is embedded at two or more caption levels;"
            " there is none: embed one with --caption-level, naming several"
        )
    if unknown := [name for name in named if name not in readers]:
        raise UnknownNameError("language model at two or more caption levels", unknown[0], readers)
    return named


def _targets(study: Study, against: Sequence[str]) -> tuple[str, ...]:
    models = study.models()
    targets = models.loc[~reads(models, "caption"), "model"].tolist()
    finished = usual(models)
    seeing = finished.loc[reads(finished, "image") | is_reality(finished), "model"]
    named = tuple(dict.fromkeys(against or seeing))
    if not named:
        raise MetricError(
            "expected a trained vision model to compare with; there is none: embed or import one"
        )
    if unknown := [name for name in named if name not in targets]:
        raise UnknownNameError("vision model", unknown[0], targets)
    return named


def embedded_levels(study: Study) -> pd.DataFrame:
    """Return a row per language model and level that it is embedded at: model, level, name (of the
    embedding); without those of `outdated_sentences`, and of several the first by name.
    """
    variants, outdated = study.store.caption_variants(study.dataset.name), _outdated(study)
    rows = [
        (variants.get(entry.card.name, entry.card.name), entry.level, entry.card.name)
        for entry in study.store.embeddings(study.dataset.name)
        if entry.level is not None and entry.card.name not in outdated
    ]
    table = pd.DataFrame(rows, columns=["model", "level", "name"])
    return (
        table.sort_values("name", kind="stable")
        .drop_duplicates(["model", "level"])
        .sort_index(ignore_index=True)
    )


def outdated_sentences(study: Study) -> list[str]:
    """Return a sentence for each embedding of captions that were changed since."""
    folder = study.store.root, study.dataset.name
    return [
        f"{name} is left out: the captions of level {level!r} changed since; delete"
        f" {embedding_file(*folder, name)} and embed it again"
        for name, level in _outdated(study).items()
    ]


def _outdated(study: Study) -> dict[str, str]:
    """Return the level of each embedding whose recipe names other texts than its level has now."""
    written = {
        level: recipe.digest for level, recipe in study.store.summaries(study.dataset.name).items()
    }
    read = {
        entry.card.name: (entry.level, entry.recipe.choices.get("texts"))
        for entry in study.store.embeddings(study.dataset.name)
    }
    return {
        name: level
        for name, (level, texts) in read.items()
        if level is not None and texts != written.get(level)
    }


def texts_at(study: Study, level: str) -> Texts:
    """Return the captions of each stimulus of a study at a level."""
    from core.embedding.reading import read_texts  # torch takes seconds

    texts = read_texts(study.store, study.dataset.name, level)
    return texts if study.rows is None else [texts[row] for row in study.rows]


def facts_at(study: Study, level: str) -> Float64[np.ndarray, "n"]:
    """Return the share of each stimulus's facts that its caption mentions, NaN without a world."""
    world = study.dataset.world
    if world is None:
        return np.full(study.size, np.nan)
    events = world.behind(study.dataset, None if study.rows is None else study.rows.tolist())
    pairs = zip(events, texts_at(study, level), strict=True)
    return np.array([world.told(event, " ".join(texts)) for event, texts in pairs])


def by_level(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per target and level, by words: words, mean and deviation (n − 1; NaN for one)
    of the scores over language models, models, chance. Source: Huh et al. 2024, figure 9.
    """
    scored = rows.dropna(subset="score")
    table = scored.groupby(["model_y", "level"], sort=False).agg(
        words=("words", "first"),
        mean=("score", "mean"),
        deviation=("score", "std"),
        models=("model", "nunique"),
        chance=("chance", "mean"),
    )
    return table.reset_index().sort_values(["model_y", "words"], kind="stable", ignore_index=True)


def by_group(rows: pd.DataFrame, groups: Mapping[str, str]) -> pd.DataFrame:
    """Return each language model's mean score over the targets of each group. groups: by target;
    targets without one are left out.
    """
    named = rows.assign(model_y=rows["model_y"].map(groups)).dropna(subset=["model_y", "score"])
    keys = ["model", "level", "words", "model_y"]
    return (
        named.groupby(keys, sort=False)
        .agg(score=("score", "mean"), chance=("chance", "mean"))
        .reset_index()
    )


def level_trends(rows: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """Test for each target whether alignment changes with the number of words: TREND, p_adjusted.

    A family's score at a level is the mean over its language models. slope: change per doubling of
    the words, least squares over log₂ words, mean over families; low, high: its 95% interval,
    Student's t over families. p: Page's test of the order of the levels, two-sided; rho: its
    direction, ρ = 12 L / (m n (n² − 1)) − 3 (n + 1) / (n − 1) of m families, n levels and Page's L.
    p_adjusted: for the false discovery rate over targets. An artifact of how one level was written
    passes for a trend. Of incomplete data, the levels of the model for which complete models ×
    levels is largest. families: by model; a model without one is its own. NaN with a reason below
    two families or three levels. Raise InputError for two rows of one model, level and target.
    Source: Page 1963.
    """
    twice = rows.loc[rows.duplicated(["model_y", "model", "level"]), ["model", "level", "model_y"]]
    if len(twice):
        model, level, target = twice.iloc[0]
        raise InputError(
            f"expected one score of {model} at level {level!r} with {target}; got several: leave"
            " all but one out"
        )
    estimates = [
        {"model_y": str(target), **_trend(part, families)}
        for target, part in rows.groupby("model_y", sort=False)
    ]
    numbers = dict.fromkeys(("slope", "low", "high", "rho", "p"), np.float64)
    table = pd.DataFrame(estimates, columns=list(TREND)).astype(numbers)
    table.insert(TREND.index("p") + 1, "p_adjusted", adjust(table["p"].to_numpy()))
    return table


def _trend(rows: pd.DataFrame, families: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of a target: of models that have every level, by the number of words."""
    every = rows[rows["words"] > 0].pivot(index="model", columns="level", values="score")

    def by_family(scores: pd.DataFrame) -> pd.DataFrame:
        return scores.groupby([families.get(name, name) for name in scores.index]).mean()

    def enough(table: pd.DataFrame) -> bool:
        return table.shape[0] >= LEAST_FAMILIES and table.shape[1] >= LEAST_LEVELS

    offered = [every.loc[:, has].dropna() for has in every.notna().to_numpy() if has.any()]
    kept = max(
        offered,
        key=lambda one: (enough(by_family(one)), one.size, one.shape[1]),
        default=every.dropna(),
    )
    words = rows.groupby("level")["words"].first()
    # levels of equally many words count as one
    scores = kept.set_axis(words[kept.columns], axis=1).T.groupby(level=0).mean().T
    table = by_family(scores)
    count, levels = table.shape
    about = {"models": len(scores), "families": count, "levels": levels}
    if not enough(table):
        wanted = f"{LEAST_FAMILIES} families of language models at {LEAST_LEVELS} caption levels"
        return {**about, "reason": f"needs {wanted}; {count} at {levels} loaded"}
    ranked, doublings = table.to_numpy(np.float64), np.log2(table.columns.to_numpy(np.float64))
    around = doublings - doublings.mean()
    slopes = ranked @ around / (around @ around)
    error = slopes.std(ddof=1) / np.sqrt(count)
    low, high = student_interval(slopes.mean(), error, freedom=count - 1)
    rising, falling = (page_trend_test(part) for part in (ranked, ranked[:, ::-1]))
    largest = count * levels * (levels**2 - 1)
    return {
        **about,
        "slope": slopes.mean(),
        "low": low,
        "high": high,
        "rho": 12 * rising.statistic / largest - 3 * (levels + 1) / (levels - 1),
        "p": min(1.0, 2 * min(rising.pvalue, falling.pvalue)),
        "reason": "",
    }


def by_share(
    facts: Float64[np.ndarray, "n"],
    scores: Float64[np.ndarray, "n"],
    *,
    edges: Float64[np.ndarray, "edges"],
    fewest: int,
) -> pd.DataFrame:
    """Return the means of facts and scores in each bin of at least `fewest` stimuli: facts, score,
    stimuli. facts: the share that a caption mentions, 0 … 1. edges: of the bins, rising.
    """
    bins = np.clip(np.digitize(facts, edges) - 1, 0, len(edges) - 2)
    table = pd.DataFrame({"bin": bins, "facts": facts, "score": scores}).groupby("bin")
    means = table.agg(facts=("facts", "mean"), score=("score", "mean"), stimuli=("facts", "size"))
    return means[means["stimuli"] >= fewest].reset_index(drop=True)
