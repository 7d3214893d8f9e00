"""Is the geometry of color the same in perception, pixels, words and vision models? Colors by each
source are laid out, turned onto perception, and compared by number.

Source: Huh et al. 2024, figure 8 and appendix D; Abdou et al. 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
import pandas as pd
from scipy.spatial import distance, procrustes

from core.competence.records import can_measure
from core.errors import InputError, NotApplicableError, PlatoscopeError
from core.figures.numbers import counted
from core.modalities import LANGUAGE
from core.options import draws_option, option, part, seed_option
from core.progress import tell_each
from core.questions.asking import ask
from core.questions.color.layout import STARTS, lay_out, permuted, rank_agreement, superpose
from core.questions.color.sources import (
    CAPTIONS,
    LAB,
    PERCEPTION,
    PIXELS,
    SHIPPED,
    TABLE,
    Dissimilarities,
    Reading,
    choose_model,
    color_words,
    common,
    gather,
    title_of,
    to_hex,
    usual_sources,
)
from core.questions.finding import ALPHA, NAN, Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.correlations import spearman_interval
from core.statistics.nulls import adjust
from core.study.models import UNTRAINED, lines, reads, without_variants
from core.study.study import Study

if TYPE_CHECKING:
    from core.figures.grammar import Plot

DRAWS = 1000  # permutations, and draws of colors
MOST_SOURCES = 12
SOURCES = (
    "perception, captions, pixels:IMAGES (cifar10 or a dataset), vision (the largest vision model),"
    " or a model: best, worst, one of the dataset, simcse, roberta, hf:ID, hf:FOLDER"
)
WITH_PERCEPTION = {
    "kendall": "Kendall's τ of its dissimilarities with perception's",
    "kendall_p": "one-sided p of τ, over permutations of colors",
    "disparity": "Procrustes disparity of the layouts: 0 is the same, 1 nothing in common",
    "disparity_p": "its p",
}
S = TypeVar("S", bound="SourceQuestion")


@dataclass(frozen=True)
class Precision:
    """Which colors are laid out, and how thoroughly layouts are sought and tested."""

    words: tuple[str, ...] = option(
        (), label="Color words", metavar="WORD", help="some of the 24 color words, all if none"
    )
    starts: int = option(
        STARTS, least=0, most=100_000, label="Random starts", help="random starts of each layout"
    )
    permutations: int = draws_option(
        DRAWS, least=0, label="Permutations", help="permutations of colors, for p"
    )
    seed: int = seed_option("seed of random starts, permutations and draws")


@dataclass(frozen=True)
class SourceQuestion(StudyQuestion):
    """A question about sources of dissimilarities of colors."""

    device: ClassVar[str] = "auto"

    source: tuple[str, ...] = option(
        (), label="Sources", metavar="SOURCE", help=f"{SOURCES} (one of each kind)"
    )
    reading: Reading = part(Reading)
    precision: Precision = part(Precision)

    def complete(self: S, study: Study) -> S:
        """Name the sources, the default ones if none is named.

        Raises InputError for a source named twice, UnknownNameError and MetricError as
        `choose_model`.
        """
        color_words(self.precision.words)
        chosen = self.source or usual_sources(study)
        names = [
            one
            if one in (PERCEPTION, CAPTIONS) or one.startswith(PIXELS)
            else choose_model(study, one)
            for one in chosen
        ]
        if twice := [one for one in dict.fromkeys(names) if names.count(one) > 1 and self.source]:
            raise InputError(f"{twice[0]} is named twice; leave one out")
        sources = tuple(dict.fromkeys(names))
        if len(sources) > MOST_SOURCES:
            raise InputError(f"up to {MOST_SOURCES} sources are compared; got {len(sources)}")
        return replace(self, source=sources)

    def titles(self, study: Study) -> dict[str, str]:
        """Return the title of each source, by its name: the name itself if two have one
        title.
        """
        titles = {name: title_of(study, name) for name in self.source}
        shared = list(titles.values())
        return {name: name if shared.count(title) > 1 else title for name, title in titles.items()}

    def of(self: S, name: str) -> S:
        """Return the question about one source, without what only others read, so that its answer
        is found again.
        """
        reading = Reading()
        if name == PIXELS + SHIPPED:
            reading = Reading(self.reading.by)
        elif name.startswith(PIXELS):
            reading = replace(self.reading, layer=None)
        elif name not in (PERCEPTION, CAPTIONS):
            reading = Reading(layer=self.reading.layer)
        return replace(self, source=(name,), reading=reading)

    def left_out_of(self, study: Study, name: str, error: PlatoscopeError) -> Finding:
        """Return why a source is left out."""
        study.store.note_failure(error)
        return Finding(f"{self.titles(study)[name]} cannot be used", reason=str(error))


@dataclass(frozen=True)
class ColorLayout(SourceQuestion):
    """Where does each source put each color?"""

    command = "color layout"
    version = 4
    columns: ClassVar[Mapping[str, str]] = {
        "source": "where the dissimilarities of the colors come from",
        "color": "color word, or the hex of a cell of the grid",
        "hex": "the color itself",
        "L": "CIELAB L*",
        "a": "CIELAB a*",
        "b": "CIELAB b*",
        "seen": "times the color was counted",
        "x": "layout rotated onto perception: L*, in ΔE",
        "y": "a*, in ΔE",
        "z": "b*, in ΔE",
        "error": "distance from the same color in perception, in ΔE",
        **WITH_PERCEPTION,
        "stress": "Kruskal's stress of the layout",
    }

    def answer(self, study: Study) -> Answer:
        if len(self.source) == 1:
            table = self._lay_out(study, self.source[0])
            return Answer(table, layout_findings(table))
        tables, left_out = list[pd.DataFrame](), list[Finding]()
        titles = self.titles(study)
        for name in self.source:
            try:
                table = ask(self.of(name), study)
            except PlatoscopeError as error:
                if len(left_out) == len(self.source) - 1:
                    raise
                left_out.append(self.left_out_of(study, name, error))
            else:
                tables.append(table.assign(source=titles[name]))
        table = pd.concat(tables, ignore_index=True)
        return Answer(table, [*layout_findings(table), *left_out])

    def _lay_out(self, study: Study, name: str) -> pd.DataFrame:
        """Return a row per color: where it lies by the source, how far that is from perception, and
        how the whole agrees.
        """
        study.store.note_files(TABLE)
        precision = self.precision
        (colors,) = common([gather(study, name, self.reading)], precision.words)
        layout, stress = lay_out(colors.matrix, starts=precision.starts, seed=precision.seed)
        points = superpose(layout, colors.lab)
        shuffled = {"permutations": precision.permutations, "seed": precision.seed}
        truth = distance.squareform(distance.pdist(colors.lab))
        ranks = rank_agreement(colors.matrix, truth, **shuffled)
        turned = permuted(
            lambda order: float(procrustes(points, colors.lab[order])[2]),
            len(points),
            higher_is_more_similar=False,
            **shuffled,
        )
        table = pd.DataFrame({"color": colors.colors, "hex": to_hex(colors.lab)})
        table.insert(0, "source", self.titles(study)[name])
        table[[*LAB, "seen"]] = np.column_stack([colors.lab, colors.seen])
        table[["x", "y", "z"]] = points
        return table.assign(
            error=np.linalg.norm(points - colors.lab, axis=1),
            kendall=ranks["value"],
            kendall_p=ranks["p"],
            disparity=turned["value"],
            disparity_p=turned["p"],
            stress=stress,
        )

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.questions.color import figures

        return figures.clouds(table)


@dataclass(frozen=True)
class ColorAgreement(SourceQuestion):
    """Is the geometry of color shared by perception, pixels and words?"""

    command = "color agreement"
    version = 5
    columns: ClassVar[Mapping[str, str]] = {
        "x": "one source",
        "y": "another",
        "value": "Kendall's τ of the dissimilarities of all pairs of colors",
        "chance": "mean over permutations of colors",
        "p": "one-sided p over permutations of colors",
        "p_adjusted": "p adjusted for the false discovery rate over the pairs of sources",
        "low": "low end of the 95% interval over draws of colors",
        "high": "high end of that interval",
        "colors": "colors that all sources have",
    }

    bootstrap: int = draws_option(
        DRAWS, least=0, label="Draws", help="draws of colors, for the 95%% interval of each value"
    )

    def complete(self, study: Study) -> ColorAgreement:
        complete = super().complete(study)
        if len(complete.source) < 2:
            raise InputError(
                f"expected at least two sources to compare; got {len(complete.source)}"
            )
        return complete

    def answer(self, study: Study) -> Answer:
        study.store.note_files(TABLE)
        found, left_out = dict[str, Dissimilarities](), list[Finding]()
        for name in self.source:
            try:
                found[name] = gather(study, name, self.reading)
            except PlatoscopeError as error:
                left_out.append(self.left_out_of(study, name, error))
        if len(found) < 2:
            raise NotApplicableError("fewer than two sources of colors are here to compare")
        precision, titles = self.precision, self.titles(study)
        colors = dict(zip(found, common([*found.values()], precision.words), strict=True))
        pairs, rows = list(combinations(colors, 2)), []
        for x, y in tell_each(pairs, "pairs of sources"):
            agreed = rank_agreement(
                colors[x].matrix,
                colors[y].matrix,
                permutations=precision.permutations,
                draws=self.bootstrap,
                seed=precision.seed,
            )
            count = len(colors[x].colors)
            rows.append({"x": titles[x], "y": titles[y], **agreed, "colors": count})
        table = pd.DataFrame(rows)
        table = table.assign(p_adjusted=adjust(table["p"].to_numpy()))[list(self.columns)]
        return Answer(table, [*agreement_findings(table), *left_out])

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.questions.color import figures

        return figures.agreement(table)


@dataclass(frozen=True)
class ColorModels(StudyQuestion):
    """Do larger language models know color better?

    A row per model; of a training setup one seed, and none that varies it.
    """

    command = "color models"
    version = 4
    device: ClassVar[str] = "auto"
    columns: ClassVar[Mapping[str, str]] = {
        "model": "language model",
        "title": "its title",
        "group": "its family",
        "parameters": "its parameters",
        "copy": "taken before the end of a training",
        "untrained": "never trained",
        "competence": "1 − bits per byte of the captions",
        "colors": "color words it was asked for",
        **WITH_PERCEPTION,
        "reason": "why it could not be asked",
    }

    reading: Reading = part(Reading)
    precision: Precision = part(Precision)

    def complete(self, study: Study) -> ColorModels:
        color_words(
            self.precision.words
        )  # a wrong word is refused once, not as every model's reason
        return self

    def answer(self, study: Study) -> Answer:
        competence = study.coded().set_index("model")["value"]
        every = without_variants(study.models())
        names, rows = every.loc[reads(every, "caption"), "model"].tolist(), []
        layout = ColorLayout(scope=self.scope, reading=self.reading, precision=self.precision)
        for name in tell_each(names, "language models"):
            row = {"model": name, "competence": competence.get(name, np.nan), "colors": 0}
            try:
                if not can_measure(study.entry(name)):
                    raise NotApplicableError("its vectors alone are known, so it reads no words")
                table = ask(layout.of(name), study)
            except PlatoscopeError as error:
                study.store.note_failure(error)
                row["reason"] = str(error)
            else:
                row |= {"colors": len(table), "reason": ""}
                row |= {column: table[column].iloc[0] for column in WITH_PERCEPTION}
            rows.append(row)
        about = study.models()[["model", "title", "group", "parameters", "copy"]]
        about = about.assign(untrained=about["group"] == UNTRAINED)
        columns = ["model", "competence", "colors", *WITH_PERCEPTION, "reason"]
        table = about.merge(pd.DataFrame(rows, columns=columns), on="model", how="right")
        return Answer(table, model_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.questions.color import figures

        return figures.knowledge(table)


def layout_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how the dissimilarities of each source agree with perception's, the most similar
    first; p is adjusted for the false discovery rate over the sources.
    """
    first = table.drop_duplicates("source").set_index("source")
    first = first.assign(colors=table.groupby("source").size())
    first = first.drop(index=PERCEPTION, errors="ignore").dropna(subset=["kendall"])
    first = first.sort_values("kendall", ascending=False)
    first = first.assign(p=adjust(first["kendall_p"].to_numpy(np.float64)))
    return [
        _alike(f"{row.Index} and perception", row.kendall, row.p, row.colors)
        for row in first.itertuples()
    ]


