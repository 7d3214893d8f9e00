"""One-to-one observations are learned alike; what a modality loses, alignment loses; and what the
runs show of it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.theory.contrastive import question
from core.theory.contrastive.question import (
    VIEWS,
    Contrastive,
    Setup,
    align_kernels,
    information_left,
    learn_kernel,
    lose_sight,
    observe,
    see,
)
from core.theory.contrastive.world import pmi_kernel

SETUP = Setup(events=10, window=4)


def test_one_to_one_observations_are_aligned_and_losses_lower_it(monkeypatch) -> None:
    monkeypatch.setattr(question, "SHARES", (0.0, 0.5))
    table = lose_sight(Setup(events=12, window=6))
    whole, half = (table[table["share"] == share] for share in (0.0, 0.5))
    assert whole["cka"].min() > 1 - 1e-6
    assert half["cka"].max() < 0.9
    assert (half["bits"].to_numpy() < whole["bits"].to_numpy() - 0.5).all()
    assert half["cka"].to_numpy() == pytest.approx(half["predicted"], abs=0.01)


@given(seed=st.integers(0, 100))
def test_one_to_one_observations_keep_the_kernel(seed) -> None:
    world = SETUP.cooccur()
    for kind in VIEWS:
        channel = see(kind, 0.0, events=10, seed=seed)
        order = channel.argmax(axis=1)
        assert (np.sort(order) == np.arange(10)).all()
        seen = pmi_kernel(observe(world, channel).joint)
        assert seen[np.ix_(order, order)] == pytest.approx(pmi_kernel(world.joint))
        assert align_kernels(pmi_kernel(world.joint), seen, channel, seed=seed) == pytest.approx(1)


def test_an_observation_of_one_time_is_itself_and_of_two_times_is_drawn_twice() -> None:
    world, noisy = SETUP.cooccur(), see("noisy", 1.0, events=10, seed=0)
    seen = observe(world, noisy)
    assert seen.same == pytest.approx(np.full(10, world.same.sum() / 10))
    assert seen.apart == pytest.approx(np.full((10, 10), world.apart.sum() / 100))


def test_information_by_hand() -> None:
    own = np.full(4, 0.25)
    assert information_left(own, np.eye(4)) == pytest.approx(2)
    assert information_left(own, np.repeat(np.eye(2), 2, axis=0)) == pytest.approx(1)
    assert information_left(own, np.full((4, 4), 0.25)) == pytest.approx(0)


def test_a_learner_is_compared_pair_by_pair() -> None:
    table = learn_kernel(Setup(events=6, window=4))
    assert len(table) == 36
    fitted = table["slope"] * table["pmi"] + table["offset"]
    assert table["learned"].to_numpy() == pytest.approx(fitted, abs=0.01)
    assert table["r2"].iloc[0] > 0.999
    swapped = table.rename(columns={"first": "second", "second": "first"})
    assert len(table.merge(swapped, on=["first", "second", "learned"])) == 36


def test_choices_that_do_not_go_together_are_refused() -> None:
    for setup in (Setup(loss="nce", temperature=0.5), Setup(positives=0.5)):
        with pytest.raises(InputError, match="makes no difference here; leave it out"):
            Contrastive("kernel", setup).complete(None)
