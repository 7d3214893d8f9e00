"""What a probe of one model is worth on another: all pairs of models, by factor and by way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from core.errors import InputError
from core.progress import Progress
from core.questions.registry import Answer, declare
from core.questions.swapping.findings import MEAN, OVERALL, swap_findings
from core.questions.swapping.labels import factor_classes
from core.questions.swapping.question import LEAST, Swap
from core.questions.swapping.trials import Trials, foresee, run_trials
from core.questions.swapping.ways import WAYS
from core.statistics.intervals import crossed_mean, ratio_interval
from core.statistics.nulls import adjust
from core.study.spaces import default_spaces, find_space, find_spaces, language_beside
from core.study.study import Study

ANCHORS = 256
ACROSS = "across modalities"
COLUMNS = (
    "way",
    "kind",
    "probe",
    "on",
    "factor",
    "score",
    "low",
    "high",
    "chance",
    "own",
    "native",
    "kept",
    "kept_low",
    "kept_high",
    "p",
    "q",
)

Row = dict[str, Any]
Pair = tuple[int, int]  # whose probe, and on which space it is used
Shares = Float64[np.ndarray, " n"]


def complete_swap(question: Swap, study: Study) -> Swap:
    """Name spaces and factors where none are named.

    Raises UnknownNameError and MetricError for spaces, UnknownNameError and InputError for factors,
    InputError for a single space and for too few or too many anchors.
    """
    named = question.spaces or usual_spaces(study)
    spaces = tuple(map(str, find_spaces(study, named)))
    if len(spaces) < 2:
        raise InputError(
            f"a probe is swapped between two models or more; got {len(spaces)}: name --models, or"
            " embed another model"
        )
    left = study.size - -(-study.size // question.folds)
    anchors = min(ANCHORS, left // 3) if question.anchors is None else question.anchors
    if not LEAST <= anchors <= left // 2:
        raise InputError(
            f"anchors are expected to be {LEAST} or more, and half of the stimuli outside a fold at"
            f" most, since the others teach the probes; got {anchors} of {left}: choose other"
            " --anchors or more stimuli"
        )
    factors = tuple(factor_classes(study, question.factors))
    return replace(question, spaces=spaces, factors=factors, anchors=anchors)


def usual_spaces(study: Study) -> list[str]:
    """Return the spaces whose probes are swapped where none are named: of usual vision models, and
    of language models of their size.
    """
    seeing = default_spaces(study)
    names = language_beside(study, [space.rpartition(":")[0] for space in seeing])
    every = [*seeing, *(str(find_space(study, name)) for name in names)]
    return list(dict.fromkeys(every))  # the usual spaces are of language if few models see


def seconds_for(question: Swap, study: Study) -> float:
    """Return about how many seconds an answer takes here."""
    complete = complete_swap(question, study)
    assert complete.anchors is not None
    return foresee(
        [
            study.entry(place.model).dims[place.layer]
            for place in find_spaces(study, complete.spaces)
        ],
        list(factor_classes(study, complete.factors).values()),
        anchors=complete.anchors,
        folds=complete.folds,
        permutations=complete.permutations,
    )


def swap(question: Swap, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per way, ordered pair of spaces and factor, with COLUMNS; OVERALL stands for the
    mean over factors, MEAN for the mean over all pairs of a kind.

    probe: the space that the probe learned in; on: that which it is used on. score: share of
    stimuli on which it is right there, with its 95 % interval over stimuli, models and probes
    given; chance: the same with anchors paired at random. own: the probe in its own space; native:
    a probe of the other space's own features, in that space. kept: (score − chance) / (native −
    chance), with its interval; NaN where the interval of native holds chance. p: how often anchors
    paired at random do as well; q: adjusted over all pairs and ways, that of factors over them too.
    """
    classes = factor_classes(study, question.factors)
    spaces = [
        study.spaces(place.model)[place.layer] for place in find_spaces(study, question.spaces)
    ]
    assert question.anchors is not None
    trials = run_trials(
        spaces,
        list(classes.values()),
        anchors=question.anchors,
        folds=question.folds,
        permutations=question.permutations,
        seed=question.seed,
        report=report,
    )
    kinds = _kinds(question.spaces, study)
    rows = list[Row]()
    for way in WAYS:
        for pairs in [[pair] for pair in kinds] + _groups(kinds):
            rows += _rows(way, pairs, question.spaces, kinds, tuple(classes), trials)
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "q"])
    tested = table["probe"] != MEAN
    q = (
        table[tested]
        .groupby(table["factor"] == OVERALL)["p"]
        .transform(lambda p: adjust(p.to_numpy(float)))
    )
    return table.assign(q=q)[list(COLUMNS)]


