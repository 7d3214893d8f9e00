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
from jaxtyping import Float64

from core.competence.records import can_measure
from core.errors import InputError, NotApplicableError, PlatoscopeError, UnknownNameError
from core.modalities import LANGUAGE
from core.options import MOST_STIMULI, build, draws_option, option, options_of, part, values_of
from core.progress import Progress
from core.questions.asking import ask
from core.questions.color.agreement import (
    DISSIMILARITIES,
    LAYOUTS,
    Arrangement,
    agree,
    shared_neighbors,
)
from core.questions.color.layout import lay_out, superpose
from core.questions.color.parts import (
    BEST,
    CAPTIONS,
    DRAWS,
    LARGEST,
    PERCEPTION,
    PIXELS,
    SHIPPED,
    SOURCES,
    WORST,
    Counting,
    K,
    Palette,
    Precision,
    Reading,
    SourceKind,
    kind_of,
)
from core.questions.color.perception import LAB, TABLE, color_words, differences, to_hex
from core.questions.color.sources import (
    Dissimilarities,
    check_sentences,
    check_shipped,
    choose_model,
    common,
    ends,
    gather,
    title_of,
)
from core.questions.finding import ALPHA, Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.correlations import spearman_interval
from core.statistics.nulls import adjust
from core.study.models import UNTRAINED, lines, reads, without_variants
from core.study.study import Study

if TYPE_CHECKING:
    from core.figures.grammar import Plot

WHOLE = (
    (DISSIMILARITIES, "kendall"),
    (DISSIMILARITIES, "spearman"),
    (LAYOUTS, "disparity"),
)  # what is said of all colors at once
ENDINGS = {"": "value", "_p": "p"}
OF_ALL = [f"{name}{ending}" for _, name in WHOLE for ending in ENDINGS]
WITH_PERCEPTION = {
    "kendall": "Kendall's τ of its dissimilarities with perception's",
    "kendall_p": "one-sided p of τ, over permutations of colors",
    "spearman": "Spearman's ρ of the same",
    "spearman_p": "its p",
    "disparity": "Procrustes disparity of the layouts: 0 is the same, 1 nothing in common",
    "disparity_p": "its p",
}
MOST_SOURCES = 12
OWN: Mapping[SourceKind, tuple[str, ...]] = {  # options that belong to a kind of source
    "perception": (),
    "pixels": ("by", "radius", "pairs", "grid", "side", "smoothing", "least"),
    "captions": ("smoothing", "least"),
    "model": ("layer", "sentences"),
    "vectors": (),
}
NAMED = {f"{PIXELS}{SHIPPED}": ("by", "smoothing", "least")}  # their counts are given
S = TypeVar("S", bound="SourceQuestion")


