"""Dispersion: planted stimuli and models are found, and every figure is what its formula says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.errors import MetricError
from core.progress import heard_by
from core.questions.dispersion.residuals import (
    leave_one_out,
    relate,
    residuals,
    summarize,
    tail,
)
from core.statistics.correlations import correlate_rows
from core.statistics.nulls import draw_orders
from core.statistics.procrustes import generalized_procrustes


def family(seed, *, n=60, models=4, noise=0.2, dims=8):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 5))
    return [
        shared @ rng.normal(size=(5, dims)) + noise * rng.normal(size=(n, dims))
        for _ in range(models)
    ]


def test_planted_outlier_stimuli_are_ranked_first_by_every_summary():
    spaces, rng = family(0, noise=0.1), np.random.default_rng(1)
    planted = [7, 30, 51]
    for space in spaces:
        space[planted] = 3 * space.std() * rng.normal(size=(3, space.shape[1]))
    found = summarize(residuals(generalized_procrustes(spaces)))
    for name in ("mean", "pc1"):
        assert set(np.argsort(-found[name])[:3]) == set(planted)


def moved_by_an_odd_model(seed, *, n, least, most, dims):
    """Return how well each summary keeps its order when a seventh model has nothing in common with
    six, and the mean's rise.

    Stimuli differ in how noisy the six find them, from `least` to `most` times what the models
    share.
    """
    rng = np.random.default_rng(seed)
    shared, noisy = rng.normal(size=(n, 5)), rng.uniform(least, most, size=(n, 1))
    spaces = [
        shared @ rng.normal(size=(5, dims)) + noisy * rng.normal(size=(n, dims)) for _ in range(6)
    ]
    odd = spaces[0][rng.permutation(n)]
    clean, spoiled = (
        summarize(residuals(generalized_procrustes(given))) for given in (spaces, [*spaces, odd])
    )
    kept = {name: stats.spearmanr(clean[name], spoiled[name]).statistic for name in ("mean", "pc1")}
    return kept, spoiled["mean"].mean() / clean["mean"].mean()


@pytest.mark.parametrize("seed", range(3))
def test_an_odd_model_moves_the_mean_but_not_the_first_axis_where_models_agree_on_what_is_hard(
    seed,
):
    """Stated bound: pc1 keeps its order with a Spearman of 0.98 where the odd model raises the mean
    by a tenth and more.
    """
    kept, rise = moved_by_an_odd_model(seed, n=300, least=0.1, most=3, dims=12)
    assert rise > 1.1
    assert kept["pc1"] > 0.98
    assert kept["pc1"] > kept["mean"]


def test_the_first_axis_follows_an_odd_model_if_the_others_hardly_differ():
    kept, _ = moved_by_an_odd_model(0, n=100, least=0.2, most=1.5, dims=20)
    assert kept["pc1"] < 0.5 < kept["mean"]


def test_summaries_are_what_they_are_called():
    rows = np.array([[1.0, 2, 3, 10], [4, 4, 4, 4], [0, 5, 6, 7], [2, 2, 8, 9]])
    found = summarize(rows)
    assert found["mean"].tolist() == [4, 4, 4.5, 5.25]
    values, axes = np.linalg.eigh(np.cov(rows.T))
    by_hand = (rows - rows.mean(axis=0)) @ axes[:, -1]
    np.testing.assert_allclose(np.abs(found["pc1"]), np.abs(by_hand))
    assert found["explained"].tolist() == pytest.approx([values[-1] / values.sum()] * 4)
    assert np.corrcoef(found["pc1"], found["mean"])[0, 1] > 0


def test_copies_of_one_space_have_no_first_axis():
    space = family(0)[0]
    found = summarize(residuals(generalized_procrustes([space, space[:, ::-1]])))
    assert found["pc1"].isna().all()
    assert found["explained"].isna().all()
    assert found["mean"].max() < 1e-12


def test_each_space_is_compared_with_the_consensus_of_the_others():
    spaces = family(2)
    spaces[0] = np.hstack(
        [spaces[0], np.random.default_rng(5).normal(size=(60, 9))]
    )  # wider than the room of the others
    found = leave_one_out(spaces)
    dispersion, deviation = found.dispersion, found.deviation
    others = generalized_procrustes(spaces[1:])
    np.testing.assert_allclose(dispersion[:, 0], residuals(others).mean(axis=1), rtol=1e-6)
    wide = spaces[0] - spaces[0].mean(axis=0)
    wide, joint = wide / np.linalg.norm(wide), np.pad(others.joint, ((0, 0), (0, 9)))
    left, _, right = np.linalg.svd(wide.T @ joint)
    np.testing.assert_allclose(
        deviation[:, 0], np.linalg.norm(wide @ (left @ right) - joint, axis=1), rtol=1e-6
    )
    inside = residuals(generalized_procrustes(spaces))
    assert (
        deviation.mean(axis=0) > inside.mean(axis=0)
    ).all()  # a space draws a consensus that it is part of toward itself


def test_leaving_one_out_reports_and_needs_three_spaces():
    told = []
    with heard_by(lambda *progress: told.append(progress)):
        leave_one_out(family(3, models=3))
    assert told == [(done, 3, "spaces left out of the consensus") for done in range(4)]
    with pytest.raises(MetricError, match="at least three spaces; got 2"):
        leave_one_out(family(3, models=2))


def test_noisy_stimuli_deviate_in_the_model_held_out_too():
    rng = np.random.default_rng(4)
    shared, noisy = rng.normal(size=(200, 5)), rng.uniform(0.1, 1, size=(200, 1))
    alike = [shared @ rng.normal(size=(5, 9)) + noisy * rng.normal(size=(200, 9)) for _ in range(4)]
    found = leave_one_out(alike)
    for x, y, null in zip(found.dispersion.T, found.deviation.T, found.shuffled.T, strict=True):
        assert relate(x, y)["pearson"] > 0.5 > null.max()
        assert tail(relate(x, y)["pearson"], null) == 1 / 200


def test_shuffled_correlations_are_those_of_spaces_with_shuffled_rows():
    spaces = family(6, models=3)
    found = leave_one_out(spaces, shuffles=4, seed=9)
    for order, r in zip(draw_orders(60, count=4, seed=9), found.shuffled[:, 1], strict=True):
        again = leave_one_out([spaces[0], spaces[1][order], spaces[2]], shuffles=1)
        assert r == pytest.approx(
            np.corrcoef(again.dispersion[:, 1], again.deviation[:, 1])[0, 1], abs=1e-5
        )


def test_unrelated_spaces_correlate_by_the_norm_alone_which_shuffling_tells():
    """Unequal norms of four unrelated spaces: most intervals lie above 0, but r is what it is with
    stimuli shuffled.
    """
    rows = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found = leave_one_out(
            [
                rng.normal(size=(150, 10)) * np.exp(0.5 * rng.normal(size=(150, 1)))
                for _ in range(4)
            ],
            shuffles=19,
        )
        for x, y, null in zip(*(values.T for values in found), strict=True):
            r = relate(x, y)
            tests = (r["pearson_low"] > 0, r["pearson"], null.mean(), tail(r["pearson"], null))
            rows.append(tests)
    above, r, shuffled, p = np.array(rows, dtype=np.float64).T
    assert above.mean() > 0.5
    assert r.mean() == pytest.approx(shuffled.mean(), abs=0.05)
    assert (p <= 0.05).mean() <= 0.1


def test_a_tail_counts_the_value_itself_and_needs_all_draws():
    null = np.array([0.1, 0.2, 0.3])
    assert [tail(value, null) for value in (0.4, 0.3, 0.0)] == [1 / 4, 2 / 4, 1]
    assert np.isnan(tail(np.nan, null))
    assert np.isnan(tail(0.1, np.array([0.1, np.nan])))


def test_correlations_with_rows_are_numpys_and_none_with_a_constant():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=9), rng.normal(size=(3, 9))
    y[2] = 4
    assert correlate_rows(x[None], y) == pytest.approx(
        [*(np.corrcoef(x, row)[0, 1] for row in y[:2]), np.nan], nan_ok=True
    )
    assert np.isnan(correlate_rows(np.ones((1, 9)), y)).all()


def test_a_relation_is_scipys_and_the_least_squares_line():
    x = np.array([1.0, 2, 3, 4, 5, 6])
    y = np.array([2.0, 1, 4, 3, 7, 5])
    found = relate(x, y)
    assert found["n"] == 6
    assert found["pearson"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found["spearman"] == pytest.approx(
        1 - 6 * 6 / (6 * 35)
    )  # rank differences 1, 1, 1, 1, 1, 1, by hand
    middle, width = np.arctanh(found["pearson"]), 1.959964 / np.sqrt(3)
    assert (found["pearson_low"], found["pearson_high"]) == pytest.approx(
        (np.tanh(middle - width), np.tanh(middle + width))
    )
    assert (found["slope"], found["intercept"]) == pytest.approx(tuple(np.polyfit(x, y, 1)))


@pytest.mark.parametrize(
    ("x", "y"),
    [([1.0, 2, 3], [1.0, 2, 4]), ([1.0, 1, 1, 1], [1.0, 2, 3, 4]), ([1.0, 2, 3, 4], [0.0] * 4)],
)
def test_what_has_no_correlation_is_refused(x, y):
    with pytest.raises(MetricError, match="needs at least four stimuli whose values differ"):
        relate(np.array(x), np.array(y))
