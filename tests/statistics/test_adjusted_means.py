"""Adjusted means against a regression with a column per group and kind."""

from __future__ import annotations

import numpy as np
import pytest

from core.statistics.trends import adjusted_means


def test_adjusted_means_are_those_of_a_regression_over_the_whole_mix_of_kinds():
    rng = np.random.default_rng(0)
    groups, kinds = rng.integers(0, 3, 60), rng.integers(0, 4, 60)
    values = rng.normal(size=60) + kinds
    design = np.column_stack([groups[:, None] == range(3), kinds[:, None] == range(1, 4)])
    fit = np.linalg.lstsq(design.astype(float), values, rcond=None)[0]
    mix = np.bincount(kinds, minlength=4)[1:] / 60
    assert adjusted_means(values, groups, kinds) == pytest.approx(fit[:3] + mix @ fit[3:])


def test_groups_of_other_kinds_differ_by_what_they_differ_in_within_a_kind():
    groups = np.array([0, 0, 0, 1, 1, 1])
    kinds = np.array([0, 0, 1, 0, 1, 1])
    raised = 10.0 * kinds - groups
    means = adjusted_means(raised, groups, kinds)
    assert means[1] - means[0] == pytest.approx(-1)
    assert raised[groups == 1].mean() > raised[groups == 0].mean()


def test_a_group_that_shares_no_kind_has_no_adjusted_mean():
    values = np.array([1.0, 2, 3, 9, 8])
    means = adjusted_means(values, np.array([0, 1, 1, 2, 4]), np.array([0, 0, 0, 1, 2]))
    assert means == pytest.approx([1, 2.5, np.nan, np.nan, np.nan], nan_ok=True)
    assert np.isnan(adjusted_means(values[:2], np.array([0, 1]), np.array([0, 1]))).all()
    none = np.zeros(0, dtype=int)
    assert len(adjusted_means(np.zeros(0), none, none)) == 0