@dataclass(frozen=True)
class SourceQuestion(StudyQuestion):
    """What is asked of sources of colors: of what says how unlike colors are."""

    device: ClassVar[str] = "auto"

    source: tuple[str, ...] = option(
        (), label="Sources", metavar="SOURCE", help=f"{SOURCES} (one of each kind)"
    )
    counting: Counting = part(Counting)
    reading: Reading = part(Reading)
    palette: Palette = part(Palette)
    precision: Precision = part(Precision)

    def complete(self: S, study: Study) -> S:
        """Name the sources, the default ones if none is named, and set options that none of them
        has to their defaults.

        Raises InputError for a source named twice and for counts that are given;
        UnknownNameError and MetricError as `choose_model`.
        """
        chosen = self.source or usual_sources(study)
        names = [choose_model(study, one) if kind_of(one) == "model" else one for one in chosen]
        if twice := [one for one in dict.fromkeys(names) if names.count(one) > 1 and self.source]:
            raise InputError(f"{twice[0]} is named twice; leave one out")
        sources = tuple(dict.fromkeys(names))
        if len(sources) > MOST_SOURCES:
            raise InputError(f"up to {MOST_SOURCES} sources are compared; got {len(sources)}")
        if PIXELS + SHIPPED in sources and not any(
            kind_of(one) == "pixels" and one not in NAMED for one in sources
        ):
            check_shipped(self.counting)
        return self.of(*sources)

    def of(self: S, *sources: str) -> S:
        """Return the same question about these sources, without the options that none of them
        has.
        """
        own = {name for one in sources for name in NAMED.get(one, OWN[kind_of(one)])}
        foreign = {name for names in OWN.values() for name in names} - own
        defaults = {one.name: one.default for one in options_of(type(self))}
        return build(
            type(self),
            values_of(self) | {name: defaults[name] for name in foreign} | {"source": sources},
        )

    def gather(self, study: Study) -> tuple[dict[str, Dissimilarities], list[Finding]]:
        """Return what each source says of its colors, and why others are left out.

        Raises UnknownNameError for a word that is a color to none of them, and what the last
        source raised if all are left out.
        """
        survey, words = self.palette.survey, self.palette.words
        study.store.note_files(TABLE)
        found: dict[str, Dissimilarities] = {}
        left_out: list[Finding] = []
        for name in self.source:
            alone = self.of(name)
            try:
                found[name] = gather(
                    study,
                    name,
                    counting=alone.counting,
                    reading=self.reading,
                    palette=self.palette,
                )
            except PlatoscopeError as error:
                if len(left_out) == len(self.source) - 1:
                    raise
                study.store.note_failure(error)
                title = title_of(study, name)
                left_out.append(Finding(f"{title} is left out", reason=str(error)))
        every = list(color_words(survey)["word"])
        known = [*every, *(color for one in found.values() for color in one.colors)]
        if unknown := [word for word in words if word not in known]:
            raise UnknownNameError("color word", unknown[0], list(dict.fromkeys(known)))
        return found, left_out

    def titles(self, study: Study) -> dict[str, str]:
        """Return what people call each source, by its name: the name itself if two have one
        title.
        """
        titles = {name: title_of(study, name) for name in self.source}
        shared = list(titles.values())
        return {name: name if shared.count(title) > 1 else title for name, title in titles.items()}


