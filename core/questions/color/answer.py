"""Colors by eyes and by words: laid out, turned onto perception, and compared by number. Tables are
kept in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.errors import InputError, PlatoscopeError, UnknownNameError
from core.progress import Progress
from core.questions.color.geometry.agreement import (
    DISSIMILARITIES,
    DRAWS,
    LAYOUTS,
    PERMUTATIONS,
    Arrangement,
    K,
    agree,
    shared_neighbors,
)
from core.questions.color.geometry.dissimilarities import Dissimilarities, common
from core.questions.color.geometry.language import SENTENCES, check_sentences
from core.questions.color.geometry.layout import STARTS, lay_out
from core.questions.color.geometry.perception import differences, to_hex
from core.questions.color.geometry.superpose import superpose
from core.questions.color.geometry.words import LAB, color_words
from core.questions.color.sources import Language, Source
from core.statistics.discoveries import adjust
from core.study.keeping import keep
from core.study.study import Study

AXES = ("x", "y", "z")
SURVEY = "xkcd"
WHOLE = (
    (DISSIMILARITIES, "kendall"),
    (DISSIMILARITIES, "spearman"),
    (LAYOUTS, "disparity"),
)  # what tells of all colors at once
ENDINGS = {"": "value", "_p": "p"}


def lay_out_colors(
    study: Study,
    source: Source,
    *,
    words: Sequence[str] | None = None,
    survey: str = SURVEY,
    dims: int = 3,
    starts: int = STARTS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Lay out a source's colors and turn them onto perception; a row per color, kept under its
    recipe.

    Columns: source, color, hex, L, a, b, seen (times, NaN where nothing is counted), x, y and in
    three dimensions z, error (how far from the same color in perception), neighbors (share of its K
    nearest that are its nearest in perception, by dissimilarity), stress (Kruskal's), then how the
    whole agrees with perception: kendall and spearman of dissimilarities and disparity of layouts,
    each with its p. In three dimensions perception is CIELAB: x is L*, y a*, z b*, all in units of
    ΔE. In two it is the layout of its color differences, turned onto a* and b*. words: only these.
    Raises InputError for other dimensions, and as `agree`.
    """
    chosen = {
        "survey": survey,
        "dims": dims,
        "starts": starts,
        "permutations": permutations,
        "seed": seed,
    }
    recipe = study.recipe(
        "colors", [], source=source.choices(study), words=list(words or []), **chosen
    )

    def make() -> pd.DataFrame:
        (found,) = _gather(study, [source], words, survey)
        layout = lay_out(found.matrix, dims=dims, starts=starts, seed=seed, report=report)
        goal = _perceived(found, dims=dims, starts=starts, seed=seed)
        table = _tabulate(
            found, superpose(layout.points, goal).points, goal, permutations=permutations, seed=seed
        )
        table.insert(0, "source", source.title(study))
        return table.assign(stress=layout.stress)

    return keep(study, recipe, make)


