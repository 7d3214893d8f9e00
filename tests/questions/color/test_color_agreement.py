"""Agreement is what its definitions say, shuffled colors agree by chance, and a copy agrees in
full.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform

from core.errors import MetricError
from core.questions.color.agreement import COLUMNS, Arrangement, agree, shared_neighbors
from core.statistics.nulls import draw_orders

SEEDS = st.integers(0, 2**32 - 1)
ALL = {("dissimilarities", name) for name in ("kendall", "spearman", "neighbors")}
ALL |= {("layouts", name) for name in ("kendall", "spearman", "neighbors", "disparity")}


def arrange(seed: int, n: int = 9, *, dims: int = 3) -> Arrangement:
    points = np.random.default_rng(seed).normal(size=(n, dims))
    return Arrangement(squareform(pdist(points)), points)


def values(x: Arrangement, y: Arrangement, **choices: int) -> dict[tuple[str, str], float]:
    table = agree(x, y, **({"permutations": 0, "draws": 0} | choices))
    return table.set_index(["of", "measure"])["value"].to_dict()


@settings(max_examples=20)
@given(SEEDS)
def test_values_are_those_of_slow_definitions(seed):
    x, y = arrange(seed), Arrangement(arrange(seed + 1).dissimilarities, arrange(seed + 2).layout)
    found = values(x, y, k=2)
    assert set(found) == ALL
    pairs = list(combinations(range(9), 2))
    for of, a, b in (
        ("dissimilarities", x.dissimilarities, y.dissimilarities),
        ("layouts", *(squareform(pdist(side.layout)) for side in (x, y))),
    ):
        u, v = (np.array([matrix[pair] for pair in pairs]) for matrix in (a, b))
        agreeing = sum(
            np.sign(u[i] - u[j]) * np.sign(v[i] - v[j])
            for i, j in combinations(range(len(pairs)), 2)
        )
        assert found[of, "kendall"] == pytest.approx(agreeing / (len(pairs) * (len(pairs) - 1) / 2))
        assert found[of, "spearman"] == pytest.approx(stats.spearmanr(u, v).statistic)
        shares = []
        for i in range(9):
            near = [
                set(sorted((j for j in range(9) if j != i), key=lambda j, m=m, i=i: m[i, j])[:2])
                for m in (a, b)
            ]
            shares.append(len(near[0] & near[1]) / 2)
        assert found[of, "neighbors"] == pytest.approx(np.mean(shares))
        assert shared_neighbors(a, b, k=2) == pytest.approx(shares)
    assert found["layouts", "disparity"] == pytest.approx(procrustes(x.layout, y.layout)[2])


@settings(max_examples=10)
@given(SEEDS)
def test_agreement_is_symmetric_and_of_order_alone(seed):
    x, y = arrange(seed), arrange(seed + 1)
    bent = Arrangement(np.exp(x.dissimilarities) - 1, x.layout)
    assert values(x, y) == pytest.approx(values(y, x))
    assert values(bent, y) == pytest.approx(values(x, y))
    order = np.random.default_rng(seed).permutation(9)
    moved = [
        Arrangement(side.dissimilarities[np.ix_(order, order)], side.layout[order])
        for side in (x, y)
    ]
    assert values(*moved) == pytest.approx(values(x, y))


def test_neither_bending_a_layout_nor_shuffling_one_side_goes_unseen():
    x = arrange(0)
    bent = Arrangement(x.dissimilarities, x.layout**3)
    assert values(x, bent)["layouts", "disparity"] > 0.05
    order = np.random.default_rng(1).permutation(9)
    assert (
        values(x, Arrangement(x.dissimilarities[np.ix_(order, order)], x.layout))[
            "dissimilarities", "kendall"
        ]
        < 0.9
    )


def test_a_copy_agrees_in_full_and_no_shuffle_does_better():
    x = arrange(0, 12)
    table = agree(x, x, permutations=99, draws=50).set_index(["of", "measure"])
    assert list(table.columns) == [column for column in COLUMNS if column not in ("of", "measure")]
    full = table.index.get_level_values("measure") != "disparity"
    assert table.loc[full, "value"].to_numpy() == pytest.approx(np.ones(6))
    assert table.loc[("layouts", "disparity"), "value"] == pytest.approx(0, abs=1e-12)
    assert (table["p"] == 0.01).all()
    assert table.loc[full, ["low", "high"]].to_numpy() == pytest.approx(np.ones((6, 2)))


def test_p_and_chance_by_hand():
    x, y = arrange(0), arrange(1)
    found = agree(x, y, permutations=20, draws=0, seed=3).set_index(["of", "measure"])
    orders = draw_orders(9, count=20, seed=3)
    tau = [
        stats.kendalltau(
            squareform(x.dissimilarities), squareform(y.dissimilarities[np.ix_(o, o)])
        ).statistic
        for o in orders
    ]
    row = found.loc[("dissimilarities", "kendall")]
    assert row["chance"] == pytest.approx(np.mean(tau))
    assert row["p"] == (1 + sum(value >= row["value"] for value in tau)) / 21
    apart = [procrustes(x.layout, y.layout[order])[2] for order in orders]
    row = found.loc[("layouts", "disparity")]
    assert row["chance"] == pytest.approx(np.mean(apart))
    assert row["p"] == (1 + sum(value <= row["value"] for value in apart)) / 21
    assert np.isnan(row[["low", "high"]].to_numpy(float)).all()


def test_what_has_no_value_has_no_p():
    flat = Arrangement(
        arrange(0).dissimilarities, np.ones((9, 3))
    )  # all colors in one place, so that no order of pairs is there
    found = agree(flat, arrange(1), permutations=9, draws=5).set_index(["of", "measure"])
    for measure in ("kendall", "spearman"):
        assert found.loc[("layouts", measure), ["value", "chance", "p", "low", "high"]].isna().all()
        assert 0 < found.loc[("dissimilarities", measure), "p"] <= 1


def test_shuffled_labels_agree_by_chance_and_their_p_is_uniform():
    truth = arrange(0, 8)
    rng = np.random.default_rng(7)
    found = []
    for seed in range(60):
        order = rng.permutation(8)
        other = Arrangement(truth.dissimilarities[np.ix_(order, order)], truth.layout[order])
        found.append(
            agree(truth, other, permutations=19, draws=0, seed=seed).set_index(["of", "measure"])[
                ["value", "p"]
            ]
        )
    for of, measure in (
        ("dissimilarities", "kendall"),
        ("dissimilarities", "spearman"),
        ("layouts", "disparity"),
    ):
        values, p = np.array([table.loc[(of, measure)] for table in found]).T
        assert (
            stats.kstest(p - rng.random(60) / 20, "uniform").pvalue > 0.001
        )  # p takes 20 values; spread evenly between them
        if measure != "disparity":
            assert abs(values.mean()) < 4 * values.std() / 60**0.5


def test_intervals_hold_the_value_and_narrow_with_more_colors():
    def noisy(n: int) -> Arrangement:
        side = arrange(0, n)
        points = side.layout + np.random.default_rng(1).normal(size=(n, 3)) / 2
        return Arrangement(squareform(pdist(points)), points)

    few, many = (agree(arrange(0, n), noisy(n), permutations=0, draws=100) for n in (8, 30))
    assert (few["low"] <= few["value"]).all()
    assert (few["value"] <= few["high"]).all()
    assert (many["high"] - many["low"] < few["high"] - few["low"]).sum() >= 6
    assert few["p"].isna().all()
    assert (many["low"] >= -1).all()
    assert (many["high"] <= 1).all()


def test_a_color_drawn_twice_is_no_pair():
    """Were it one, the pair of a color with its copy would be the nearest in both, and raise the
    correlation of shuffled colors.
    """
    x, order = arrange(0, 8), np.random.default_rng(0).permutation(8)
    y = Arrangement(x.dissimilarities[np.ix_(order, order)], x.layout[order])
    drawn = np.random.default_rng(5).integers(8, size=(50, 8))
    slow = []
    for take in drawn:
        pairs = [(i, j) for i, j in combinations(range(8), 2) if take[i] != take[j]]
        u, v = ([side.dissimilarities[take[i], take[j]] for i, j in pairs] for side in (x, y))
        slow.append(stats.spearmanr(u, v).statistic)
    row = (
        agree(x, y, permutations=0, draws=50, seed=5)
        .set_index(["of", "measure"])
        .loc[("dissimilarities", "spearman")]
    )
    low, high = np.clip(row["value"] + np.quantile(slow - np.mean(slow), (0.025, 0.975)), -1, 1)
    assert (row["low"], row["high"]) == pytest.approx((low, high))


def test_ties_share_a_rank_and_the_first_of_equals_is_nearer():
    same = np.array(
        [[0, 1, 1, 2, 2], [1, 0, 1, 2, 2], [1, 1, 0, 2, 2], [2, 2, 2, 0, 1], [2, 2, 2, 1, 0]], float
    )
    other = np.array(
        [[0, 2, 1, 1, 1], [2, 0, 2, 1, 1], [1, 2, 0, 1, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 0]], float
    )
    found = values(
        Arrangement(same, arrange(0, 5).layout), Arrangement(other, arrange(0, 5).layout), k=1
    )
    u, v = squareform(same), squareform(other)
    assert found["dissimilarities", "kendall"] == pytest.approx(stats.kendalltau(u, v).statistic)
    assert found["dissimilarities", "spearman"] == pytest.approx(stats.spearmanr(u, v).statistic)
    assert shared_neighbors(same, other, k=1) == pytest.approx(np.array([0, 0, 1, 0, 0]))


@pytest.mark.parametrize(
    ("x", "y", "k", "message"),
    [
        (arrange(0, 6), arrange(0, 7), 3, "of the same colors; got 6 and 7"),
        (arrange(0, 4), arrange(0, 4), 3, "at least 5 colors expected"),
        (arrange(0, 6), arrange(0, 6), 6, r"k must lie in 1 … 5 for 6 colors; got 6"),
        (
            arrange(0, 6),
            Arrangement(np.ones((6, 6)) - np.eye(6), arrange(0, 6).layout),
            3,
            "all colors are equally unlike",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(x, y, k, message):
    with pytest.raises(MetricError, match=message):
        agree(x, y, k=k, permutations=1, draws=0)