@dataclass(frozen=True)
class ColorLayout(SourceQuestion):
    """Where does each source put each color?"""

    command = "color layout"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {
        "source": "what says how unlike the colors are",
        "color": "color word, or the hex of a cell of the grid",
        "hex": "the color itself",
        "L": "CIELAB L*",
        "a": "CIELAB a*",
        "b": "CIELAB b*",
        "seen": "times the color was counted",
        "x": "layout turned onto perception: L*, in ΔE",
        "y": "a*, in ΔE",
        "z": "b*, in ΔE",
        "error": "distance from the same color in perception, in ΔE",
        "neighbors": f"share of its {K} nearest colors that are its nearest in perception",
        **WITH_PERCEPTION,
        "stress": "Kruskal's stress of the layout",
    }

    def answer(self, study: Study, report: Progress | None) -> Answer:
        if len(self.source) > 1:
            tables, left_out = list[pd.DataFrame](), list[Finding]()
            titles = self.titles(study)
            for name in self.source:
                try:
                    table = ask(self.of(name), study, report)
                except PlatoscopeError as error:
                    if len(left_out) == len(self.source) - 1:
                        raise
                    study.store.note_failure(error)
                    left_out.append(Finding(f"{titles[name]} is left out", reason=str(error)))
                else:
                    tables.append(table.assign(source=titles[name]))
            table = pd.concat(tables, ignore_index=True)
            return Answer(table, [*layout_findings(table), *left_out])
        found, _ = self.gather(study)
        (colors,) = common([*found.values()], self.palette.words)
        starts, seed = self.precision.starts, self.precision.seed
        layout = lay_out(colors.matrix, starts=starts, seed=seed, report=report)
        points = superpose(layout.points, colors.lab).points
        table = _tabulate(colors, points, self.precision)
        table.insert(0, "source", self.titles(study)[self.source[0]])
        table = table.assign(stress=layout.stress)
        return Answer(table, layout_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.questions.color import figures

        return figures.clouds(table)


@dataclass(frozen=True)
class ColorAgreement(SourceQuestion):
    """Is the geometry of color shared by perception, pixels and words?"""

    command = "color agreement"
    version = 3
    columns: ClassVar[Mapping[str, str]] = {
        "x": "one source",
        "y": "another",
        "of": "what is compared: dissimilarities, or distances in the layouts",
        "measure": "kendall, spearman, neighbors (nearest colors shared) or disparity",
        "value": "of disparity lower is more alike, of the others higher",
        "chance": "mean over permutations of colors",
        "p": "one-sided p over permutations of colors",
        "p_adjusted": "p adjusted for the false discovery rate over the pairs of one measure",
        "low": "low end of the 95% interval over draws of colors",
        "high": "high end of that interval",
        "colors": "colors that all sources have",
    }

    bootstrap: int = draws_option(
        DRAWS, least=0, label="Draws", help="draws of colors, for the 95%% interval of each value"
    )
    k: int = option(
        K,
        least=1,
        most=MOST_STIMULI,
        label="Nearest colors",
        help="nearest colors that two sources may share",
    )

    def complete(self, study: Study) -> ColorAgreement:
        complete = super().complete(study)
        if len(complete.source) < 2:
            raise InputError(
                f"expected at least two sources to compare; got {len(complete.source)}"
            )
        return complete

    def answer(self, study: Study, report: Progress | None) -> Answer:
        found, left_out = self.gather(study)
        if len(found) < 2:
            raise NotApplicableError("fewer than two sources of colors are here to compare")
        colors, precision = common([*found.values()], self.palette.words), self.precision
        starts, seed = precision.starts, precision.seed
        arranged = [
            Arrangement(one.matrix, lay_out(one.matrix, starts=starts, seed=seed).points)
            for one in colors
        ]
        titles = [self.titles(study)[name] for name in found]
        pairs, tables = list(combinations(range(len(titles)), 2)), []
        for done, (x, y) in enumerate(pairs, start=1):
            table = agree(
                arranged[x],
                arranged[y],
                k=self.k,
                permutations=precision.permutations,
                draws=self.bootstrap,
                seed=seed,
            )
            tables.append(table.assign(x=titles[x], y=titles[y], colors=len(colors[0].colors)))
            if report:
                report(done, len(pairs), "pairs of sources")
        every = pd.concat(tables, ignore_index=True)
        by_measure = every.groupby(["of", "measure"])["p"]
        adjusted = by_measure.transform(lambda p: adjust(p.to_numpy()))
        table = every.assign(p_adjusted=adjusted)[list(self.columns)]
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
    palette: Palette = part(Palette)
    precision: Precision = part(Precision)

    def complete(self, study: Study) -> ColorModels:
        """Refuse words and sentences once, not as the reason of every model."""
        check_sentences(self.reading.sentences)
        color_words(self.palette.survey, self.palette.words)
        return self

    def answer(self, study: Study, report: Progress | None) -> Answer:
        competence = study.coded().set_index("model")["value"]
        every = without_variants(study.models())
        names, rows = every.loc[reads(every, "caption"), "model"].tolist(), []
        layout = ColorLayout(
            scope=self.scope, reading=self.reading, palette=self.palette, precision=self.precision
        )
        for done, name in enumerate(names, start=1):
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
                row |= {column: table[column].iloc[0] for column in OF_ALL}
            rows.append(row)
            if report:
                report(done, len(names), "language models")
        about = study.models()[["model", "title", "group", "parameters", "copy"]]
        about = about.assign(untrained=about["group"] == UNTRAINED)
        columns = ["model", "competence", "colors", *OF_ALL, "reason"]
        table = about.merge(pd.DataFrame(rows, columns=columns), on="model", how="right")
        return Answer(table, model_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        from core.questions.color import figures

        return figures.knowledge(table)


def usual_sources(study: Study) -> tuple[str, ...]:
    """Return perception, CIFAR-10's pixels, the best language model, the largest vision model,
    captions and the worst language model, as far as a study has them.
    """
    known = ends(study)
    models = [name for name in (BEST, LARGEST) if name in known]
    return (PERCEPTION, PIXELS + SHIPPED, *models, CAPTIONS, *({WORST} & known.keys()))


# --- findings ---


def layout_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how the layout of each source agrees with perception's, the most alike first."""
    first = table.groupby("source", sort=False).agg(
        {"kendall": "first", "kendall_p": "first", "color": "size", "disparity": "first"}
    )
    first = first.drop(index=PERCEPTION, errors="ignore").dropna(subset=["kendall"])
    return [
        _alike(
            f"{name} arranges colors as perception does",
            row["kendall"],
            p=row["kendall_p"],
            colors=row["color"],
            note=f"Procrustes disparity {row['disparity']:.2f}.",
        )
        for name, row in first.sort_values("kendall", ascending=False).iterrows()
    ]


def agreement_findings(table: pd.DataFrame) -> list[Finding]:
    """Return how each source agrees with perception by τ of dissimilarities, the most alike first,
    then which two of the others agree most; pairs without a value are left out.

    table: as `ColorAgreement` answers.
    """
    rows = table[(table["of"] == DISSIMILARITIES) & (table["measure"] == "kendall")]
    rows = rows.dropna(subset=["value", "p_adjusted"])
    rows = rows.sort_values("value", ascending=False, kind="stable")
    seen = (rows["x"] == PERCEPTION) | (rows["y"] == PERCEPTION)
    near, others = rows[seen], rows[~seen]
    findings = []
    for _, row in near.iterrows():
        name = row["y"] if row["x"] == PERCEPTION else row["x"]
        claim = f"{name} arranges colors as perception does"
        findings.append(
            _alike(
                claim,
                row["value"],
                p=row["p_adjusted"],
                colors=row["colors"],
                ends=(row["low"], row["high"]),
            )
        )
    if len(others):
        first, sure = others.iloc[0], int((others["p_adjusted"] < ALPHA).sum())
        claim = f"besides perception, {first['x']} and {first['y']} agree most"
        found = _alike(
            claim,
            first["value"],
            p=first["p_adjusted"],
            colors=first["colors"],
            ends=(first["low"], first["high"]),
            note=f"{sure} of these {len(others)} pairs agree beyond chance.",
        )
        findings.append(replace(found, expected=""))
    return findings or [Finding("No source can be compared with perception")]


def _alike(
    claim: str,
    value: float,
    *,
    p: float,
    colors: float,
    ends: tuple[float, float] = (np.nan, np.nan),
    note: str = "",
) -> Finding:
    return Finding(
        claim,
        float(value),
        float(ends[0]),
        float(ends[1]),
        p=float(p),
        name="τ",
        n=int(colors),
        over="colors",
        expected="+",
        note=note,
    )


def model_findings(models: pd.DataFrame) -> list[Finding]:
    """Return whether larger and whether more competent models know color better, and how many
    finished, unfinished and untrained models know it.

    models: as `ColorModels` answers. Language models of one family are relatives.
    """
    measured = models.dropna(subset=["kendall", "kendall_p"])
    if measured.empty:
        return [Finding("No language model here can be asked about colors")]
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


def _tabulate(
    colors: Dissimilarities, points: Float64[np.ndarray, "n 3"], precision: Precision
) -> pd.DataFrame:
    """Return a row per color: where it lies by the source, how far that is from perception, and how
    the whole agrees.
    """
    truth, k = differences(colors.lab), min(K, len(points) - 1)
    own, seen = Arrangement(colors.matrix, points), Arrangement(truth, colors.lab)
    agreed = agree(
        own, seen, k=k, permutations=precision.permutations, draws=0, seed=precision.seed
    ).set_index(["of", "measure"])
    table = pd.DataFrame({"color": colors.colors, "hex": to_hex(colors.lab)})
    table[[*LAB, "seen"]] = np.column_stack([colors.lab, colors.seen])
    table[["x", "y", "z"]] = points
    whole = {
        f"{name}{ending}": agreed.loc[(of, name), column]
        for of, name in WHOLE
        for ending, column in ENDINGS.items()
    }
    error = np.linalg.norm(points - colors.lab, axis=1)
    return table.assign(error=error, neighbors=shared_neighbors(colors.matrix, truth, k=k), **whole)
