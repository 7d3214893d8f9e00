"""What is said of adapters, next to a plain computation from the formula."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from core.metrics import METRICS
from core.questions.adapters.maps import Adapter, Adapters, split
from core.questions.adapters.measures import (
    ALL,
    COLUMNS,
    alignment_rows,
    gain_rows,
    retrieval_rows,
    score_halves,
    summarize,
    views_after,
    views_before,
)
from core.statistics.intervals import draw_halves
from core.study.parts import Measure

N = 160
PARTS = split(N)


def unit(space: np.ndarray) -> np.ndarray:
    return space / np.linalg.norm(space, axis=1, keepdims=True)


def world(seed: int = 0, *, noise: float = 1.5) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return two noisy views of a latent, and the latent, which is the reference."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(N, 6)).astype(np.float32)
    rotated = {
        name: (
            np.hstack([latent, noise * rng.normal(size=(N, 6))])
            @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
            + 1
        )
        for name in ("a", "b")
    }
    return {name: space.astype(np.float32) for name, space in rotated.items()}, latent


def perfect(
    spaces: dict[str, np.ndarray], latent: np.ndarray, *, jitter: float, seed: int
) -> Adapters:
    """Return adapters that find the latent in each encoder by least squares, spoiled a little."""
    rng = np.random.default_rng(seed)
    maps = {}
    for name, space in spaces.items():
        weight = np.linalg.lstsq(np.hstack([space, np.ones((N, 1))]), latent, rcond=None)[0]
        weight = (weight + jitter * rng.normal(size=weight.shape)).astype(np.float32)
        maps[name] = Adapter(weight[:-1], weight[-1])
    return Adapters(maps, 0.07)


def frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.insert(0, "pairs", len(PARTS.train))
    return table


def gains(
    metric: str = "cka", draws: int = 40, seeds: int = 3, noise: float = 1.5, **parameters: int
) -> pd.DataFrame:
    measure = Measure.of(metric, parameters)
    spaces, latent = world(noise=noise)
    before = views_before(spaces, PARTS, centered=False)
    after = [
        views_after(perfect(spaces, latent, jitter=0.02, seed=seed), spaces, PARTS)
        for seed in range(seeds)
    ]
    scores = [
        score_halves(views, unit(latent[PARTS.test]), measure, draws=draws, seed=0)
        for views in (before, *after)
    ]
    return frame(gain_rows(scores[0], scores[1:], measure, seed=0))


@pytest.mark.parametrize(
    ("metric", "parameters"), [("mutual_knn", {"k": 6}), ("cka", {}), ("shape_angle", {})]
)
def test_the_gain_is_the_difference_of_both_sides(metric: str, parameters: dict[str, int]) -> None:
    spaces, latent = world()
    truth, rows = unit(latent[PARTS.test]), PARTS.test
    average = np.mean(
        [METRICS[metric](unit(space[rows]), truth, **parameters) for space in spaces.values()]
    )
    table = gains(metric, draws=40, **parameters).set_index(["measure", "what", "seed"])["value"]
    toward = 1 if METRICS[metric].spec.higher_is_more_aligned else -1
    found = []
    for seed in range(3):
        maps = perfect(spaces, latent, jitter=0.02, seed=seed).maps
        views = [
            unit(spaces[name][rows] @ maps[name].weight + maps[name].offset) for name in spaces
        ]
        score = METRICS[metric](unit((views[0] + views[1]) / 2), truth, **parameters)
        assert table["alignment", "mean", seed] == pytest.approx(score, abs=1e-5)
        found.append(toward * (score - average))
        assert table["gain", "mean", seed] == pytest.approx(found[-1], abs=1e-5)
    assert table["gain", "mean", ALL] == pytest.approx(np.mean(found), abs=1e-5)


@pytest.mark.parametrize(("metric", "toward", "best"), [("cka", 1, max), ("shape_angle", -1, min)])
def test_own_gains_are_over_the_encoder_itself_and_the_best_alone(
    metric: str, toward: int, best: Callable[..., float]
) -> None:
    spaces, latent = world()
    rows = PARTS.test
    before = {
        name: METRICS[metric](unit(space[rows]), unit(latent[rows]))
        for name, space in spaces.items()
    }
    table = gains(metric).set_index(["measure", "what", "seed"])["value"]
    for what, base in {**before, "mean": best(before.values())}.items():
        assert table["own_gain", what, 1] == pytest.approx(
            toward * (table["alignment", what, 1] - base), abs=1e-5
        )


@pytest.mark.parametrize(("metric", "parameters"), [("cka", {}), ("mutual_knn", {"k": 5})])
def test_the_interval_is_that_of_halves_and_seeds_drawn_anew(
    metric: str, parameters: dict[str, int]
) -> None:
    spaces, latent = world()
    table = (
        gains(metric, draws=45, **parameters)
        .query("measure == 'gain' and what == 'mean'")
        .set_index("seed")
    )
    truth, rows = unit(latent[PARTS.test]), PARTS.test
    before = [unit(space[rows]) for space in spaces.values()]
    after = [
        views_after(perfect(spaces, latent, jitter=0.02, seed=seed), spaces, PARTS)["mean"]
        for seed in range(3)
    ]
    weights = np.random.default_rng(0).multinomial(2, np.full(3, 1 / 3), size=45)
    means = []
    for half, drawn in zip(draw_halves(len(rows), count=45, seed=0), weights, strict=True):
        scores = [
            [METRICS[metric](view[half], truth[half], **parameters) for view in views]
            for views in (after, before)
        ]
        moved = sum(count * table.loc[seed, "value"] for seed, count in enumerate(drawn)) / 2
        means.append(np.mean(scores[0]) - np.mean(scores[1]) + moved)
    whole = table.loc[ALL]
    low, high = whole["value"] + np.quantile(np.array(means) - np.mean(means), (0.025, 0.975))
    assert (whole["low"], whole["high"]) == pytest.approx((low, high), abs=1e-5)


def test_the_verdict_follows_the_interval() -> None:
    helped = summarize(gains()).set_index(["measure", "what"])
    assert helped.loc[("gain", "mean"), "holds"] == "yes"
    rows = frame([])
    base = {
        "measure": "gain",
        "method": "adapters",
        "what": "a",
        "seed": ALL,
        "value": 0.0,
        "reason": "",
        "pairs": 1,
    }
    for (low, high), holds in {
        (0.1, 0.2): "yes",
        (-0.2, -0.1): "no",
        (-0.1, 0.1): "undecided",
    }.items():
        one = pd.concat(
            [rows, pd.DataFrame([{**base, "low": low, "high": high}])], ignore_index=True
        )
        assert summarize(one)["holds"].tolist() == [holds]


@pytest.mark.parametrize(("k", "halved"), [(1, 1), (5, 5), (6, 5), (39, 5)])
def test_halves_are_scored_at_k_but_no_more_than_a_fourth_of_them(k: int, halved: int) -> None:
    spaces, latent = world()
    truth, view = unit(latent[PARTS.test]), unit(spaces["a"][PARTS.test])
    scores = score_halves({"a": view}, truth, Measure(k=k), draws=40, seed=3)
    assert scores.whole == {"a": METRICS["mutual_knn"](view, truth, k=k)}
    for half, found in zip(draw_halves(40, count=40, seed=3), scores.halves[:, 0], strict=True):
        assert found == pytest.approx(
            METRICS["mutual_knn"](view[half], truth[half], k=halved), abs=1e-6
        )


def test_alignment_before_is_of_the_vectors_as_they_are_and_centered() -> None:
    spaces, latent = world()
    table = frame(alignment_rows(spaces, latent, PARTS, Measure(k=5))).set_index(
        ["method", "what"]
    )["value"]
    rows, truth = PARTS.test, unit(latent[PARTS.test])
    assert table["before", "a"] == METRICS["mutual_knn"](unit(spaces["a"][rows]), truth, k=5)
    middle = spaces["a"][PARTS.train].mean(axis=0)
    assert table["centered", "a"] == METRICS["mutual_knn"](
        unit(spaces["a"][rows] - middle), truth, k=5
    )
    assert table["before", "average"] == (table["before", "a"] + table["before", "b"]) / 2
    assert table["chance", "average"] == pytest.approx(5 / (len(rows) - 1))
    unknown = frame(alignment_rows(spaces, latent, PARTS, Measure("procrustes"))).iloc[0]
    assert np.isnan(unknown["value"])
    assert unknown["reason"] == "no formula is known for this metric's chance"


def test_retrieval_is_measured_both_ways_beside_every_baseline() -> None:
    spaces, latent = world(noise=0.1)
    spaces["b"] = spaces["b"][:, :9]
    after = views_after(perfect(spaces, latent, jitter=0.0, seed=0), spaces, PARTS)
    rows = frame(retrieval_rows(spaces, after, PARTS, seed=2))
    assert set(rows["what"]) == {"a → b", "b → a"}
    table = rows.set_index(["measure", "method", "what"])
    assert table.loc[("recall_1", "adapters", "a → b"), "value"] > 0.9
    assert table.loc[("recall_5", "chance", "b → a"), "value"] == 5 / len(PARTS.test)
    assert table.loc[("median_rank", "chance", "b → a"), "value"] == (len(PARTS.test) + 1) / 2
    raw = table.loc[("recall_1", "raw", "a → b")]
    assert np.isnan(raw["value"])
    assert "vectors of 12 and 9 dimensions have no cosine" in raw["reason"]
    assert (rows["seed"] == 2).all()


def test_chance_is_certain_where_there_are_no_more_stimuli_than_are_looked_at() -> None:
    spaces, latent = world()
    few = split(32)
    after = views_after(perfect(spaces, latent, jitter=0.0, seed=0), spaces, few)
    table = (
        frame(retrieval_rows(spaces, after, few, seed=0))
        .query("method == 'chance'")
        .set_index(["measure", "what"])["value"]
    )
    assert [table[f"recall_{k}", "a → b"] for k in (1, 5, 10)] == [1 / 8, 5 / 8, 1]


def test_summaries_are_means_over_seeds() -> None:
    found = summarize(gains()).set_index(["measure", "what"]).loc[("alignment", "mean")]
    each = gains().query("measure == 'alignment' and what == 'mean'")["value"]
    assert (found["value"], found["sd"], found["seeds"]) == pytest.approx(
        (each.mean(), each.std(), 3)
    )
