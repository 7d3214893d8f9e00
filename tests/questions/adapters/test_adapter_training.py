"""Adapters learn what encoders share, nothing where they share nothing, and never from the test
stimuli.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
import torch

from core.errors import InputError, MetricError, TrainingError
from core.metrics import METRICS
from core.questions.adapters.maps import Parts, Settings, joined, rank_own, recall, split
from core.questions.adapters.training import train

N = 256
QUICK = Settings(width=24, temperature=0.1, batch=64, rate=0.01, epochs=60, patience=15)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def planted(*widths: int, noise: float = 0.0, seed: int = 0) -> dict[str, np.ndarray]:
    """Return spaces that are linear maps of one latent of 8 dimensions, far from the origin and of
    unequal scales.
    """
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(N, 8))
    spaces = [
        latent @ rng.normal(size=(8, width)) * 10**i + 3 * 10**i for i, width in enumerate(widths)
    ]
    noises = [noise * 10**i * rng.normal(size=space.shape) for i, space in enumerate(spaces)]
    return {
        f"e{i}": (space + extra).astype(np.float32)
        for i, (space, extra) in enumerate(zip(spaces, noises, strict=True))
    }


def unrelated(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(size=(N, width)).astype(np.float32)
        for name, width in (("e0", 20), ("e1", 16))
    }


def away_from_chance(
    measure: Callable[[np.ndarray], float], n: int, dice: np.random.Generator
) -> tuple[float, float]:
    """Return how far a measure of the true pairing is above that of random pairings, on average,
    and the variance of those.
    """
    random = [measure(dice.permutation(n)) for _ in range(40)]
    return measure(np.arange(n)) - float(np.mean(random)), float(np.var(random, ddof=1)) * (
        1 + 1 / len(random)
    )


def on(rows: np.ndarray, spaces: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: space[rows] for name, space in spaces.items()}


@pytest.mark.parametrize("widths", [(20, 12), (20, 12, 9)])
def test_planted_linear_relations_are_found(widths: tuple[int, ...]) -> None:
    spaces, parts = planted(*widths), split(N)
    *_, last = train(spaces, parts, QUICK)
    views = last.best.apply(on(parts.test, spaces))
    for a, b in pairwise(views):
        assert recall(rank_own(views[a], views[b]), 1) == 1
        assert recall(rank_own(views[b], views[a]), 1) == 1


@pytest.mark.slow
def test_unrelated_encoders_stay_at_chance_however_well_their_training_pairs_are_learned() -> None:
    """Over 12 worlds recall and both alignments are where random pairings put them: within 4
    standard errors of their sum.
    """
    parts, found = split(N), []
    learned = Parts(
        parts.train, parts.train, parts.test
    )  # validated by what taught, adapters are kept although they overfit
    for world in range(12):
        spaces, dice = unrelated(world), np.random.default_rng(world)
        *_, last = train(spaces, learned, QUICK, seed=world)
        seen = last.best.apply(on(parts.train, spaces))
        assert recall(rank_own(seen["e0"], seen["e1"]), 10) > 0.4  # chance is 0.06
        views = last.best.apply(on(parts.test, spaces))
        x, y = views["e0"], views["e1"]
        reference, mean = dice.normal(size=(len(x), 6)).astype(np.float32), joined(views)
        measures = (
            lambda order, x=x, y=y: recall(rank_own(x, y[order]), 10),
            lambda order, x=x, y=y: METRICS["mutual_knn"](x, y[order], k=10),
            lambda order, mean=mean, reference=reference: METRICS["mutual_knn"](
                mean, reference[order], k=10
            ),
        )
        found.append([away_from_chance(measure, len(x), dice) for measure in measures])
    off, variance = np.array(found).sum(axis=0).T
    assert (np.abs(off) < 4 * np.sqrt(variance)).all()
    assert (
        4 * np.sqrt(variance) / 12 < 0.06
    ).all()  # recall by chance is 0.16; what is learned would be seen


def test_unrelated_encoders_are_stopped_by_validation() -> None:
    for start in ("canonical", "random"):
        *_, last = train(unrelated(), split(N), replace(QUICK, start=start))
        assert last.best_number < 10
        views = last.best.apply(on(split(N).test, unrelated()))
        assert recall(rank_own(views["e0"], views["e1"]), 10) < 0.4  # chance is 0.16


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize(("direction", "products"), [("forward", "raw"), ("both", "cosine")])
def test_the_loss_is_the_literal_one_of_the_adapters_that_are_kept(
    direction: str, products: str, offset: bool
) -> None:
    """Published are forward, raw and no offset: −1/n Σᵢ log exp(⟨Wx xᵢ, Wy yᵢ⟩/τ) / Σⱼ exp(⟨Wx xᵢ,
    Wy yⱼ⟩/τ) of the encoders' own vectors.
    """
    spaces, parts = planted(20, 12, noise=0.5), split(N)
    chosen = Settings(
        width=5, start="random", direction=direction, products=products, offset=offset, epochs=3
    )
    for last in train(spaces, parts, replace(chosen, temperature=2.0)):
        adapters = last.best
    views = []
    for name, one in adapters.maps.items():
        assert bool(one.offset.any()) == offset
        mapped = [row @ one.weight + one.offset for row in spaces[name][parts.validation]]
        views.append([row / np.linalg.norm(row) if products == "cosine" else row for row in mapped])
    sides = [(views[0], views[1]), (views[1], views[0])][: 1 + (direction == "both")]
    total = 0.0
    for x, y in sides:
        for i in range(len(x)):
            below = sum(np.exp(float(x[i] @ y[j]) / 2) for j in range(len(y)))
            total -= np.log(np.exp(float(x[i] @ y[i]) / 2) / below) / len(x)
    assert last.best_validation == pytest.approx(total / len(sides), rel=1e-3)
    seen = adapters.apply(on(parts.validation, spaces))
    for view, name in zip(views, spaces, strict=True):
        np.testing.assert_allclose(seen[name], view, rtol=1e-3, atol=1e-4)


def test_validation_stimuli_choose_when_to_stop_but_do_not_teach() -> None:
    spaces, parts = planted(20, 12, noise=0.5), split(N)
    changed = {name: space.copy() for name, space in spaces.items()}
    changed["e0"][parts.validation] = np.roll(changed["e0"][parts.validation], 1, axis=0)
    losses = [
        [epoch.loss for epoch in islice(train(given, parts, replace(QUICK, start="random")), 5)]
        for given in (spaces, changed)
    ]
    assert losses[0] == losses[1]


def test_parts_are_disjoint_and_tests_stay_the_same() -> None:
    seen = [split(100, pairs=pairs, draw=draw) for pairs, draw in ((None, 0), (20, 0), (None, 1))]
    for parts in seen:
        together = np.concatenate([parts.train, parts.validation, parts.test])
        assert len(set(together.tolist())) == len(together)
        np.testing.assert_array_equal(parts.test, seen[0].test)
    assert [len(part) for part in (seen[0].test, seen[0].validation, seen[0].train)] == [25, 12, 63]
    np.testing.assert_array_equal(seen[1].train, seen[0].train[:20])
    assert set(seen[2].validation.tolist()) != set(seen[0].validation.tolist())
    assert [len(part) for part in (split(8000).test, split(8000).validation)] == [1024, 512]
    assert set(split(100, seed=1).test.tolist()) != set(seen[0].test.tolist())


@pytest.mark.parametrize(("n", "pairs"), [(20, None), (100, 64), (100, 2)])
def test_too_few_stimuli_and_too_many_pairs_are_refused(n: int, pairs: int | None) -> None:
    with pytest.raises(
        InputError,
        match=r"adapters need at least 32 stimuli|25 test and 12 validate, so 3 to 63 can train",
    ):
        split(n, pairs=pairs)


def test_pairs_are_shuffled_so_that_like_ones_are_told_from_others() -> None:
    """Where stimuli come in 8 groups of 16 and a batch is 16, batches in that order would hold
    nothing to tell apart.
    """
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(8), 16)
    groups = np.concatenate([groups, rng.integers(8, size=128)])
    spaces = {
        name: (5 * rng.normal(size=(8, 10))[groups] + 0.01 * rng.normal(size=(N, 10))).astype(
            np.float32
        )
        for name in "xy"
    }
    rows = np.arange(N)
    *_, last = islice(
        train(spaces, Parts(rows[:128], rows[128:192], rows[192:]), replace(QUICK, batch=16)), 20
    )
    assert last.loss < np.log(16) / 2


def test_no_pair_is_trained_by_itself() -> None:
    spaces, parts = planted(20, 12), split(N, pairs=3)
    alone = next(train(spaces, parts, replace(QUICK, batch=2))).loss
    assert alone == next(train(spaces, parts, replace(QUICK, batch=3))).loss


def test_a_seed_gives_the_same_adapters_and_another_gives_others() -> None:
    spaces, parts = planted(20, 12, noise=0.5), split(N)
    first, again, other = (
        [*islice(train(spaces, parts, replace(QUICK, start="random"), seed=seed), 4)][-1].best
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.maps["e0"].weight, again.maps["e0"].weight)
    assert not np.allclose(first.maps["e0"].weight, other.maps["e0"].weight)


def test_training_stops_when_validation_no_longer_falls_and_keeps_the_best() -> None:
    spaces, parts = unrelated(), split(N)
    course = [*train(spaces, parts, replace(QUICK, patience=5))]
    assert len(course) < QUICK.epochs
    assert course[-1].number == course[-1].best_number + 5
    assert course[course[-1].best_number].validation == course[-1].best_validation
    assert course[-1].place >= course[course[-1].best_number].place
    improving = [
        *train(planted(8, 8, noise=0.5), parts, replace(QUICK, start="random", patience=5))
    ][-1]
    assert improving.best_number > 0
    assert improving.number in (improving.best_number + 5, QUICK.epochs)


def test_only_a_sure_lead_on_validation_stimuli_leaves_the_start() -> None:
    """Literally: places by counting, a mean of logarithms, two standard errors of the lead."""
    spaces, parts = planted(20, 12, noise=2.0), split(N)
    logs, best, least = [], 0, np.inf
    for epoch in train(spaces, parts, replace(QUICK, start="random", epochs=12, patience=12)):
        if epoch.best_number != epoch.number:
            break
        views = [*epoch.best.apply(on(parts.validation, spaces)).values()]
        logs.append(np.zeros(len(parts.validation)))
        for x, y in (views, views[::-1]):
            for i in range(len(x)):
                place = 1 + sum(x[i] @ y[j] > x[i] @ y[i] for j in range(len(y)) if j != i)
                logs[-1][i] += np.log(place) / 2
        assert epoch.place == pytest.approx(np.exp(logs[-1].mean()), rel=0.02)
        lead = logs[0] - logs[-1]
        if epoch.number:
            assert lead.mean() > 2 * lead.std(ddof=1) / np.sqrt(len(lead)) * 0.99
            assert logs[-1].mean() < least
        least, best = logs[-1].mean(), epoch.number
    assert best > 1


def test_adapted_vectors_ignore_the_encoders_scale_and_origin() -> None:
    spaces, parts = planted(20, 12, noise=0.3), split(N)
    moved = {name: space * 8 + 64 for name, space in spaces.items()}
    plain, shifted = (
        [*islice(train(given, parts, QUICK), 6)][-1].best.apply(on(parts.test, given))
        for given in (spaces, moved)
    )
    products = [views["e0"] @ views["e1"].T for views in (plain, shifted)]
    np.testing.assert_allclose(*products, atol=2e-3)


def test_what_cannot_be_trained_is_refused() -> None:
    spaces, parts = planted(20, 12), split(N)
    with pytest.raises(MetricError, match="have the same vector"):
        next(train({**spaces, "e1": np.ones((N, 4), np.float32)}, parts, QUICK))
    broken = spaces["e1"].copy()
    broken[parts.validation[0]] = np.nan
    with pytest.raises(MetricError, match="a space must be finite; stimulus 0 has NaN or infinity"):
        next(train({**spaces, "e1": broken}, parts, QUICK))
    with pytest.raises(
        TrainingError,
        match=r"on training and .* on validation pairs after .* take a lower rate or a higher",
    ):
        [*train(spaces, parts, replace(QUICK, temperature=1e-42))]


@pytest.mark.gpu
@pytest.mark.parametrize("learned", [False, True])
def test_a_gpu_trains_almost_as_the_cpu_does(learned: bool) -> None:
    spaces, parts = planted(20, 12, 9, noise=0.5), split(N)
    cpu, gpu = (
        [*train(spaces, parts, replace(QUICK, learned=learned), device=device)][-1]
        for device in ("cpu", "cuda")
    )
    assert gpu.best_validation == pytest.approx(cpu.best_validation, rel=0.02)
    assert gpu.best.temperature == pytest.approx(cpu.best.temperature, rel=0.02)
    for a, b in pairwise(spaces):
        found = [
            recall(rank_own(views[a], views[b]), 10)
            for views in (one.best.apply(on(parts.test, spaces)) for one in (cpu, gpu))
        ]
        assert found[1] == pytest.approx(found[0], abs=0.05)
    first, again = (next(train(spaces, parts, QUICK, device=device)) for device in ("cpu", "cuda"))
    np.testing.assert_array_equal(first.best.maps["e0"].weight, again.best.maps["e0"].weight)
    assert again.loss == pytest.approx(first.loss, abs=1e-5)
