"""The claims of the note that are shown, over five seeds with the interval of their mean."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from core.statistics.intervals import mean_interval
from core.theory.deep_linear.minima import least_entropy, least_norm
from core.theory.deep_linear.network import make_nets, sharpness
from core.theory.deep_linear.runs import (
    SYMMETRY,
    WORLDS,
    approach_edge,
    edge_steps,
    follow_sharpness,
    least_values,
    solve_repeatedly,
    train_entropic,
    train_noisily,
)
from core.theory.deep_linear.setup import NO_NOISE, NOISE, Descent

SIZES = {"d": 5, "c": 5, "rank": 3}
FOUR = ((6, 7), (5, 9, 8), (4,), (7, 5, 6, 8))
SEEDS = range(5)


def ends(values) -> tuple[float, float]:
    return mean_interval(np.array([float(value) for value in values]))


# --- four networks of different depths and widths, all pairs ---


def least_of_pairs(found, at: int, run: str) -> dict[tuple[str, str], float]:
    """Return the least alignment of any two layers of each pair of networks."""
    pairs = found["pairs"]
    rows = pairs[(pairs["at"] == at) & (pairs["run"] == run)]
    names = rows["row"].str[0], rows["column"].str[0]
    return rows.groupby(list(names))["alignment"].min().to_dict()


@pytest.mark.slow
def test_four_networks_are_aligned_pair_by_pair() -> None:
    for seed in SEEDS:
        found = train_entropic(make_nets(FOUR, seed=seed))
        last = found["looks"]["at"].max()
        reached = least_of_pairs(found, last, "entropic loss")
        assert set(reached) == set(itertools.product("abcd", repeat=2))
        assert min(reached.values()) > 1 - 1e-4
        assert min(least_of_pairs(found, 0, "entropic loss").values()) < 0.5
        assert found["looks"].query("at == @last")["distance"].max() < 5e-3


def test_small_networks_are_aligned_pair_by_pair() -> None:
    found = train_entropic(make_nets(((3,), (2, 3), (4,), (2,)), d=3, c=3, rank=2))
    last = found["looks"]["at"].max()
    assert min(least_of_pairs(found, last, "entropic loss").values()) > 1 - 1e-4


@pytest.mark.slow
def test_noise_aligns_four_networks_and_its_absence_does_not() -> None:
    noisy, still = [], []
    for seed in SEEDS:
        nets = make_nets(FOUR, seed=seed)
        looks = train_noisily(nets, Descent(0.003), counts=(100_000,))["looks"]
        reached = looks.groupby("run")["min_alignment"].first()
        noisy.append(reached[NOISE])
        still.append(reached[NO_NOISE])
    assert ends(noisy)[0] > 0.9
    assert ends(still)[1] < 0.6


# --- representations and gradients align (footnote 16) ---


@pytest.mark.slow
def test_representations_and_gradients_become_proportional_in_every_layer() -> None:
    first, last = [], []
    for seed in SEEDS:
        nets = make_nets(FOUR[:2], seed=seed)
        layers = train_noisily(nets, Descent(0.01), counts=(0, 100_000))["layers"]
        noisy = layers[layers["run"] == NOISE].dropna(subset=["proportion"])
        first.append(noisy.loc[noisy["at"] == 0, "proportion"].min())
        last.append(noisy.loc[noisy["at"] > 0, "proportion"].min())
        solved = train_entropic(nets)["layers"].dropna(subset=["proportion"])
        assert solved.groupby(["network", "layer"])["proportion"].last().min() > 1 - 1e-4
    assert ends(last)[0] > 0.9
    assert ends(first)[1] < 0.5


# --- at a solution that SGD found, λ* = 0 ---


def star_by_seed(widths, layer: int) -> pd.DataFrame:
    rows = []
    for seed in SEEDS:
        (net,) = make_nets([widths], seed=seed)
        for held, repeats in ((solve_repeatedly(net, SYMMETRY, 1), "SGD"), ([net.start], "start")):
            found = least_values(net, held, layer=layer)
            assert found["slope"].abs().max() < 1e-9  # equation 31, for every T
            rows.append(found.assign(seed=seed, after=repeats))
    return pd.concat(rows)


@pytest.mark.parametrize(
    ("widths", "layer"),
    [((4,), 1), *(pytest.param((6, 7), layer, marks=pytest.mark.slow) for layer in (1, 2))],
)
def test_descent_ends_where_the_entropy_is_least_along_every_symmetry(widths, layer) -> None:
    table = star_by_seed(widths, layer)
    for kind in ("all units", "random", "unit"):
        rows = table[table["generator"].str.startswith(kind)]
        means = rows.groupby(["after", "seed"])["least"].mean().unstack("after")
        low, high = ends(means["SGD"])
        assert low <= 0 <= high
        assert high - low < 0.25
    sizes = table.groupby("after")["least"].apply(lambda values: values.abs().mean())
    assert sizes["SGD"] < sizes["start"] / 3


# --- sharpening or flattening, and alignment, by the same force (footnote 20) ---


def changes(seed: int) -> pd.DataFrame:
    """Return how far sharpness (its logarithm), alignment and entropy have moved since the loss has
    settled, by data and run, with how they move together.
    """
    table = follow_sharpness({**SIZES, "seed": seed}, (6, 7), Descent(0.01, 256))["looks"]
    rows = []
    for (data, run), course in table.groupby(["data", "run"]):
        settled = course[course["at"] >= 1500]
        ranks = settled[["sharpness", "entropy", "alignment"]].corr("spearman")
        ratio = settled["sharpness"].iloc[-1] / settled["sharpness"].iloc[0]
        rows.append(
            {
                "data": data,
                "run": run,
                "seed": seed,
                "sharpness": math.log(ratio),
                "alignment": settled["alignment"].iloc[-1] - settled["alignment"].iloc[0],
                "entropy": settled["entropy"].iloc[-1] / settled["entropy"].iloc[0] - 1,
                "aligns with entropy": ranks.loc["entropy", "alignment"],
                "sharpens with entropy": ranks.loc["entropy", "sharpness"],
            }
        )
    return pd.DataFrame(rows)


@pytest.mark.slow
def test_noise_sharpens_or_flattens_while_it_aligns_and_nothing_moves_without_it() -> None:
    table = pd.concat([changes(seed) for seed in SEEDS])
    by = {key: rows.set_index("seed") for key, rows in table.groupby(["data", "run"])}
    for data, sign in (("sharpens", 1), ("flattens", -1)):
        noisy = by[data, NOISE]
        assert ends(sign * noisy["sharpness"])[0] > 0.2
        assert ends(noisy["alignment"])[0] > 0
        assert ends(noisy["entropy"])[1] < -0.2
        assert ends(noisy["aligns with entropy"])[1] < -0.4
        assert ends(-sign * noisy["sharpens with entropy"])[0] > 0.4
        still = by[data, NO_NOISE]
        assert (ends(noisy["sharpness"].abs() - 5 * still["sharpness"].abs()))[0] > 0
        assert (ends(noisy["alignment"] - still["alignment"]))[0] > 0


# --- the edge of stability ---


def edge_course(seed: int) -> dict[str, float]:
    looks = approach_edge({**SIZES, "seed": seed}, 6)["looks"]
    large, small = (rows for _, rows in sorted(looks.groupby("step"), reverse=True))
    until = large["time"].max()
    late, earlier = (large[large["time"] > share * until] for share in (0.4, 0.15))
    last = small[small["time"] > 0.4 * until]
    return {
        "theory over edge": looks["sharpness_theory"].iloc[0] * large["step"].iloc[0] / 2,
        "large": late["edge"].mean(),
        "rise": late["edge"].mean() - earlier[earlier["time"] <= 0.4 * until]["edge"].mean(),
        "small over edge": last["sharpness"].mean() * large["step"].iloc[0] / 2,
        "small": last["edge"].max(),
        "large alignment": late["alignment"].mean(),
        "small alignment": last["alignment"].mean(),
    }


def test_the_edge_holds_a_large_step_back() -> None:
    seen = edge_course(2)
    assert seen["theory over edge"] > 3
    assert 0.75 < seen["large"] < 1.05
    assert seen["small over edge"] > 1.2
    assert seen["large alignment"] < seen["small alignment"] - 0.03


@pytest.mark.slow
def test_a_large_step_stays_at_the_edge_unaligned_and_a_small_one_passes_it() -> None:
    table = pd.DataFrame([edge_course(seed) for seed in SEEDS])
    assert table["theory over edge"].min() > 1  # the solution is beyond the edge of the large step
    assert 0.8 < ends(table["large"])[0] <= ends(table["large"])[1] < 1.0
    assert ends(table["rise"].abs())[1] < 0.2
    assert ends(table["small over edge"])[0] > 1.0
    assert table["small"].max() < 0.8  # nowhere near an edge of its own
    low, _ = ends(table["small alignment"] - table["large alignment"])
    assert low > 0
    assert ends(table["large alignment"])[1] < 0.95


@pytest.mark.slow
def test_descent_diverges_beyond_the_edge_of_every_solution() -> None:
    for seed in SEEDS:
        (net,) = make_nets([[6]], **SIZES, seed=seed, **WORLDS["edge"])
        large, _ = edge_steps(net)
        looks = approach_edge({**SIZES, "seed": seed}, 6, (8 * large,))["looks"]
        assert np.isnan(looks["sharpness"].iloc[-1])


def test_an_ill_conditioned_view_flattens_the_aligned_solution_and_quiet_modes_sharpen_it() -> None:
    """At one norm of M^I Z, not its condition but that of the noise makes the aligned solution
    sharper than that of least norm: the note's example is seen the other way round.
    """
    ratios = {"view": [], "noise": [], "neither": []}
    for seed in SEEDS:
        for name, choices in (
            ("neither", {"condition": 1.0}),
            ("view", {"condition": 100.0}),
            ("noise", {"condition": 1.0, "quiet": 1e4}),
        ):
            (net,) = make_nets([[6]], **SIZES, seed=seed, **choices)
            sharp, flat = (sharpness(solve(net), net) for solve in (least_entropy, least_norm))
            ratios[name].append(math.log(sharp / flat))
    differences = {
        name: np.array(ratios[name]) - np.array(ratios["neither"]) for name in ("view", "noise")
    }
    assert ends(differences["view"])[1] < -1
    assert ends(differences["noise"])[0] > 1
