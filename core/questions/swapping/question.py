"""What a probe of one model is worth on another: all pairs of models, by factor and by way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Int64

from core.errors import InputError, NotApplicableError, UnknownNameError
from core.figures.grammar import Axis, Dots, Facet, Fixed, Heat, Palette, Plot, Scale, Symbols
from core.options import MOST_STIMULI, draws_option, option, seed_option
from core.questions.finding import Finding
from core.questions.question import Answer, StudyQuestion
from core.statistics.intervals import crossed_mean, ratio_interval
from core.statistics.nulls import ALPHA, adjust
from core.study.spaces import (
    default_spaces,
    describe_spaces,
    find_space,
    find_spaces,
    language_of_sizes,
)
from core.study.study import Study, studied_indices

if TYPE_CHECKING:
    from core.questions.swapping.trials import Trials

LEAST, ANCHORS = 3, 256  # anchors: two lie on one line
MOST_VALUES = 20  # of a factor
ACROSS = "across modalities"
SECONDS_PROBE, SECONDS_SWAP = 0.5, 0.02  # of a factor, and of a swap, over 1,024 stimuli
OVERALL = "all factors"
MEAN = "mean"  # over the pairs of a kind, in the place of both spaces
WAYS = {"orthogonal": "by one orthogonal map", "relative": "by cosines with anchors"}
NUMBERS = (
    "[[<b>{kept:.0%}</b> [{kept_low:.0%}, {kept_high:.0%}] kept]]",
    "right {score:.1%} [{low:.1%}, {high:.1%}]",
    "chance {chance:.1%}, in its own space {own:.1%}, own probes there {native:.1%}",
)


@dataclass(frozen=True)
class Swap(StudyQuestion):
    """Can one model's probe be used on another, without training?"""

    command = "swap"
    version = 4
    hidden = ("kind", "probe_title", "on_title", "own", "kept_low", "kept_high", "p")
    columns: ClassVar[Mapping[str, str]] = {
        "way": "how the two spaces are joined: one orthogonal map, or cosines with anchors",
        "kind": "within a modality or across modalities",
        "probe": "space that the probe learned in; mean: over all pairs of a kind",
        "on": "space that it is used on",
        "probe_title": "name of the model that the probe learned from",
        "on_title": "name of the model that it is used on",
        "factor": "what it predicts; all factors: mean over them",
        "score": "share of stimuli on which it is right",
        "low": "low end of its 95% interval over stimuli, models and probes given",
        "high": "high end of that interval",
        "chance": "the same share with anchors paired at random",
        "own": "share of right answers of the probe in its own space",
        "native": "share of right answers of a probe of the other space's own features",
        "kept": "(score − chance) / (native − chance)",
        "kept_low": "low end of its 95% interval; none if that of native holds chance",
        "kept_high": "high end of that interval",
        "p": "how often anchors paired at random do as well",
        "q": "p adjusted over all pairs and ways, for single factors over them, too",
    }

    spaces: tuple[str, ...] = option(
        (),
        name="models",
        label="Models",
        metavar="M[:LAYER]",
        help="models whose probes are swapped, each with every other, in their penultimate block"
        " if no layer is named (usual vision models, and language models of their size)",
    )
    factors: tuple[str, ...] = option(
        (),
        label="Factors",
        metavar="F",
        help="factors that probes predict (all of 2 to 20 values that are known of every stimulus)",
    )
    anchors: int | None = option(
        None,
        least=LEAST,
        most=MOST_STIMULI,
        label="Anchors",
        help="stimuli by which two spaces are joined; they teach no probe (256, or a third of those"
        " outside a fold if that is less)",
    )
    folds: int = option(
        4, least=2, most=20, label="Folds", help="parts of the stimuli, each of them tested once"
    )
    permutations: int = draws_option(
        39,
        least=19,
        label="Permutations",
        help="random pairings of anchors, for chance and p",
    )
    seed: int = seed_option("of folds, anchors and permutations")

    def complete(self, study: Study) -> Swap:
        named = self.spaces or usual_spaces(study)
        spaces = tuple(map(str, find_spaces(study, named)))
        if len(spaces) < 2:
            raise InputError(
                f"a probe is swapped between two models or more; got {len(spaces)}: name --models,"
                " or embed another model"
            )
        left = study.size - -(-study.size // self.folds)
        anchors = min(ANCHORS, left // 3) if self.anchors is None else self.anchors
        if not LEAST <= anchors <= left // 2:
            raise InputError(
                f"anchors are expected to be {LEAST} or more, and at most half of the stimuli"
                f" outside a fold, since the others teach the probes; got {anchors} of {left}:"
                " choose other --anchors or more stimuli"
            )
        factors = tuple(factor_classes(study, self.factors))
        return replace(self, spaces=spaces, factors=factors, anchors=anchors)

    def answer(self, study: Study) -> Answer:
        from core.questions.swapping.trials import run_trials  # torch takes seconds

        classes = factor_classes(study, self.factors)
        assert self.anchors is not None
        trials = run_trials(
            [study.spaces(place.model)[place.layer] for place in find_spaces(study, self.spaces)],
            list(classes.values()),
            anchors=self.anchors,
            folds=self.folds,
            permutations=self.permutations,
            seed=self.seed,
        )
        modalities = study.models().set_index("model")["modality"]
        sides = [str(modalities[space.rpartition(":")[0]]) for space in self.spaces]
        kinds = {
            (one, other): f"within {sides[one]}" if sides[one] == sides[other] else ACROSS
            for one in range(len(sides))
            for other in range(len(sides))
            if one != other
        }
        groups = [
            [pair for pair, each in kinds.items() if each == kind]
            for kind in dict.fromkeys(kinds.values())
        ]
        about = describe_spaces(self.spaces, study.models()).set_index("space")["title"]
        titles = {**about, MEAN: MEAN}
        rows = list[dict[str, Any]]()
        for way in WAYS:
            for pairs in [*([pair] for pair in kinds), *groups]:
                alone = len(pairs) == 1  # a kind has both orders of two spaces, or more
                probe, on = (self.spaces[at] if alone else MEAN for at in pairs[0])
                named = {"way": way, "kind": kinds[pairs[0]], "probe": probe, "on": on}
                named |= {"probe_title": titles[probe], "on_title": titles[on]}
                rows += [
                    named | row for row in _rows(trials, way, pairs, tuple(classes), tested=alone)
                ]
        table = pd.DataFrame(rows)
        tested = table["probe"] != MEAN
        by_factor = table[tested].groupby(table["factor"] == OVERALL)["p"]
        table["q"] = by_factor.transform(lambda p: adjust(p.to_numpy(float)))
        table = table[list(self.columns)]
        return Answer(table, swap_findings(table))

    def plot(self, table: pd.DataFrame) -> Plot:
        return swap_plot(table)


def better_way(table: pd.DataFrame) -> str:
    """Return the way that keeps more, on average over the kinds of pairs."""
    means = table[(table["probe"] == MEAN) & (table["factor"] == OVERALL)]
    kept = means.groupby("way", sort=False)["kept"].mean().dropna()
    return str(kept.idxmax()) if len(kept) else next(iter(WAYS))


def swap_plot(table: pd.DataFrame, *, better: bool = True) -> Plot:
    """Return the share that each probe keeps in each other space, by the better way or by the
    other. table: rows of `Swap`.
    """
    best = better_way(table)
    way = next(way for way in WAYS if (way == best) == better)
    pairs = table[(table["probe"] != MEAN) & (table["factor"] == OVERALL)]
    order = tuple(dict.fromkeys(pairs["probe_title"]))
    return Plot(
        f"Probes swapped {WAYS[way]}",
        marks=(
            Heat(
                "on_title",
                "probe_title",
                Scale("kept", "kept", low=0, high=1, percent=True),
                label="{kept:.0%}",
                card=("<b>probe of {probe_title}<br>on {on_title}</b>", *NUMBERS, "{q:p:q}"),
                ids="{probe}, {on}",
            ),
        ),
        x=Axis("used on", names=order),
        y=Axis("probe of", names=order),
        empty="No space's own probes tell a factor better than chance.",
        row=44,
    ).over(pairs[pairs["way"] == way])


def factor_plot(table: pd.DataFrame) -> Plot:
    """Return the accuracy of swapped probes by factor, mean over pairs, next to chance and the
    space's own probes: a panel per kind of pair. table: rows of `Swap`.
    """
    means = table[(table["probe"] == MEAN) & (table["factor"] != OVERALL)]
    means = means.assign(name=means["factor"].str.replace("_", " "))
    own = Dots("native", "name", rows="way == 'orthogonal'", color=Fixed("soft"), size=13)
    return Plot(
        "Swapped probes by factor",
        marks=(
            replace(own, symbol="circle-open", name="own probes"),
            replace(own, x="chance", color=Fixed("chance"), symbol="line-ns-open", name="chance"),
            Dots(
                "score",
                "name",
                color=Palette("way", {"orthogonal": "ember", "relative": "text"}, WAYS),
                symbol=Symbols("way", {"orthogonal": "circle", "relative": "diamond"}),
                left="low",
                right="high",
                card=("<b>{name}</b>", *NUMBERS),
                ids="{way}",
            ),
        ),
        x=Axis("share of right answers", percent=True, zero=True),
        y=Axis(names=True),
        facet=Facet("kind"),
        row=30,
    ).over(means)


def usual_spaces(study: Study) -> list[str]:
    """Return the spaces whose probes are swapped if none are named: of usual vision models, and of
    language models of their size.
    """
    seeing = default_spaces(study)
    names = language_of_sizes(study, [space.rpartition(":")[0] for space in seeing])
    every = [*seeing, *(str(find_space(study, name)) for name in names)]
    return list(dict.fromkeys(every))  # the usual spaces are of language if few models see


def seconds_for(question: Swap, study: Study) -> float:
    """Return about how many seconds an answer takes on a usual machine."""
    complete = question.complete(study)
    spaces, factors = len(complete.spaces), len(complete.factors)
    swaps = spaces * (spaces - 1) * (1 + complete.permutations) * SECONDS_SWAP
    share = max(0.1, study.size / 1024)
    return share * complete.folds * (spaces * factors * SECONDS_PROBE + swaps)


def factor_classes(study: Study, names: Sequence[str]) -> dict[str, Int64[np.ndarray, " n"]]:
    """Return the classes of factors from 0, by name; all that a probe can tell if none are named.

    A probe can tell a factor that is known of every studied stimulus and has 2 to MOST_VALUES
    values, no fractions. Raises UnknownNameError for other names, NotApplicableError if there is no
    such factor.
    """
    stimuli = study.store.stimuli(study.dataset.name).iloc[studied_indices(study)]
    fit = {
        str(name): stimuli[name]
        for name in stimuli
        if name != "stimulus" and _can_tell(stimuli[name])
    }
    for name in names:
        if name not in fit:
            raise UnknownNameError("factor that a probe can tell", name, fit)
    if not fit:
        raise NotApplicableError(
            f"a probe tells a factor, and {study.dataset.name!r} has none with 2 to {MOST_VALUES}"
            " values that is known of every stimulus; add one as a column of the dataset's table"
        )
    return {name: pd.factorize(fit[name], sort=True)[0].astype(np.int64) for name in names or fit}


def _can_tell(values: pd.Series) -> bool:
    if values.isna().any() or not 2 <= values.nunique() <= MOST_VALUES:
        return False
    return not pd.api.types.is_float_dtype(values) or bool((values % 1 == 0).all())


def _rows(
    trials: Trials,
    way: str,
    pairs: Sequence[tuple[int, int]],
    factors: Sequence[str],
    *,
    tested: bool,
) -> Iterator[dict[str, Any]]:
    """Yield a row per factor of one pair, or of the mean over several."""
    score = np.mean([trials.right[way, *pair] for pair in pairs], axis=0)
    own = np.mean([trials.right[way, one, one] for one, _ in pairs], axis=0)
    native = np.mean([trials.right["orthogonal", other, other] for _, other in pairs], axis=0)
    null = np.mean([trials.null[way, *pair] for pair in pairs], axis=0)
    for place, factor in enumerate((OVERALL, *factors)):
        places = slice(None) if factor == OVERALL else slice(place - 1, place)
        right, home, best = (part[places].mean(axis=0) for part in (score, own, native))
        drawn = null[:, places].mean(axis=1)
        share, chance = float(right.mean()), float(drawn.mean())
        _, low, high, *_ = crossed_mean(right[None], fixed="rows")
        kept = (np.nan,) * 3
        if best.mean() > chance:
            kept = ratio_interval(right - chance, best - chance)
        p = (1 + int((drawn >= share).sum())) / (1 + len(drawn)) if tested else np.nan
        yield {
            "factor": factor,
            "score": share,
            "low": low,
            "high": high,
            "chance": chance,
            "own": float(home.mean()),
            "native": float(best.mean()),
            **dict(zip(("kept", "kept_low", "kept_high"), kept, strict=True)),
            "p": p,
        }


def swap_findings(table: pd.DataFrame) -> list[Finding]:
    """Return what the better way keeps by kind of pair, and how many swaps beat anchors paired at
    random.
    """
    overall = table[table["factor"] == OVERALL]
    way = better_way(table)
    known = (overall["probe"] == MEAN) & overall["kept"].notna()
    means = overall[known & (overall["way"] == way)]
    why = "No space's own probes tell a factor better than chance, so none can be swapped"
    found = [Finding(why)] if means.empty else []
    found += [
        Finding(
            f"{row['kind'].capitalize()}, probes of other models beat chance",
            row["kept"],
            row["kept_low"],
            row["kept_high"],
            name="accuracy kept",
            unit="%",
            expected="+",
            note=f"Joined {WAYS[way]}.",
        )
        for row in means.to_dict("records")
    ]
    for one, rows in overall[overall["probe"] != MEAN].groupby("way", sort=False):
        sure = int((rows["q"] <= ALPHA).sum())
        claim = f"{sure} swaps {WAYS[str(one)]} beat anchors paired at random at q ≤ .05"
        found.append(Finding(claim, n=len(rows), over="swaps"))
    return found
