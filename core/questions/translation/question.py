"""Can two models be translated into each other with no pairs given? Over numbers of stimuli, and
over pairs of models.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64

from core.encoders.encoder import REALITY
from core.errors import InputError, MetricError
from core.figures.grammar import (
    Axis,
    Dots,
    Facet,
    Fixed,
    Level,
    Line,
    Palette,
    Plot,
    Ribbon,
    Symbols,
)
from core.machine.memory import check_memory
from core.metrics import METRICS
from core.options import MOST_STIMULI, neighbors_option, option, part, seed_option
from core.progress import tell_each
from core.questions.finding import ALPHA, Finding
from core.questions.question import Answer, StudyQuestion
from core.spaces.kernels import centered, linear
from core.spaces.preprocess import normalize_rows
from core.statistics.correlations import FEWEST, Correlation
from core.statistics.intervals import TAILS, mean_interval
from core.statistics.nulls import adjust, draw_orders
from core.statistics.trends import exchange, jackknife
from core.study.models import UNTRAINED, clusters, is_reality, trained
from core.study.spaces import Layer, by_size, find_spaces
from core.study.study import Study, known_worlds
from core.study.trainings import describe_trainings, kinship

MOST = 40  # fixed points; more have a probability below 10⁻⁴⁷
STARTS = "starts of one matching"

Kernel = Float64[np.ndarray, "n n"]
Permutation = Int64[np.ndarray, " n"]


def kernel_of(space: Float[np.ndarray, "n d"]) -> Kernel:
    """Return the centered kernel of cosines, its squared entries 1 on average; raises as
    `normalize_rows` and `centered`.
    """
    return len(space) * centered(linear(normalize_rows(space.astype(np.float64))))


def agreement(a: Kernel, b: Kernel, matched: Permutation) -> float:
    """Return the linear CKA of two spaces so paired, in [−1, 1]; matched: of each row of a its row
    of b.
    """
    return float((a * b[np.ix_(matched, matched)]).mean())


def match(a: Kernel, b: Kernel, *, starts: int, seed: int) -> Permutation:
    """Return for each row of a its row of b: the best of several solutions by Frank–Wolfe, from
    matched profiles, the mean of all permutations and random starts.

    The rows of b are shuffled first, so that their order tells nothing. Source: Vogelstein et al.
    2015 (FAQ).
    """
    from scipy.optimize import quadratic_assignment

    rng = np.random.default_rng(seed)
    order = rng.permutation(len(b))
    shuffled = b[np.ix_(order, order)]
    first = np.eye(len(a))[match_profiles(a, shuffled)]
    best, most = np.arange(len(a)), -np.inf
    for start in tell_each((first, "barycenter", *["randomized"] * starts), STARTS):
        options: Any = {"maximize": True, "P0": start, "rng": rng}
        solved = quadratic_assignment(a, shuffled, method="faq", options=options)
        if solved.fun > most:
            best, most = np.asarray(solved.col_ind, dtype=np.int64), solved.fun
    matched: Permutation = order[best]
    return matched


def match_profiles(a: Kernel, b: Kernel) -> Permutation:
    """Match stimuli by the sorted rows of both kernels. Source: Mémoli 2011, third lower bound."""
    from scipy.optimize import linear_sum_assignment

    rows_a, rows_b = np.sort(a, axis=1), np.sort(b, axis=1)
    costs = (rows_a**2).sum(1)[:, None] + (rows_b**2).sum(1) - 2 * rows_a @ rows_b.T
    return np.asarray(linear_sum_assignment(costs)[1], dtype=np.int64)


def partner_rank(a: Kernel, b: Kernel, matched: Permutation, truth: Permutation) -> float:
    """Return the mean rank of the true partner among all candidates: 1 is first, 0.5 chance.

    Stimulus i of a and j of b are Σₖ (Aᵢₖ − B_p(k)j)² apart; ties count half.
    """
    profiles = b[matched]
    apart = (profiles**2).sum(0) - 2 * a @ profiles
    own = apart[np.arange(len(a)), truth][:, None]
    beyond = (apart > own).sum(1) + ((apart == own).sum(1) - 1) / 2
    return float(beyond.mean() / (len(a) - 1))


@cache
def fixed_points(n: int) -> Float64[np.ndarray, " k"]:
    """Return the probabilities of 0, 1, 2 … fixed points of a random permutation of n: 1/k! Σ_j≤n−k
    (−1)ʲ/j!. Source: Montmort 1708.
    """
    signs = (-1.0) ** np.arange(n + 1)
    inverse = 1 / np.cumprod([1.0, *range(1, min(n, MOST) + 1)])
    alternating = np.cumsum(signs[: len(inverse)] * inverse)
    most = min(n, MOST)
    rest = np.minimum(n - np.arange(most + 1), len(alternating) - 1)
    chances: np.ndarray = inverse[: most + 1] * alternating[rest]
    chances.flags.writeable = False
    return chances


def summed_points(n: int, draws: int) -> Float64[np.ndarray, " k"]:
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, fixed_points(n))
    return total


def chance_interval(n: int, draws: int) -> tuple[float, float]:
    """Return the 95% interval of the share of partners that random matchings find, over so many
    draws of n stimuli.
    """
    chances = summed_points(n, draws)
    below = np.cumsum(chances)
    low = int(np.searchsorted(below, TAILS[0]))
    high = int(np.searchsorted(below, TAILS[1] - 1e-12))
    return low / (n * draws), high / (n * draws)


def chance_of(found: int, n: int, draws: int) -> float:
    """Return how often random matchings find as many partners or more: an exact one-sided p."""
    return float(min(1.0, summed_points(n, draws)[found:].sum()))


SIZE, SIZES = 64, (16, 32, 64, 128)
HALF = 0.5  # of the partners: from here on a translation works
MATRICES = 12  # of a number for every two stimuli, while two spaces are matched
DIMS, FEW = 16, 8  # dimensions and stimuli of what a machine is timed with
ONE_RECIPE, DESCENT, ACROSS = "one recipe", "descent", "across modalities"
WITH_REALITY = f"with {REALITY}"
KINDS = (ONE_RECIPE, DESCENT, "vision", "language", ACROSS, WITH_REALITY)
MARKS = dict(zip(KINDS, ("star", "diamond", "circle", "square", "triangle-up", "x"), strict=True))
CARD = (
    "<b>{top1:.1%}</b> of partners found",
    "chance {chance:.1%}, {q:p:q}",
    "rank {rank:.2f}, alignment {alignment:.2f}",
    "kernels agree {agreement:.2f}, with the true partners {agreement_true:.2f}",
)
MEASURED = {
    "n": "stimuli that are matched",
    "draws": "sets of stimuli, without one in common",
    "found": "partners found, out of n times the draws",
    "top1": "their share",
    "low": "low end of its 95% interval over draws (Student's t; from five draws)",
    "high": "high end of that interval",
    "rank": "rank of the true partner; 1 is first, 0.5 chance",
    "rank_low": "low end of its 95% interval",
    "rank_high": "high end of that interval",
    "agreement": "CKA of the spaces as matched",
    "agreement_true": "CKA with the true partners",
    "alignment": "mutual k-NN with the true partners",
    "chance": "share that random matchings find, 1/n",
    "chance_low": "low end of the exact 95% interval of random matchings",
    "chance_high": "high end of that interval",
    "p": "exact p of so many partners, one-sided",
    "q": "p adjusted for all rows",
}
Space = Float[np.ndarray, "n _"]
Pair = tuple[Space, Space]
Row = dict[str, Any]
Matrix = Float64[np.ndarray, "m m"]


@dataclass(frozen=True)
class Matching:
    """How two spaces are matched with no pairs given, and how alignment is measured."""

    starts: int = option(
        10,
        least=1,
        most=1000,
        label="Random starts",
        help="random starts, in addition to that from matched profiles; the best counts",
    )
    draws: int = option(
        5, least=1, most=1000, label="Draws", help="sets of stimuli, without one in common"
    )
    k: int = neighbors_option(help="of mutual k-NN, the alignment")
    seed: int = seed_option("seed of the sets, their order and starts")


@dataclass(frozen=True)
class Translation(StudyQuestion):
    """Can models be translated into each other without paired stimuli?"""

    command = "translate"
    version = 6
    device = None
    shown = ("space_x", "space_y", "kind", "n", "top1", "alignment", "rank", "q")
    columns: ClassVar[Mapping[str, str]] = {
        "space_x": "one space",
        "space_y": "another space",
        "kind": "what their models have in common: a recipe, descent, a modality, or none",
        **MEASURED,
    }

    spaces: tuple[str, ...] = option(
        (),
        label="Models",
        metavar="M[:LAYER]",
        help="spaces, penultimate blocks if no layer is named (the largest model of each objective"
        " and family in all its seeds, and reality)",
    )
    sizes: tuple[int, ...] = option(
        (),
        name="size",
        least=4,
        most=MOST_STIMULI,
        label="Images",
        help="how many stimuli are matched (64; of two spaces 16, 32, 64 and 128, of as many as"
        " there are)",
    )
    matching: Matching = part(Matching)

    def compared_metrics(self) -> tuple[str, ...]:
        return ("mutual_knn",)

    def usual_sizes(self, stimuli: int) -> tuple[int, ...]:
        """Return the numbers of stimuli that are matched, rising; if none is named SIZE, or of two
        spaces those of SIZES that there are and that have neighbors, or else all stimuli.
        """
        if self.sizes:
            return tuple(sorted(set(self.sizes)))
        if len(self.spaces) != 2:
            return (min(SIZE, stimuli),)
        fitting = tuple(size for size in SIZES if self.matching.k < size <= stimuli)
        return fitting or (stimuli,)

    def complete(self, study: Study) -> Translation:
        sizes = self.usual_sizes(study.size)
        check_sizes(sizes, study.size, self.matching.k)
        spaces = find_spaces(study, self.spaces or usual_models(study))
        if len(spaces) < 2:
            raise InputError(f"two spaces or more expected; got {len(spaces)}: name another")
        return replace(self, spaces=tuple(map(str, spaces)), sizes=sizes)

    def answer(self, study: Study) -> Answer:
        places = find_spaces(study, self.spaces)
        matching, kinds = self.matching, dict(kinds_of(study, places))
        held = {place: study.spaces(place.model)[place.layer] for place in places}
        steps = [(pair, size) for pair in combinations(places, 2) for size in self.sizes]
        rows = []
        for pair, size in tell_each(steps, "matchings"):
            x, y = (held[place] for place in pair)
            sets = draw_sets(study.size, size, draws=matching.draws, seed=matching.seed)
            measured = measure_pairs([(x[one], y[one]) for one in sets], matching)
            about = {"space_x": str(pair[0]), "space_y": str(pair[1]), "kind": kinds[pair]}
            rows.append(about | measured)
        table = pd.DataFrame(rows)
        table = table.assign(q=adjust(table["p"].to_numpy(float)))[list(self.columns)]
        if len(self.spaces) == 2:
            return Answer(table, [_best(table), _search(table)])
        return Answer(table, pair_findings(table, seed=matching.seed))

    def plot(self, table: pd.DataFrame) -> Plot:
        """Return what is found over numbers of stimuli or, of several pairs, over alignment."""
        return _size_plot(table) if len(self.spaces) == 2 else _pair_plot(table)


def pair_findings(table: pd.DataFrame, *, seed: int) -> list[Finding]:
    """Return whether more aligned pairs are easier to translate, and how many are beyond chance."""
    order = alignment_and_rank(table, seed=seed)
    sure, half = int((table["q"] <= ALPHA).sum()), int((table["top1"] >= HALF).sum())
    return [
        Finding(
            "More aligned models are easier to translate",
            order.value,
            order.low,
            order.high,
            order.p,
            name="ρ",
            n=order.n,
            expected="+",
            reason=order.reason,
        ),
        Finding(
            f"{sure:,} of {len(table):,} pairs of models are matched beyond chance (q ≤ .05),"
            f" {half:,} of them in at least half of the stimuli"
        ),
        _search(table),
    ]


def _size_plot(table: pd.DataFrame) -> Plot:
    parts = {"top1": "Matches found", "rank": "Rank of the true match"}
    ends = {"top1": ("low", "high"), "rank": ("rank_low", "rank_high")}
    long = pd.concat(
        [
            table.assign(part=name, value=table[name], bottom=table[low], top=table[high])
            for name, (low, high) in ends.items()
        ]
    )
    long["even"] = np.where(long["part"] == "rank", 0.5, np.nan)  # chance, in its own panel
    return Plot(
        "Translation over the number of stimuli",
        marks=(
            Ribbon("n", "chance_low", "chance_high", rows="part == 'top1'"),
            Line("n", "value", color=Fixed("ember")),
            Dots(
                "n",
                "value",
                color=Fixed("ember"),
                low="bottom",
                high="top",
                card=CARD,
                ids="{n} stimuli, {draws} draws",
            ),
        ),
        x=Axis("stimuli", log=True, ticks="data"),
        y={
            "top1": Axis("share matched", percent=True),
            "rank": Axis("1 is first, 0.5 chance"),
        },
        facet=Facet("part", names=parts),
        levels=(Level("even"),),
        height=330,
    ).over(long)


def _pair_plot(table: pd.DataFrame) -> Plot:
    others = sorted({*table["kind"]} - {*KINDS})  # of imported modalities
    kinds = [*(kind for kind in KINDS if kind in set(table["kind"])), *others]
    colors = {kind: "ember" if kind == ONE_RECIPE else "soft" for kind in kinds}
    symbols = {kind: MARKS.get(kind, "pentagon") for kind in kinds}
    return Plot(
        "Translation over alignment",
        marks=(
            Dots(
                "alignment",
                "top1",
                color=Palette("kind", colors),
                symbol=Symbols("kind", symbols),
                size=8,
                card=("<b>{space_x}</b> and <b>{space_y}</b>", *CARD),
                ids="{n} stimuli, {draws} draws",
            ),
        ),
        x=Axis("alignment (mutual k-NN)"),
        y=Axis("share matched", percent=True, range=(-0.04, 1.06)),
        levels=(Level("chance"),),
        height=400,
    ).over(table)


def usual_models(study: Study) -> list[str]:
    """Return the largest model of each objective and family in all its seeds, and reality."""
    models = study.models()
    largest = by_size(study)
    largest = largest.groupby(largest["model"].map(clusters(largest, "group"))).last()
    seeds = trained(models)
    seeds = seeds[seeds["varies"].isin(["", "seed"]) & (seeds["group"] != UNTRAINED)]
    names = seeds.loc[seeds["recipe"].isin(largest["recipe"]) & ~is_reality(seeds), "model"]
    return [*names, *known_worlds(study)]


def _best(rows: pd.DataFrame) -> Finding:
    """Return whether matches are found beyond chance, at the best size."""
    sure = rows[rows["q"] <= ALPHA]
    best = (rows if sure.empty else sure).nlargest(1, "top1").iloc[0]
    return Finding(
        f"{best['space_x']} and {best['space_y']} are matched beyond chance",
        best["top1"],
        best["low"],
        best["high"],
        best["q"],
        chance=best["chance"],
        unit="%",
        digits=3,
        n=int(best["n"]),
        over="stimuli",
        expected="+",
        note=f"Significant at {len(sure)} of {len(rows)} sizes.",
    )


def _search(table: pd.DataFrame) -> Finding:
    """Return in how many rows a better search would find what the kernels hold."""
    missed = (table["agreement_true"] > table["agreement"]).mean()
    return Finding(
        "The search misses the true matching, which scores higher than the one found",
        float(missed),
        unit="%",
        n=len(table),
        over="rows",
        note="In other rows similarity alone does not identify it.",
    )


def check_sizes(sizes: Sequence[int], stimuli: int, k: int) -> None:
    """Raise MetricError for more stimuli than there are or too few for k neighbors, DeviceError for
    more than fit into memory.
    """
    for size in sizes:
        if size > stimuli:
            raise MetricError(f"{size} stimuli cannot be matched, there are {stimuli}; name fewer")
        if size <= k:
            raise MetricError(
                f"{size} stimuli have fewer than k = {k} neighbors each; match more or lower --k"
            )
        check_memory(MATRICES * 8 * size**2, f"matchings of {size:,} stimuli", "match fewer")


def draw_sets(
    stimuli: int, size: int, *, draws: int, seed: int
) -> Iterator[Int64[np.ndarray, " size"]]:
    """Yield sets of stimuli that have none in common, at most `draws`."""
    order = draw_orders(stimuli, count=1, seed=seed)[0]
    for draw in range(min(draws, stimuli // size)):
        yield order[draw * size : (draw + 1) * size]


def measure_pairs(pairs: Sequence[Pair], matching: Matching) -> Row:
    """Return a row of `MEASURED`, but q, over pairs of spaces of n stimuli whose rows are partners.

    If agreement_true is higher than agreement, a better matching was there and not found.
    """
    kernels = [(kernel_of(x), kernel_of(y)) for x, y in pairs]
    n, draws = len(pairs[0][0]), len(pairs)
    truth = np.arange(n)
    matched = [
        match(a, b, starts=matching.starts, seed=matching.seed + draw)
        for draw, (a, b) in enumerate(kernels)
    ]
    hits = np.array([np.count_nonzero(each == truth) for each in matched])
    found = list(zip(kernels, matched, strict=True))
    ranks = np.array([partner_rank(a, b, each, truth) for (a, b), each in found])
    low, high = np.clip(mean_interval(hits / n), 0, 1)
    rank_low, rank_high = np.clip(mean_interval(ranks), 0, 1)
    chance_low, chance_high = chance_interval(n, draws)
    return {
        "n": n,
        "draws": draws,
        "found": int(hits.sum()),
        "top1": float(hits.mean() / n),
        "low": float(low),
        "high": float(high),
        "rank": float(ranks.mean()),
        "rank_low": float(rank_low),
        "rank_high": float(rank_high),
        "agreement": float(np.mean([agreement(a, b, each) for (a, b), each in found])),
        "agreement_true": float(np.mean([agreement(a, b, truth) for a, b in kernels])),
        "alignment": float(np.mean([_aligned(x, y, matching.k) for x, y in pairs])),
        "chance": 1 / n,
        "chance_low": chance_low,
        "chance_high": chance_high,
        "p": chance_of(int(hits.sum()), n, draws),
    }


def _aligned(x: Space, y: Space, k: int) -> float:
    return METRICS["mutual_knn"](*(normalize_rows(each.astype(np.float32)) for each in (x, y)), k=k)


@cache
def seconds_for(size: int, matching: Matching) -> float:
    """Return about how many seconds this machine takes to measure one pair over all draws."""
    spent = {}
    for n in (min(size, FEW), size):  # the first imports what it needs
        latent, *noise = np.random.default_rng(0).normal(size=(3, n, DIMS))
        began = time.perf_counter()
        measure_pairs(
            [(latent + noise[0], latent + noise[1])], replace(matching, k=min(matching.k, n - 1))
        )
        spent[n] = time.perf_counter() - began
    return spent[size] * matching.draws


def kinds_of(study: Study, places: Sequence[Layer]) -> Iterator[tuple[tuple[Layer, Layer], str]]:
    """Yield every two spaces with what their models have in common."""
    trainings = describe_trainings(study)
    row = {name: number for number, name in enumerate(trainings["model"])}
    recipe = dict(zip(trainings["model"], trainings["recipe"], strict=True))
    modality = study.models().set_index("model")["modality"]
    kin = kinship(trainings)
    for x, y in combinations(places, 2):
        both_listed = x.model in row and y.model in row
        modalities = {modality[x.model], modality[y.model]}
        if x.model == y.model or (both_listed and recipe[x.model] == recipe[y.model]):
            kind = ONE_RECIPE
        elif both_listed and kin[row[x.model], row[y.model]]:
            kind = DESCENT
        elif REALITY in (x.model, y.model):
            kind = WITH_REALITY
        else:
            kind = modalities.pop() if len(modalities) == 1 else ACROSS
        yield (x, y), kind


def alignment_and_rank(rows: pd.DataFrame, *, seed: int) -> Correlation:
    """Return Spearman's ρ of alignment and the true partner's rank over pairs of different recipes;
    see `correlate_pairs`.
    """
    names = sorted({*rows["space_x"], *rows["space_y"]})
    place = {name: number for number, name in enumerate(names)}
    matrices = np.full((2, len(names), len(names)), np.nan)
    groups = np.arange(len(names), dtype=float)
    for row in rows.to_dict("records"):
        x, y = place[row["space_x"]], place[row["space_y"]]
        if row["kind"] == ONE_RECIPE:
            groups[groups == groups[y]] = groups[x]
            continue
        matrices[0, x, y] = matrices[0, y, x] = row["alignment"]
        matrices[1, x, y] = matrices[1, y, x] = row["rank"]
    return correlate_pairs(matrices[0], matrices[1], groups, seed=seed)


def correlate_pairs(
    x: Matrix, y: Matrix, groups: Float64[np.ndarray, " m"], *, draws: int = 999, seed: int = 0
) -> Correlation:
    """Return Spearman's ρ of two symmetric matrices over their pairs, with its interval and p.

    x, y: NaN for pairs that do not count. groups: of models, such as the seeds of a recipe.
    Interval: jackknife over groups. p: two-sided, of permuted groups (Mantel 1967). NaN with a
    reason below six groups and if either is constant.
    """
    count, members = len(x), np.unique(groups)
    rho = _rho(x, y)
    if len(members) < FEWEST or not np.isfinite(rho):
        reason = (
            "all pairs have the same value"
            if len(members) >= FEWEST
            else f"needs {FEWEST} recipes; {len(members)} loaded"
        )
        return Correlation(np.nan, np.nan, np.nan, np.nan, count, reason)
    orders = exchange(groups.astype(np.int64), draws=draws, seed=seed)
    reached = sum(abs(_rho(x[np.ix_(one, one)], y)) >= abs(rho) - 1e-12 for one in orders)
    kept = [groups != one for one in members]
    without = np.array([_rho(x[np.ix_(one, one)], y[np.ix_(one, one)]) for one in kept])
    low, high = np.clip(jackknife(rho, without, freedom=len(members) - 1), -1, 1)
    return Correlation(rho, float(low), float(high), (1 + reached) / (1 + draws), count)


def _rho(x: Matrix, y: Matrix) -> float:
    upper = np.triu_indices(len(x), 1)
    pairs = pd.DataFrame({"x": x[upper], "y": y[upper]}).dropna()
    if len(pairs) < 3 or pairs.nunique().min() < 2:
        return np.nan
    return float(pairs["x"].rank().corr(pairs["y"].rank()))
