"""One-to-one observations are learned alike; what a modality loses, alignment loses; and what the
runs show of it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.theory.contrastive import runs
from core.theory.contrastive.kernel import pmi_kernel
from core.theory.contrastive.question import Contrastive
from core.theory.contrastive.runs import (
    VIEWS,
    Setup,
    View,
    align_kernels,
    align_views,
    information_left,
    learn_kernel,
    lose_sight,
    narrow,
    observe,
    see,
)

SETUP = Setup(events=10, window=4)


def test_one_to_one_observations_are_aligned_and_losses_lower_it(monkeypatch) -> None:
    monkeypatch.setattr(runs, "SHARES", (0.0, 0.5))
    table = lose_sight(Setup(events=12, window=6))
    whole, half = (table[table["share"] == share] for share in (0.0, 0.5))
    assert whole["cka"].min() > 1 - 1e-6
    assert (whole["mutual_knn"] == 1).all()
    assert half["cka"].max() < 0.9
    assert (half["bits"].to_numpy() < whole["bits"].to_numpy() - 0.5).all()
    assert half["cka"].to_numpy() == pytest.approx(half["predicted"], abs=0.01)


def test_merged_events_have_no_nearest_neighbors_and_it_is_said() -> None:
    view = see("lossy", 1.0, events=10, seed=0)
    space = np.random.default_rng(0).standard_normal((10, 4))
    found = align_views(space, space[:2], view, seed=0)
    assert math.isnan(found["mutual_knn"])
    assert found["reason"] == "mutual k-NN: most observations have others that equal them"
    assert 0 < found["cka"] < 1


@given(seed=st.integers(0, 100))
def test_one_to_one_observations_keep_the_kernel(seed) -> None:
    world = SETUP.cooccur()
    for kind in VIEWS:
        view = see(kind, 0.0, events=10, seed=seed)
        order = view.channel.argmax(axis=1)
        assert (np.sort(order) == np.arange(10)).all()
        seen = pmi_kernel(observe(world, view.channel).joint)
        assert seen[np.ix_(order, order)] == pytest.approx(pmi_kernel(world.joint))
        assert align_kernels(pmi_kernel(world.joint), seen, view, seed=seed) == pytest.approx(1)


def test_an_observation_of_one_time_is_itself_and_of_two_times_is_drawn_twice() -> None:
    world, noisy = SETUP.cooccur(), see("noisy", 1.0, events=10, seed=0)
    seen = observe(world, noisy.channel)
    assert seen.same == pytest.approx(np.full(10, world.same.sum() / 10))
    assert seen.apart == pytest.approx(np.full((10, 10), world.apart.sum() / 100))


def test_information_by_hand() -> None:
    own = np.full(4, 0.25)
    assert information_left(own, View(np.eye(4))) == pytest.approx(2)
    assert information_left(own, View(np.repeat(np.eye(2), 2, axis=0))) == pytest.approx(1)
    assert information_left(own, View(np.full((4, 4), 0.25))) == pytest.approx(0)
    assert information_left(own, View(np.eye(4), shuffled=1.0)) == pytest.approx(0)
    # half of the pairs shuffled: 4 pairs of 5/32 and 12 of 1/32, each against 1/16
    half = 4 * 5 / 32 * math.log2(2.5) + 12 / 32 * math.log2(0.5)
    assert information_left(own, View(np.eye(4), shuffled=0.5)) == pytest.approx(half)


def test_a_learner_is_compared_pair_by_pair() -> None:
    table = learn_kernel(Setup(events=6, window=4))
    assert len(table) == 36
    fitted = table["slope"] * table["pmi"] + table["offset"]
    assert table["learned"].to_numpy() == pytest.approx(fitted, abs=0.01)
    assert table["r2"].iloc[0] > 0.999
    swapped = table.rename(columns={"first": "second", "second": "first"})
    assert len(table.merge(swapped, on=["first", "second", "learned"])) == 36


def test_width_raises_what_can_be_held() -> None:
    wide = narrow(Setup(events=8, window=4))
    assert wide["r2"].iloc[0] < 0.6
    assert wide["r2"].iloc[-1] > 0.999


def test_choices_that_do_not_go_together_are_refused() -> None:
    for of, setup in (
        ("kernel", Setup(loss="nce", temperature=0.5)),
        ("kernel", Setup(positives=0.5)),
        ("widths", Setup(width=3)),
    ):
        with pytest.raises(InputError, match="makes no difference here; leave it out"):
            Contrastive(of, setup).complete(None)
