"""Co-occurrence and the PMI kernel: by hand, by counting a long sequence, and proposition 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.errors import InputError
from core.theory.contrastive.world import (
    count_windows,
    draw_ring,
    least_offset,
    make_chain,
    pmi_kernel,
    smoothness,
)

SMALL = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]])


def world(*, events: int = 12, window: int = 2, jumps: float = 0.1):
    edges = draw_ring(events, spread=0.0, seed=0)
    return count_windows(make_chain(edges, jumps=jumps), window=window)


def test_three_events_by_hand() -> None:
    found = count_windows(make_chain(SMALL, jumps=0.0), window=1)
    # degrees 2, 3, 3 of 8; steps 1/2, 1/3, 2/3; of three times in a window one is t = t' and two
    # are neighbors
    assert found.same == pytest.approx(np.array([2, 3, 3]) / 24)
    assert found.apart * 24 == pytest.approx(2 * SMALL)
    kernel = pmi_kernel(found.joint)
    own = math.log(24 * 2 / 36)  # 2/24 over (6/24)²
    assert kernel[0] == pytest.approx([own, math.log(24 * 2 / 54), math.log(24 * 2 / 54)])
    assert kernel[1] == pytest.approx(
        [math.log(24 * 2 / 54), math.log(24 * 3 / 81), math.log(24 * 4 / 81)]
    )
    ring = count_windows(make_chain(draw_ring(5, spread=0.0, seed=0), jumps=0.0), window=1)
    with pytest.raises(
        InputError, match="events 0 and 2 never share a window, so that their PMI is −∞"
    ):
        pmi_kernel(ring.joint)


def test_cooccurrence_is_what_a_long_sequence_shows() -> None:
    chain, draw = make_chain(SMALL, jumps=0.2), np.random.default_rng(0)
    cumulated = chain.steps.cumsum(axis=1)
    events = [0]
    for chance in draw.random(60_000):
        events.append(
            int(np.searchsorted(cumulated[events[-1]], chance * cumulated[events[-1], -1]))
        )
    counts = np.zeros((3, 3))
    for lag in range(-2, 3):
        ends = np.array(events)
        np.add.at(
            counts,
            (
                ends[max(0, -lag) : len(ends) - max(0, lag)],
                ends[max(0, lag) : len(ends) - max(0, -lag)],
            ),
            1,
        )
    assert counts / counts.sum() == pytest.approx(count_windows(chain, window=2).joint, abs=0.004)


@given(
    events=st.sampled_from([6, 9, 12]),
    window=st.integers(1, 5),
    jumps=st.floats(0.01, 1),
)
def test_every_world_is_symmetric_and_its_parts_sum_to_one(events, window, jumps) -> None:
    edges = draw_ring(events, spread=0.5, seed=2)
    chain = make_chain(edges, jumps=jumps)
    assert chain.stationary @ chain.steps == pytest.approx(chain.stationary)
    found = count_windows(chain, window=window)
    assert (found.joint == found.joint.T).all()
    assert found.joint.sum(axis=1) == pytest.approx(chain.stationary)
    assert found.same.sum() == pytest.approx(1 / (2 * window + 1))


def test_the_least_offset_is_the_least() -> None:
    kernel = pmi_kernel(world(window=8, jumps=0.3).joint)
    offset = least_offset(kernel)
    assert offset.reason == ""
    values = [float(np.linalg.eigvalsh(kernel + offset.value + by)[0]) for by in (-1e-3, 0.0, 1.0)]
    assert values[0] < -1e-5
    assert values[1] == pytest.approx(0, abs=1e-9)
    assert values[2] > -1e-9


def test_a_kernel_with_a_negative_direction_has_no_offset() -> None:
    kernel = pmi_kernel(world().joint)
    offset = least_offset(kernel)
    assert math.isnan(offset.value)
    assert "negative direction that no offset reaches" in offset.reason
    assert offset.smallest < -0.1
    assert np.linalg.eigvalsh(kernel + 1e6)[0] < -0.1
    assert not smoothness(kernel).holds


def test_a_constant_coupled_to_a_flat_direction_has_no_offset() -> None:
    ones, across = np.ones(3), np.array([1.0, -1.0, 0.0])
    kernel = np.outer(ones, across) + np.outer(across, ones)
    offset = least_offset(kernel)
    assert math.isnan(offset.value)
    assert "couples the constant" in offset.reason


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 9),
    spread=st.floats(0, 0.2),
    extra=st.floats(0, 1),
)
def test_proposition_1_implies_a_kernel_that_is_an_inner_product(seed, n, spread, extra) -> None:
    draw = np.random.default_rng(seed)
    joint = np.exp(spread * draw.random((n, n)))
    joint = joint + joint.T + np.diag(2 * n * spread + extra * draw.random(n)) * joint.mean() * 2
    kernel = pmi_kernel(joint / joint.sum())
    condition = smoothness(kernel)
    assume(condition.holds)
    assert np.linalg.eigvalsh(kernel + condition.offset)[0] > -1e-9
    assert least_offset(kernel).value <= condition.offset + 1e-9


def test_proposition_1_holds_for_some_worlds_and_is_not_necessary() -> None:
    assert smoothness(pmi_kernel(np.full((4, 4), 1 / 20) + np.eye(4) / 20)).holds
    rough = pmi_kernel(world(window=8, jumps=0.3).joint)
    assert not smoothness(rough).holds
    assert least_offset(rough).reason == ""