def compare_colors(
    study: Study,
    sources: Sequence[Source],
    *,
    words: Sequence[str] | None = None,
    survey: str = SURVEY,
    dims: int = 3,
    starts: int = STARTS,
    permutations: int = PERMUTATIONS,
    draws: int = DRAWS,
    k: int = K,
    seed: int = 0,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Compare every two sources over the colors that all of them have; kept under its recipe.

    A row per pair and measure: x, y (titles), the columns of
    `core.questions.color.geometry.agreement.agree`, p_adjusted (for the false discovery rate, over
    the pairs of one measure) and colors, how many. Raises InputError for fewer than two sources,
    and as `agree`.
    """
    if len(sources) < 2:
        raise InputError(f"at least two sources expected, to be compared; given {len(sources)}")
    chosen = {
        "survey": survey,
        "dims": dims,
        "starts": starts,
        "permutations": permutations,
        "draws": draws,
        "k": k,
        "seed": seed,
    }
    given = [source.choices(study) for source in sources]
    recipe = study.recipe("color-agreement", [], sources=given, words=list(words or []), **chosen)

    def make() -> pd.DataFrame:
        found = _gather(study, sources, words, survey)
        arranged = [
            Arrangement(one.matrix, lay_out(one.matrix, dims=dims, starts=starts, seed=seed).points)
            for one in found
        ]
        titles, tables = [source.title(study) for source in sources], []
        pairs = list(combinations(range(len(sources)), 2))
        for done, (x, y) in enumerate(pairs, start=1):
            table = agree(
                arranged[x], arranged[y], k=k, permutations=permutations, draws=draws, seed=seed
            )
            tables.append(table.assign(x=titles[x], y=titles[y], colors=len(found[0].colors)))
            if report:
                report(done, len(pairs), "pairs of sources")
        return _adjusted(pd.concat(tables, ignore_index=True))

    return keep(study, recipe, make)


def compare_models(
    study: Study,
    models: Sequence[str] | None = None,
    *,
    layer: str | None = None,
    sentences: Sequence[str] = SENTENCES,
    words: Sequence[str] | None = None,
    survey: str = SURVEY,
    starts: int = STARTS,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    report: Progress | None = None,
) -> pd.DataFrame:
    """Say how well each language model of a study knows perception, beside its size and competence;
    a row per model.

    Columns: model, title, group, parameters, copy (taken before a training's end), competence,
    colors (how many), kendall, spearman, disparity, each with its p (see `lay_out_colors`), and
    reason: why they are NaN, else empty. Raises UnknownNameError for an unknown word, InputError
    for a sentence without a place for the color.
    """
    check_sentences(sentences)  # once, not as the reason of every model
    color_words(survey, words)
    competence = study.competence().set_index("model")["value"]
    rows = []
    names = list(models or study.readers("caption"))
    for done, name in enumerate(names, start=1):
        source = Language(name, layer=layer, sentences=tuple(sentences))
        known = _known(
            study,
            source,
            words=words,
            survey=survey,
            starts=starts,
            permutations=permutations,
            seed=seed,
        )
        rows.append({"model": name, "competence": competence.get(name, np.nan)} | known)
        if report:
            report(done, len(names), "language models")
    about = study.models()[["model", "title", "group", "parameters", "copy"]]
    return about.merge(pd.DataFrame(rows), on="model", how="right")


def _gather(
    study: Study, sources: Sequence[Source], words: Sequence[str] | None, survey: str
) -> list[Dissimilarities]:
    """Return all sources over the colors that each of them has; a word that is no color to any of
    them is refused, not left out.
    """
    found = [source.gather(study, survey) for source in sources]
    known = dict.fromkeys(
        [*color_words(survey)["word"], *(color for one in found for color in one.colors)]
    )
    if unknown := [word for word in words or () if word not in known]:
        raise UnknownNameError("color word", unknown[0], list(known))
    return common(found, words)


def _tabulate(
    found: Dissimilarities,
    points: Float64[np.ndarray, "n dims"],
    goal: Float64[np.ndarray, "n dims"],
    *,
    permutations: int,
    seed: int,
) -> pd.DataFrame:
    """Return a row per color: where it lies by the source, how far that is from perception, and how
    the whole agrees.
    """
    truth, k = differences(found.lab), min(K, len(goal) - 1)
    own, seen = Arrangement(found.matrix, points), Arrangement(truth, goal)
    agreed = agree(own, seen, k=k, permutations=permutations, draws=0, seed=seed).set_index(
        ["of", "measure"]
    )
    values = {ending: agreed[column].to_dict() for ending, column in ENDINGS.items()}
    table = pd.DataFrame({"color": found.colors, "hex": to_hex(found.lab)})
    table[[*LAB, "seen"]] = np.column_stack([found.lab, found.seen])
    table[list(AXES[: points.shape[1]])] = points
    whole = {
        f"{name}{ending}": values[ending][of, name] for of, name in WHOLE for ending in ENDINGS
    }
    error = np.linalg.norm(points - goal, axis=1)
    return table.assign(error=error, neighbors=shared_neighbors(found.matrix, truth, k=k), **whole)


def _perceived(
    found: Dissimilarities, *, dims: int, starts: int, seed: int
) -> Float64[np.ndarray, "n dims"]:
    """Return where perception puts the colors: CIELAB, or in two dimensions its differences laid
    out and turned onto a* and b*.
    """
    if dims == 3:
        return found.lab
    if dims != 2:
        raise InputError(f"colors are laid out in 2 or 3 dimensions; given {dims}")
    return superpose(
        lay_out(differences(found.lab), dims=2, starts=starts, seed=seed).points, found.lab[:, 1:]
    ).points


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


def _known(study: Study, source: Source, **choices: Any) -> dict[str, Any]:
    """Return how a source agrees with perception, or why it cannot be asked."""
    columns = [f"{name}{ending}" for _, name in WHOLE for ending in ENDINGS]
    try:
        table = lay_out_colors(study, source, **choices)
    except PlatoscopeError as error:
        return {"colors": 0, **dict.fromkeys(columns, np.nan), "reason": str(error)}
    return {
        "colors": len(table),
        **{column: table[column].iloc[0] for column in columns},
        "reason": "",
    }
