"""Is the geometry of color the same to eyes, in pixels and in words? Colors by each source are laid
out, turned onto perception, and compared by number.

Source: Huh et al. 2024, figure 8 and appendix D; Abdou et al. 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.competence.records import can_measure
from core.errors import InputError, PlatoscopeError, UnknownNameError
from core.modalities import LANGUAGE
from core.options import (
    MOST_STIMULI,
    build,
    draws_option,
    option,
    options_of,
    part,
    value_of,
    values_of,
)
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
    CAPTIONS,
    DRAWS,
    OWN,
    PERCEPTION,
    PIXELS,
    SHIPPED,
    SOURCES,
    VECTORS,
    Counting,
    K,
    PairCounting,
    Palette,
    Precision,
    Reading,
    foreign_options,
    kind_of,
)
from core.questions.color.perception import LAB, TABLE, color_words, differences, to_hex
from core.questions.color.sources import (
    Captions,
    Dissimilarities,
    LanguageModel,
    Perception,
    Pixels,
    Source,
    Vectors,
    check_finite,
    check_sentences,
    check_shipped,
    choose_model,
    common,
    ends,
    pixel_cloud,
)
from core.questions.finding import ALPHA, Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.correlations import Correlation, spearman_interval
from core.statistics.nulls import adjust
from core.study.models import UNTRAINED, lines, reads, without_variants
from core.study.study import Study

AXES = ("x", "y", "z")
WHOLE = (
    (DISSIMILARITIES, "kendall"),
    (DISSIMILARITIES, "spearman"),
    (LAYOUTS, "disparity"),
)  # what is said of all colors at once
ENDINGS = {"": "value", "_p": "p"}
OF_ALL = [f"{name}{ending}" for _, name in WHOLE for ending in ENDINGS]
CLOUD, LAYOUT = "pixels in CIELAB", "co-occurrence of pixels"
VECTORS_ALONE = "its vectors of the stimuli alone are known, so it reads no color words"
SHOWN = {"pixels": f"{PIXELS}IMAGES", "language": "language models"}
WITH_PERCEPTION = {
    "kendall": "Kendall's τ of its dissimilarities with perception's",
    "kendall_p": "one-sided p of τ, over permutations of colors",
    "spearman": "Spearman's ρ of the same",
    "spearman_p": "its p",
    "disparity": "Procrustes disparity of the layouts: 0 is the same, 1 nothing in common",
    "disparity_p": "its p",
}
COLORS = {
    "source": "what says how unlike the colors are",
    "color": "color word, or the hex of a cell of the grid",
    "hex": "the color itself",
    "L": "CIELAB L*",
    "a": "CIELAB a*",
    "b": "CIELAB b*",
    "seen": "times the color was counted",
    "x": "layout turned onto perception: L* in three dimensions, a* in two; in ΔE",
    "y": "a* in three dimensions, b* in two",
    "z": "b* in three dimensions",
    "error": "distance from the same color in perception, in ΔE",
    "neighbors": f"share of its {K} nearest colors that are its nearest in perception",
    **WITH_PERCEPTION,
    "stress": "Kruskal's stress of the layout",
}
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
    dims: int = option(3, least=2, most=3, label="Layouts in", help="dimensions of layouts")
    precision: Precision = part(Precision)

    def of(self: S, *sources: str) -> S:
        """Return the same question about these sources, without the options that none of them
        has.
        """
        foreign = foreign_options(sources)
        kept = {name: value for name, value in values_of(self).items() if name not in foreign}
        return build(type(self), kept | {"source": sources})

    def complete(self: S, study: Study) -> S:
        """Name the sources, the usual ones if none is named.

        Raises InputError for options that none of them has, for a source named twice, and for
        layouts in other dimensions; UnknownNameError and MetricError as `choose_model`.
        """
        chosen = self.source or usual_sources(study.dataset.name, [*ends(study)])
        sources = tuple(
            choose_model(study, one) if kind_of(one) == "language" else one for one in chosen
        )
        if twice := [one for one in dict.fromkeys(sources) if sources.count(one) > 1]:
            raise InputError(f"{twice[0]} is named twice; leave one out")
        check_finite(radius=self.counting.radius, smoothing=self.counting.smoothing)
        _check_options(self, sources)
        if self.dims not in (2, 3):
            raise InputError(f"colors are laid out in 2 or 3 dimensions; got {self.dims}")
        return replace(self, source=sources)

    def open(self, name: str) -> Source:
        """Return the source that a name of this question means."""
        alone = self.of(name)
        match kind_of(name):
            case "perception":
                return Perception()
            case "captions":
                return Captions(alone.counting)
            case "pixels":
                return Pixels(name.removeprefix(PIXELS), alone.counting)
            case "vectors":
                return Vectors(name.removeprefix(VECTORS), self.palette.words)
            case "language":
                return LanguageModel(name, alone.reading)

    def gather(self, study: Study) -> list[Dissimilarities]:
        """Return all sources over the colors that each of them has; a word that is a color to none
        of them is refused.
        """
        survey, words = self.palette.survey, self.palette.words
        study.store.note_files(TABLE)
        colors = [self.open(name).gather(study, survey) for name in self.source]
        known = [*color_words(survey)["word"], *(color for one in colors for color in one.colors)]
        if unknown := [word for word in words if word not in known]:
            raise UnknownNameError("color word", unknown[0], list(dict.fromkeys(known)))
        return common(colors, words or None)


@dataclass(frozen=True)
class ColorLayout(SourceQuestion):
    """Where does a source put each color, next to where perception has it?

    In three dimensions perception is CIELAB; in two it is the layout of its color differences,
    turned onto a* and b*.
    """

    command = "color layout"
    version = 1
    columns: ClassVar[Mapping[str, str]] = COLORS

    def answer(self, study: Study, report: Progress | None) -> Answer:
        if len(self.source) > 1:
            each = [ask(self.of(name), study, report) for name in self.source]
            return Answer(pd.concat(each, ignore_index=True))
        (colors,) = self.gather(study)
        dims, precision = self.dims, self.precision
        starts, seed = precision.starts, precision.seed
        layout = lay_out(colors.matrix, dims=dims, starts=starts, seed=seed, report=report)
        goal = _perceived(colors, dims=dims, precision=precision)
        points = superpose(layout.points, goal).points
        table = _tabulate(colors, points, goal, precision)
        table.insert(0, "source", self.open(self.source[0]).title)
        return Answer(table.assign(stress=layout.stress))


@dataclass(frozen=True)
class ColorAgreement(SourceQuestion):
    """Do eyes, pixels and words have the same geometry of color?"""

    command = "color agreement"
    version = 2
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
        DRAWS,
        least=0,
        label="Draws of colors",
        help="draws of colors, for the 95%% interval of each agreement",
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
        titles = [complete.open(name).title for name in complete.source]
        if twice := [title for title in titles if titles.count(title) > 1]:
            raise InputError(f"two sources are called {twice[0]!r}; rename one of the files")
        return complete

    def answer(self, study: Study, report: Progress | None) -> Answer:
        colors, precision = self.gather(study), self.precision
        starts, seed = precision.starts, precision.seed
        arranged = [
            Arrangement(
                one.matrix, lay_out(one.matrix, dims=self.dims, starts=starts, seed=seed).points
            )
            for one in colors
        ]
        titles, tables = [self.open(name).title for name in self.source], []
        pairs = list(combinations(range(len(titles)), 2))
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
        return Answer(table, agreement_findings(table, _titles(study)))


@dataclass(frozen=True)
class ColorModels(StudyQuestion):
    """Do better language models know color better?

    A row per model; of a recipe one seed, and none that varies it.
    """

    command = "color models"
    version = 3
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
        for done, name in enumerate(names, start=1):
            row = {"model": name, "competence": competence.get(name, np.nan)}
            rows.append(row | self._agreement_of(study, name))
            if report:
                report(done, len(names), "language models")
        about = study.models()[["model", "title", "group", "parameters", "copy"]]
        about = about.assign(untrained=about["group"] == UNTRAINED)
        columns = ["model", "competence", "colors", *OF_ALL, "reason"]
        table = about.merge(pd.DataFrame(rows, columns=columns), on="model", how="right")
        return Answer(table, model_findings(table))

    def _agreement_of(self, study: Study, model: str) -> dict[str, Any]:
        """Return how a model agrees with perception, or why it cannot be asked."""
        none = {"colors": 0, **dict.fromkeys(OF_ALL, np.nan)}
        if not can_measure(study.entry(model)):
            return {**none, "reason": VECTORS_ALONE}
        layout = ColorLayout(
            scope=self.scope,
            source=(model,),
            reading=self.reading,
            palette=self.palette,
            precision=self.precision,
        )
        try:
            table = ask(layout, study)
        except PlatoscopeError as error:
            study.store.note_failure(error)
            return {**none, "reason": str(error)}
        return {
            "colors": len(table),
            **{name: table[name].iloc[0] for name in OF_ALL},
            "reason": "",
        }


@dataclass(frozen=True)
class ColorPixels(StudyQuestion):
    """Do pixels that lie close together have the geometry of color?

    As figure 8 of Huh et al. 2024: pixels in CIELAB, where they lie by definition, and the layout
    of the colors of a grid by how often they meet.
    """

    command = "color pixels"
    version = 2
    columns: ClassVar[Mapping[str, str]] = {**COLORS, "pictures": "how many pictures there are"}

    images: str = option(
        SHIPPED,
        label="Pictures",
        metavar="DIR",
        help="the pictures: a folder of images or of CIFAR-10's binary batches (all 50,000 training"
        " images where they are there, as published), an .npz file, a dataset, or cifar10, the"
        " counts of its 10,000 test images that come with the project",
    )
    drawn: int = option(
        2000,
        least=1,
        most=100_000,
        label="Pixels drawn",
        help="pixels of the pictures that are drawn at random",
    )
    counting: PairCounting = part(PairCounting)
    precision: Precision = part(Precision)

    @property
    def layout(self) -> ColorLayout:
        """Return the question about the layout of the grid's colors."""
        counting = Counting(**vars(self.counting), by="cells")
        source = (PIXELS + self.images,)
        return ColorLayout(self.scope, source, counting, precision=self.precision)

    def complete(self, study: Study) -> ColorPixels:
        self.layout.complete(study)
        if self.images == SHIPPED and self.drawn != ColorPixels.drawn:
            raise InputError(
                "the counts that come with the project have no pixels to draw, but all colors of"
                " their grid; leave --drawn out, or give the pictures with --images DIR"
            )
        return self

    def answer(self, study: Study, report: Progress | None) -> Answer:
        layout = ask(self.layout, study, report).assign(source=LAYOUT)
        pixels = Pixels(self.images, self.layout.counting)
        cloud = pixel_cloud(pixels, study, drawn=self.drawn, seed=self.precision.seed)
        drawn = cloud.assign(source=CLOUD, color=cloud["hex"], error=0.0, neighbors=1.0)
        drawn[list(AXES)] = drawn[LAB]
        pictures = int(cloud["pictures"].iloc[0])
        both = pd.concat([drawn, layout.assign(pictures=pictures)], ignore_index=True)
        table = both[[*layout, "pictures"]]
        return Answer(table, [self._finding(layout.iloc[0], len(layout), pictures)])

    def _finding(self, first: pd.Series, colors: int, pictures: int) -> Finding:
        """Return how the layout agrees with perception, and what was counted."""
        if self.images == SHIPPED:
            note = (
                f"These are the counts of CIFAR-10's {pictures:,} test images that come with the"
                " project; for its 50,000 training images, give their folder with --images DIR."
            )
        else:
            note = f"These are {self.counting.pairs:,} pairs of pixels of {pictures:,} pictures."
        return Finding(
            "Colors of pixels that lie close together are arranged as in perception",
            float(first["kendall"]),
            p=float(first["kendall_p"]),
            name="Kendall's τ",
            n=colors,
            over="colors of the grid",
            expected="+",
            note=f"Procrustes disparity {first['disparity']:.2f}. {note}",
        )