def agreement_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how each source agrees with perception, the most similar first, then which two of the
    others agree most; pairs without a value are left out.
    """
    rows = table.dropna(subset=["value", "p_adjusted"])
    rows = rows.sort_values("value", ascending=False, kind="stable")
    near, others = list[Finding](), list[Finding]()
    for row in rows.itertuples():
        names = [name for name in (row.x, row.y) if name != PERCEPTION]
        which = " and ".join(names if len(names) > 1 else [*names, PERCEPTION])
        found = _alike(which, row.value, row.p_adjusted, row.colors, row.low, row.high)
        (others if len(names) > 1 else near).append(found)
    if others:
        sure = sum(one.p < ALPHA for one in others)
        pairs = counted(len(others), "pair of other sources", "pairs of other sources")
        note = f"They are the most similar of {pairs}, {sure} of them significantly similar."
        near.append(replace(others[0], expected="", note=note))
    return near or [Finding("No source can be compared with perception")]


def _alike(
    which: str, value: float, p: float, colors: int, low: float = NAN, high: float = NAN
) -> Finding:
    return Finding(
        f"{which} arrange colors similarly",
        float(value),
        float(low),
        float(high),
        p=float(p),
        name="τ",
        n=int(colors),
        over="colors",
        expected="+",
    )


def model_findings(models: pd.DataFrame) -> list[Finding]:
    """Return whether larger and whether more competent models know color better, and how many
    finished, unfinished and untrained models know it.

    models: as `ColorModels` answers. Language models of one family are relatives.
    """
    measured = models.dropna(subset=["kendall", "kendall_p"])
    if measured.empty:
        return [Finding("No language model can be asked about colors")]
    finished = models[~models["copy"] & ~models["untrained"]]
    kin = lines(finished.assign(modality=LANGUAGE.name, family=finished["group"]))
    kinds = {
        "finished": ~measured["copy"] & ~measured["untrained"],
        "unfinished": measured["copy"],
        "untrained": measured["untrained"],
    }
    sure = pd.Series(adjust(measured["kendall_p"].to_numpy(np.float64)) < ALPHA, measured.index)
    findings = []
    for column, claim in (
        ("parameters", "larger language models know color better"),
        ("competence", "more competent language models know color better"),
    ):
        one, other = (finished[name].to_numpy(np.float64) for name in (column, "kendall"))
        found = spearman_interval(one, other, [kin[name] for name in finished["model"]])
        torn = found.p < ALPHA and not found.sure  # p says there is a trend, the interval does not
        findings.append(
            Finding(
                claim,
                found.value,
                found.low,
                found.high,
                found.p,
                name="ρ",
                n=found.n,
                expected="+",
                reason="the interval includes 0" if torn and not found.reason else found.reason,
            )
        )
    published = "Abdou et al. (2021): similarity to perception grows as models get better."
    findings[-1] = replace(findings[-1], published=published)
    return findings + [
        Finding(
            f"{kind} models that order color differences as perception does",
            float(sure[rows].mean()),
            unit="%",
            n=int(rows.sum()),
            note=f"p < {ALPHA}, adjusted for {len(measured)} models.",
        )
        for kind, rows in kinds.items()
        if rows.any()
    ]
