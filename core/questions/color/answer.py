"""Colors by eyes and by words: laid out, turned onto perception, and compared by number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.competence.records import can_measure
from core.errors import InputError, PlatoscopeError, UnknownNameError
from core.progress import Progress
from core.questions.asking import ask
from core.questions.color.findings import agreement_findings, model_findings
from core.questions.color.geometry.agreement import (
    DISSIMILARITIES,
    LAYOUTS,
    Arrangement,
    agree,
    shared_neighbors,
)
from core.questions.color.geometry.defaults import K
from core.questions.color.geometry.dissimilarities import Dissimilarities, common
from core.questions.color.geometry.language import check_sentences
from core.questions.color.geometry.layout import lay_out
from core.questions.color.geometry.perception import differences, to_hex
from core.questions.color.geometry.superpose import superpose
from core.questions.color.geometry.words import LAB, TABLE, color_words
from core.questions.color.question import (
    ColorAgreement,
    ColorLayout,
    ColorModels,
    Precision,
    SourceQuestion,
)
from core.questions.color.sources.naming import name_sources, open_source
from core.questions.registry import Answer, declare
from core.statistics.nulls import adjust
from core.study.models import UNTRAINED, reads, without_variants
from core.study.study import Study

AXES = ("x", "y", "z")
WHOLE = (
    (DISSIMILARITIES, "kendall"),
    (DISSIMILARITIES, "spearman"),
    (LAYOUTS, "disparity"),
)  # what is said of all colors at once
ENDINGS = {"": "value", "_p": "p"}
S = TypeVar("S", bound=SourceQuestion)
OF_ALL = [f"{name}{ending}" for _, name in WHOLE for ending in ENDINGS]


def complete_sources(question: S, study: Study) -> S:
    """Name the sources, and refuse words and sentences that no source can be asked by."""
    complete = name_sources(question, study)
    if question.dims not in (2, 3):
        raise InputError(f"colors are laid out in 2 or 3 dimensions; got {question.dims}")
    return complete


def lay_out_colors(
    question: ColorLayout, study: Study, report: Progress | None = None
) -> pd.DataFrame:
    """Lay out each source's colors and turn them onto perception; a row per source and color.

    Columns: source, color, hex, L, a, b, seen (times, NaN where nothing is counted), x, y and in
    three dimensions z, error (how far from the same color in perception), neighbors (share of its K
    nearest that are its nearest in perception, by dissimilarity), then how the whole agrees with
    perception: kendall and spearman of dissimilarities and disparity of layouts, each with its p;
    stress (Kruskal's). In three dimensions perception is CIELAB: x is L*, y a*, z b*, all in units
    of ΔE. In two it is the layout of its color differences, turned onto a* and b*. Raises
    InputError as `complete_sources`, and as `agree`.
    """
    if len(question.source) > 1:
        each = [ask(question.of(name), study, report) for name in question.source]
        return pd.concat(each, ignore_index=True)
    (colors,) = _gather(study, question)
    dims, precision = question.dims, question.precision
    starts, seed = precision.starts, precision.seed
    layout = lay_out(colors.matrix, dims=dims, starts=starts, seed=seed, report=report)
    goal = _perceived(colors, dims=dims, precision=precision)
    points = superpose(layout.points, goal).points
    table = _tabulate(colors, points, goal, precision)
    table.insert(0, "source", open_source(question, question.source[0]).title)
    return table.assign(stress=layout.stress)


declare(
    ColorLayout,
    Answer(
        lay_out_colors,
        version=1,
        complete=complete_sources,
    ),
)


def complete_agreement(question: ColorAgreement, study: Study) -> ColorAgreement:
    """Name the sources; raises InputError for fewer than two, and for two of one title."""
    complete = complete_sources(question, study)
    if len(complete.source) < 2:
        raise InputError(f"expected at least two sources to compare; got {len(complete.source)}")
    titles = [open_source(complete, name).title for name in complete.source]
    if twice := [title for title in titles if titles.count(title) > 1]:
        raise InputError(f"two sources are called {twice[0]!r}; rename one of the files")
    return complete


def compare_colors(
    question: ColorAgreement, study: Study, report: Progress | None = None
) -> pd.DataFrame:
    """Compare every two sources over the colors that all of them have.

    A row per pair and measure: x, y (titles), the columns of
    `core.questions.color.geometry.agreement.agree`, p_adjusted (for the false discovery rate, over
    the pairs of one measure) and colors, how many. Raises InputError as `complete_agreement`, and
    as `agree`.
    """
    colors, precision = _gather(study, question), question.precision
    starts, seed = precision.starts, precision.seed
    layouts = [lay_out(one.matrix, dims=question.dims, starts=starts, seed=seed) for one in colors]
    arranged = [
        Arrangement(one.matrix, layout.points) for one, layout in zip(colors, layouts, strict=True)
    ]
    titles, tables = [open_source(question, name).title for name in question.source], []
    pairs = list(combinations(range(len(titles)), 2))
    for done, (x, y) in enumerate(pairs, start=1):
        table = agree(
            arranged[x],
            arranged[y],
            k=question.k,
            permutations=precision.permutations,
            draws=question.bootstrap,
            seed=seed,
        )
        tables.append(table.assign(x=titles[x], y=titles[y], colors=len(colors[0].colors)))
        if report:
            report(done, len(pairs), "pairs of sources")
    return _adjusted(pd.concat(tables, ignore_index=True))


declare(
    ColorAgreement,
    Answer(
        compare_colors,
        version=1,
        complete=complete_agreement,
        findings=agreement_findings,
    ),
)


def check_models(question: ColorModels, _: Study) -> ColorModels:
    """Refuse words and sentences once, not as the reason of every model."""
    check_sentences(question.reading.sentences)
    color_words(question.palette.survey, question.palette.words)
    return question


def compare_models(
    question: ColorModels, study: Study, report: Progress | None = None
) -> pd.DataFrame:
    """Measure how well each language model knows perception, beside its size and competence; a row
    per model; of a recipe one seed, and none that varies it.

    Columns: model, title, group, parameters, copy (taken before a training's end), untrained,
    competence, colors (how many), kendall, spearman, disparity, each with its p (see
    `lay_out_colors`), and reason: why they are NaN, else empty. Raises UnknownNameError for an
    unknown word, InputError for a sentence without a place for the color.
    """
    competence = study.coded().set_index("model")["value"]
    rows = []
    every = without_variants(study.models())
    names = every.loc[reads(every, "caption"), "model"].tolist()
    for done, name in enumerate(names, start=1):
        row = {"model": name, "competence": competence.get(name, np.nan)}
        rows.append(row | _agreement_of(question, study, name))
        if report:
            report(done, len(names), "language models")
    about = study.models()[["model", "title", "group", "parameters", "copy"]]
    about = about.assign(untrained=about["group"] == UNTRAINED)
    columns = ["model", "competence", "colors", *OF_ALL, "reason"]
    return about.merge(pd.DataFrame(rows, columns=columns), on="model", how="right")


declare(
    ColorModels,
    Answer(
        compare_models,
        version=2,
        complete=check_models,
        findings=model_findings,
    ),
)


VECTORS_ALONE = "its vectors of the stimuli alone are known, so it reads no color words"


def _agreement_of(question: ColorModels, study: Study, model: str) -> dict[str, Any]:
    """Return how a model agrees with perception, or why it cannot be asked."""
    if not can_measure(study.entry(model)):
        return {"colors": 0, **dict.fromkeys(OF_ALL, np.nan), "reason": VECTORS_ALONE}
    layout = ColorLayout(
        scope=question.scope,
        source=(model,),
        reading=question.reading,
        palette=question.palette,
        precision=question.precision,
    )
    try:
        table = ask(layout, study)
    except PlatoscopeError as error:
        study.store.note_failure(error)
        return {"colors": 0, **dict.fromkeys(OF_ALL, np.nan), "reason": str(error)}
    return {"colors": len(table), **{name: table[name].iloc[0] for name in OF_ALL}, "reason": ""}


def _gather(study: Study, question: SourceQuestion) -> list[Dissimilarities]:
    """Return all sources over the colors that each of them has; a word that is no color to any of
    them is refused, not left out.
    """
    survey, words = question.palette.survey, question.palette.words
    study.store.note_files(TABLE)
    sources = [open_source(question, name) for name in question.source]
    colors = [source.gather(study, survey) for source in sources]
    _check_words(words, survey, colors)
    return common(colors, words or None)


def _check_words(words: Sequence[str], survey: str, colors: Sequence[Dissimilarities]) -> None:
    every = dict.fromkeys(
        [*color_words(survey)["word"], *(color for one in colors for color in one.colors)]
    )
    if unknown := [word for word in words if word not in every]:
        raise UnknownNameError("color word", unknown[0], list(every))


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


def _adjusted(table: pd.DataFrame) -> pd.DataFrame:
    adjusted = table.groupby(["of", "measure"])["p"].transform(lambda p: adjust(p.to_numpy()))
    columns = [
        "x",
        "y",
        "of",
        "measure",
        "value",
        "chance",
        "p",
        "p_adjusted",
        "low",
        "high",
        "colors",
    ]
    return table.assign(p_adjusted=adjusted)[columns]