def usual_sources(dataset: str, models: Sequence[str]) -> tuple[str, ...]:
    """Return perception, pixels, captions and some language models, such as the best and worst."""
    return (PERCEPTION, PIXELS + SHIPPED, PIXELS + dataset, CAPTIONS, *models)


def finished_correlation(models: pd.DataFrame, x: str, y: str) -> Correlation:
    """Return Spearman's ρ of two columns over the models whose training is finished; language
    models of one group, which is their family, are relatives.
    """
    finished = models[~models["copy"] & ~models["untrained"]]
    kin = lines(finished.assign(modality=LANGUAGE.name, family=finished["group"]))
    one, other = (finished[name].to_numpy(np.float64) for name in (x, y))
    return spearman_interval(one, other, [kin[name] for name in finished["model"]])


def agreement_findings(table: pd.DataFrame, titles: Mapping[str, str]) -> list[Finding]:
    """Return how each source agrees with perception by τ of dissimilarities, the most alike first,
    then which two of the others agree most; pairs without a value are left out.

    table: as `ColorAgreement` answers. titles: what people call a source, if not as the table.
    """
    rows = table[(table["of"] == DISSIMILARITIES) & (table["measure"] == "kendall")]
    rows = rows.dropna(subset=["value", "p_adjusted"])
    rows = rows.sort_values("value", ascending=False, kind="stable")
    names = [[titles.get(name, name) for name in rows[side]] for side in ("x", "y")]
    rows = rows.assign(x=names[0], y=names[1])
    seen = (rows["x"] == PERCEPTION) | (rows["y"] == PERCEPTION)
    near, others = rows[seen], rows[~seen]
    findings = [
        _agreement(
            row,
            f"{row['y'] if row['x'] == PERCEPTION else row['x']} arranges colors as"
            " perception does",
        )
        for row in near.to_dict("records")
    ]
    if len(others):
        first, sure = others.iloc[0], int((others["p_adjusted"] < ALPHA).sum())
        claim = f"{first['x']} and {first['y']} agree most of the pairs without perception"
        note = f"{sure} of these {len(others)} pairs agree beyond chance."
        findings.append(replace(_agreement(first.to_dict(), claim), expected="", note=note))
    return findings or [Finding("Nothing could be compared with perception")]


