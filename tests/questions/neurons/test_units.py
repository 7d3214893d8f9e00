"""Units that recur: a slow oracle, what a change of basis does to them, and what chance gives."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import MetricError
from core.questions.neurons import units as module
from core.questions.neurons.units import (
    Mining,
    Model,
    Partners,
    Recurrence,
    check_layers,
    find_partners,
    mine,
    null_maxima,
    p_of,
    rotate,
    units_of,
)
from core.statistics.nulls import draw_orders

RNG = np.random.default_rng(0)
SPACE = RNG.normal(size=(120, 12)).astype(np.float32) * np.arange(1, 13, dtype=np.float32)
OTHER = RNG.normal(size=(120, 9)).astype(np.float32) + SPACE[:, :9] / 4


def slow_partners(x: np.ndarray, y: np.ndarray) -> dict[tuple[int, int], float]:
    """Return the mutual best pairs and their correlation, unit by unit."""
    r = [[np.corrcoef(a, b)[0, 1] for b in y.T] for a in x.T]
    best_y = [max(range(len(row)), key=row.__getitem__) for row in r]
    best_x = [max(range(len(r)), key=lambda a, b=b: r[a][b]) for b in range(len(r[0]))]
    return {(a, b): r[a][b] for a, b in enumerate(best_y) if best_x[b] == a}


def as_pairs(found: Partners) -> dict[tuple[int, int], float]:
    return {(int(a), int(b)): float(r) for a, b, r in zip(found.x, found.y, found.r, strict=True)}


@pytest.mark.parametrize("block", [4, 2048])
def test_partners_are_each_others_best_however_they_are_cut_into_blocks(monkeypatch, block) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    found = find_partners(units_of({0: SPACE}), units_of({0: OTHER}))
    assert as_pairs(found) == pytest.approx(slow_partners(SPACE, OTHER), abs=1e-5)
    assert (np.diff(found.r) <= 0).all()
    r = np.corrcoef(SPACE.T, OTHER.T)[:12, 12:]
    assert (found.best_x, found.best_y) == pytest.approx(
        (r.max(axis=1).mean(), r.max(axis=0).mean()), abs=1e-5
    )


def test_units_keep_their_places_and_those_that_never_vary_are_left_out() -> None:
    flat = OTHER.copy()
    flat[:, 3] = 1e4
    units = units_of({1: SPACE, 4: flat})
    assert units.count == 12 + 8
    assert units.layers.tolist() == [1] * 12 + [4] * 8
    assert units.numbers[12:].tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert np.linalg.norm(units.values, axis=0) == pytest.approx(1, abs=1e-5)
    with pytest.raises(MetricError, match="all are constant"):
        units_of({0: np.ones((10, 3), dtype=np.float32)})


def test_permuted_and_rescaled_units_recur_whole_and_a_rotation_destroys_them() -> None:
    order, scales = RNG.permutation(12), RNG.uniform(0.1, 10, size=12).astype(np.float32)
    x = units_of({0: SPACE})
    copy = find_partners(x, units_of({0: SPACE[:, order] * scales + 3}))
    assert sorted(copy.x) == list(range(12))
    assert (order[copy.y] == copy.x).all()
    assert copy.r == pytest.approx(1, abs=1e-5)
    turned = rotate({0: SPACE}, seed=1)[0]
    around = SPACE - SPACE.mean(0)
    np.testing.assert_allclose(turned @ turned.T, around @ around.T, atol=1e-2)
    assert find_partners(x, units_of({0: turned})).r.max() < 0.98


def test_layers_of_one_width_share_their_random_basis() -> None:
    turned = rotate({0: SPACE, 1: SPACE, 2: OTHER}, seed=3)
    np.testing.assert_array_equal(turned[0], turned[1])
    assert turned[2].shape == OTHER.shape


def test_the_null_is_the_best_of_all_pairs_and_p_pays_for_the_choice() -> None:
    x, y = units_of({0: SPACE}), units_of({0: OTHER})
    orders = draw_orders(120, count=3, seed=0)
    slow = [np.corrcoef(SPACE.T, OTHER[one].T)[:12, 12:].max() for one in orders]
    assert null_maxima(x, y, orders) == pytest.approx(slow, abs=1e-5)
    null = np.array([0.3, 0.1, 0.2])
    assert p_of(np.array([0.05, 0.2, 0.25, 0.9]), null).tolist() == [1, 0.75, 0.5, 0.25]


def test_unrelated_models_share_no_unit_more_often_than_one_time_in_twenty() -> None:
    """Of 60 unrelated pairs of models, 3 are expected to have any; 9 or more have p < 0.004."""
    mining, found = Mining(null=19, rotations=1), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        models = []
        for _ in range(2):
            layers = {0: rng.normal(size=(40, 15)).astype(np.float32)}
            models.append(Model(layers, units_of(layers)))
        result = mine(models[0], models[1], mining)
        found += result.recurring(result.partners) > 0
    assert found < 9


def test_units_that_mean_something_are_told_from_directions_and_only_they() -> None:
    """Two models of the same 15 latents, unit by unit or mixed: their kernels agree in any case."""
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(200, 15))
    mixed = rotate({0: latents}, seed=9)
    planted, blended = (
        mine(_noisy(latents, rng), _noisy(other, rng), Mining(null=19, rotations=3))
        for other in (latents[:, ::-1], mixed[0])
    )
    assert planted.alike > planted.alike_rotated + 0.2
    assert abs(blended.alike - blended.alike_rotated) < 0.06
    assert planted.recurring(planted.partners) == 15


def _noisy(space: np.ndarray, rng: np.random.Generator) -> Model:
    layers = {0: (space + rng.normal(size=space.shape) / 2).astype(np.float32)}
    return Model(layers, units_of(layers))


def test_the_threshold_is_where_p_passes_one_in_twenty() -> None:
    null = np.linspace(0.01, 0.39, 39)
    no, none = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    result = Recurrence(Partners(no, no, none, 0.0, 0.0), null, (), ())
    below, above = result.threshold, np.nextafter(result.threshold, 1)
    assert (p_of(np.array([below, above]), null) <= 0.05).tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "of_two"), [("best", True), ("2:3", False), ("1.5", True), ("some", False)]
)
def test_layers_that_mean_nothing_are_refused(text, of_two) -> None:
    with pytest.raises(MetricError, match="got"):
        check_layers(text, of_two=of_two)
    check_layers("2:3", of_two=True)
    check_layers("all", of_two=False)
