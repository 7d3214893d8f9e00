"""All pairs of a set of models, against the engine asked for each pair alone."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from core.errors import MetricError
from core.metrics.catalog import make_engine
from core.pairs import lists
from core.pairs.lists import scores_among

RNG = np.random.default_rng(0)
SPACES = {
    f"m{i}": [RNG.standard_normal((40, 5)).astype(np.float32) for _ in range(1 + i % 3)]
    for i in range(7)
}
SPACES["m3"][0] = np.zeros((40, 5), np.float32)  # m3 has one layer, which is refused
NAMES = list(SPACES)


def prepared(engine):
    def prepare(few):
        ready = {}
        for name in few:
            try:
                ready[name] = engine.prepare(SPACES[name])
            except MetricError:
                continue
        return ready

    return prepare


@pytest.mark.parametrize("held", [2, 100])
@pytest.mark.parametrize("metric", ["mutual_knn", "cka", "rsa", "procrustes"])
def test_every_pair_has_the_scores_that_the_engine_gives_it_alone(metric, held, monkeypatch):
    monkeypatch.setattr(lists, "HELD", held)
    engine = make_engine(metric)
    found = {
        (x, y): scores
        for x, y, scores in scores_among(engine, NAMES, prepared(engine), symmetric=True)
    }
    sound = [name for name in NAMES if name != "m3"]
    assert set(found) == set(combinations(sound, 2))
    for (x, y), scores in found.items():
        alone = engine.scores(engine.prepare(SPACES[x]), engine.prepare(SPACES[y]))
        np.testing.assert_allclose(scores.values, alone.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["cycle_knn", "pwcca"])
def test_a_metric_that_is_not_symmetric_gives_the_mean_of_both_directions(metric):
    engine = make_engine(metric)
    found = {
        (x, y): scores
        for x, y, scores in scores_among(engine, ["m1", "m2"], prepared(engine), symmetric=False)
    }
    one, two = engine.prepare(SPACES["m1"]), engine.prepare(SPACES["m2"])
    forth, back = engine.scores(one, two).values, engine.scores(two, one).values
    np.testing.assert_allclose(found["m1", "m2"].values, (forth + back.T) / 2)
    assert not np.allclose(forth, back.T)


def test_no_models_and_one_model_make_no_pair():
    engine = make_engine("mutual_knn")
    assert not list(scores_among(engine, [], prepared(engine), symmetric=True))
    assert not list(scores_among(engine, ["m0"], prepared(engine), symmetric=True))


@pytest.mark.parametrize(("metric", "symmetric"), [("mean_cca", True), ("pwcca", False)])
def test_what_two_layers_are_refused_for_comes_along(metric, symmetric):
    """Ranks that sum to the number of stimuli: layers that are too wide for each other."""
    wide = np.random.default_rng(1).standard_normal((2, 40, 25)).astype(np.float32)
    spaces = {"a": [SPACES["m0"][0], wide[0]], "b": [wide[1]]}
    engine = make_engine(metric)
    ((_, _, scores),) = scores_among(
        engine,
        ["a", "b"],
        lambda few: {name: engine.prepare(spaces[name]) for name in few},
        symmetric=symmetric,
    )
    assert np.isnan(scores.values).tolist() == [[False], [True]]
    assert list(scores.refusals) == [(1, 0)]
    assert scores.refusals[1, 0].startswith("canonical correlations of ranks 25 and 25 need more")