def _agreement(row: Mapping[Any, Any], claim: str) -> Finding:
    return Finding(
        claim,
        row["value"],
        row["low"],
        row["high"],
        row["p_adjusted"],
        name="τ",
        n=int(row["colors"]),
        over="colors",
        expected="+",
    )


def model_findings(models: pd.DataFrame) -> list[Finding]:
    """Return how many finished, unfinished and untrained models know perception, and whether the
    more competent know it better.

    models: as `ColorModels` answers.
    """
    measured = models.dropna(subset=["kendall", "kendall_p"])
    if measured.empty:
        return [Finding("No language model here can be asked about colors")]
    kinds = {
        "finished": ~measured["copy"] & ~measured["untrained"],
        "unfinished": measured["copy"],
        "untrained": measured["untrained"],
    }
    sure = pd.Series(adjust(measured["kendall_p"].to_numpy(np.float64)) < ALPHA, measured.index)
    found = finished_correlation(models, "competence", "kendall")
    torn = found.p < ALPHA and not found.sure  # p says there is a trend, the interval does not
    return [
        Finding(
            "More competent language models know color better",
            found.value,
            found.low,
            found.high,
            found.p,
            name="Spearman's ρ",
            n=found.n,
            over="finished models",
            expected="+",
            reason="the interval includes 0" if torn and not found.reason else found.reason,
            published="Abdou et al. (2021): similarity to perception grows as models get better.",
        ),
        *(
            Finding(
                f"{kind} models order color differences as perception does",
                float(sure[rows].mean()),
                name="share",
                unit="%",
                n=int(rows.sum()),
                note=f"p < {ALPHA}, adjusted for {len(measured)} models.",
            )
            for kind, rows in kinds.items()
            if rows.any()
        ),
    ]