declare(
    Swap,
    Answer(
        swap,
        version=2,
        complete=complete_swap,
        findings=swap_findings,
        hidden=("kind", "own", "kept_low", "kept_high", "p"),
    ),
)


def _kinds(spaces: Sequence[str], study: Study) -> dict[Pair, str]:
    """Return of what kind each ordered pair of different spaces is."""
    models = study.models().set_index("model")["modality"]
    modality = [str(models[space.rpartition(":")[0]]) for space in spaces]
    count = range(len(spaces))
    return {
        (one, other): f"within {modality[one]}" if modality[one] == modality[other] else ACROSS
        for one in count
        for other in count
        if one != other
    }


def _groups(kinds: dict[Pair, str]) -> list[list[Pair]]:
    """Return the pairs of each kind."""
    return [
        [pair for pair, each in kinds.items() if each == kind]
        for kind in dict.fromkeys(kinds.values())
    ]


def _rows(
    way: str,
    pairs: list[Pair],
    spaces: Sequence[str],
    kinds: dict[Pair, str],
    factors: tuple[str, ...],
    trials: Trials,
) -> Iterator[Row]:
    """Yield a row per factor of one pair, or of the mean over several."""
    alone = len(pairs) == 1
    probe, on = (spaces[place] if alone else MEAN for place in pairs[0])
    score = _mean([trials.right[way, *pair] for pair in pairs])
    own = _mean([trials.right[way, one, one] for one, _ in pairs])
    native = _mean([trials.right["orthogonal", other, other] for _, other in pairs])
    null = np.mean([trials.null[way, *pair] for pair in pairs], axis=0)
    named = {"way": way, "kind": kinds[pairs[0]], "probe": probe, "on": on}
    for place, name in enumerate((OVERALL, *factors)):
        places = slice(None) if name == OVERALL else slice(place - 1, place)
        right, home, best = (part[places].mean(axis=0) for part in (score, own, native))
        drawn = null[:, places].mean(axis=1)
        yield {**named, "factor": name, **_figures(right, home, best, drawn, tested=alone)}


def _mean(several: Sequence[Bool[np.ndarray, "f n"]]) -> Float64[np.ndarray, "f n"]:
    mean: np.ndarray = np.mean(several, axis=0)
    return mean


def _figures(
    right: Shares,
    own: Shares,
    native: Shares,
    null: Float64[np.ndarray, " permutations"],
    *,
    tested: bool,
) -> Row:
    score, chance = float(right.mean()), float(null.mean())
    _, low, high, *_ = crossed_mean(right[None], fixed="rows")
    kept = (np.nan,) * 3
    if native.mean() > chance:
        kept = ratio_interval(right - chance, native - chance)
    reached = int((null >= score).sum())
    return {
        "score": score,
        "low": low,
        "high": high,
        "chance": chance,
        "own": float(own.mean()),
        "native": float(native.mean()),
        **dict(zip(("kept", "kept_low", "kept_high"), kept, strict=True)),
        "p": (1 + reached) / (1 + len(null)) if tested else np.nan,
    }