def _titles(study: Study) -> dict[str, str]:
    """Return what people call sources, by their names in tables."""
    pictures = {f"pixels of {card.name}": card.title for card in study.store.datasets()}
    models = study.models().set_index("model")["title"]
    return {
        **{name: f"pixels of {title}" for name, title in pictures.items()},
        "pixels of cifar10": "pixels of CIFAR-10",
        **models.to_dict(),
    }


def _tabulate(
    colors: Dissimilarities,
    points: Float64[np.ndarray, "n dims"],
    goal: Float64[np.ndarray, "n dims"],
    precision: Precision,
) -> pd.DataFrame:
    """Return a row per color: where it lies by the source, how far that is from perception, and how
    the whole agrees.
    """
    truth, k = differences(colors.lab), min(K, len(goal) - 1)
    own, seen = Arrangement(colors.matrix, points), Arrangement(truth, goal)
    agreed = agree(
        own, seen, k=k, permutations=precision.permutations, draws=0, seed=precision.seed
    ).set_index(["of", "measure"])
    values = {ending: agreed[column].to_dict() for ending, column in ENDINGS.items()}
    table = pd.DataFrame({"color": colors.colors, "hex": to_hex(colors.lab)})
    table[[*LAB, "seen"]] = np.column_stack([colors.lab, colors.seen])
    table[list(AXES[: points.shape[1]])] = points
    whole = {
        f"{name}{ending}": values[ending][of, name] for of, name in WHOLE for ending in ENDINGS
    }
    error = np.linalg.norm(points - goal, axis=1)
    return table.assign(error=error, neighbors=shared_neighbors(colors.matrix, truth, k=k), **whole)


def _perceived(
    colors: Dissimilarities, *, dims: int, precision: Precision
) -> Float64[np.ndarray, "n dims"]:
    """Return where perception puts the colors: CIELAB, or in two dimensions its differences laid
    out and turned onto a* and b*.
    """
    if dims == 3:
        return colors.lab
    truth = differences(colors.lab)
    plane = lay_out(truth, dims=2, starts=precision.starts, seed=precision.seed)
    return superpose(plane.points, colors.lab[:, 1:]).points


def _check_options(question: SourceQuestion, sources: tuple[str, ...]) -> None:
    """Refuse options that none of the sources has."""
    foreign = foreign_options(sources)
    changed = [
        one
        for one in options_of(type(question))
        if one.name in foreign and value_of(question, one) != one.default
    ]
    if changed and PIXELS + SHIPPED in sources:
        check_shipped(question.counting)
    if changed:
        kinds = [SHOWN.get(kind, kind) for kind in OWN if changed[0].name in OWN[kind]]
        raise InputError(
            f"{changed[0].flag} belongs to {' and '.join(kinds)}; leave it out, or add such a"
            " source"
        )
