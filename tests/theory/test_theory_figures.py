"""The theory pages' figures hold what their tables hold, measured beside predicted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.theory.attention import figures as attention
from core.theory.contrastive import figures as learned
from core.theory.deep_linear import figures as linear

SWEEP = pd.DataFrame(
    {
        "strength": [0.0, 1.0, 2.0],
        "measured": [1.0, 0.8, np.nan],
        "measured_mean": [1.0, 0.9, np.nan],
        "predicted": [1.0, 0.79, np.nan],
        "predicted_mean": [1.0, 0.91, np.nan],
    }
)


def traces(figure) -> dict[str, object]:
    return {trace.name: trace for trace in figure.data}


def test_a_breaker_is_drawn_as_points_beside_lines() -> None:
    shown = traces(linear.broken(SWEEP, unit="share", mode="light"))
    assert shown["least over layer pairs, measured"].mode == "markers"
    assert list(shown["least over layer pairs, predicted"].y) == [1.0, 0.79]
    assert shown["mean over layer pairs, predicted"].line.dash == "dash"
    gone = linear.broken(SWEEP.assign(measured=np.nan), unit="share", mode="dark")
    assert "diverged" in gone.layout.annotations[0].text


@pytest.mark.parametrize("narrow", [False, True])
def test_training_is_drawn_for_both_networks(narrow) -> None:
    looks = pd.DataFrame(
        {"at": [0, 5000], "min_alignment": [0.2, 0.9], "max_disproportion": [0.9, 0.1]}
    )
    looks[[f"{name}_{network}" for name in linear.PANELS for network in "ab"]] = 1.0
    looks["excess_loss_a"] = [1.0, -1e-9]  # rounding below the floor has no logarithm
    way = linear.on_the_way(looks, steps="steps", mode="light", narrow=narrow)
    assert len(way.data) == 6
    assert np.isnan(way.data[0].y[1])
    over = linear.over_training(looks, steps="steps", predicted=True, mode="light")
    assert len(over.data) == 2
    assert over.layout.annotations[0].text == "theory"
    assert not linear.over_training(
        looks[["at", "min_alignment"]], steps="s", predicted=False, mode="light"
    ).layout.annotations


def test_queries_and_keys_are_drawn_over_training() -> None:
    heads = pd.DataFrame(
        {
            "title": ["A", "A", "B"],
            "family": "GPT-2",
            "step": [50.0, 50.0, 0.0],
            "layer": 1,
            "head": [1, 2, 1],
        }
    )
    for name in attention.PANELS:
        heads[[name, f"{name}_initial", f"{name}_chance"]] = [[0.1, 0.2, 0.3]] * 3
    drawn = attention.balance(heads, mode="light").data
    assert len(drawn) == 4 * len(attention.PANELS)
    assert list(drawn[0].x) == ["untrained", "50", "50"]
    alone = attention.balance(heads.assign(step=np.nan), mode="dark", narrow=True).data
    assert list(alone[0].x) == ["A", "A", "B"]


def test_what_is_learned_is_drawn_beside_the_kernel() -> None:
    kernel = np.array([[1.0, 0.2, -0.3], [0.2, 1.0, 0.1], [-0.3, 0.1, 1.0]])
    pair = learned.kernels(kernel, 2 * kernel, mode="light").data
    assert (pair[1].z == 2 * pair[0].z).all()
    shown = traces(learned.products(kernel, 2 * kernel + 1, slope=2.0, offset=1.0, mode="light"))
    assert sorted(shown["two events"].x) == [-0.3, 0.1, 0.2]
    assert list(shown["least-squares fit"].y) == pytest.approx([0.4, 3.0])
    ring = np.ones((3, 3)) - np.eye(3)
    plane = learned.plane(np.eye(3), ring, mode="dark").data
    assert len(plane[0].x) == 9  # three steps, each of two ends and a gap
    assert len(plane[1].x) == 3
    assert learned.plane(np.arange(3.0)[:, None], ring, mode="dark").data[1].y == pytest.approx(
        [0, 0, 0]
    )


def test_sweeps_are_drawn_beside_what_is_known() -> None:
    table = pd.DataFrame(
        {
            "view": ["lossy", "lossy", "noisy"],
            "bits": [2.0, 1.0, 0.5],
            "cka": [1.0, 0.5, 0.4],
            "predicted": [1.0, 0.51, 0.4],
            "mutual_knn": [1.0, np.nan, 0.2],
            "chance_cka": 0.3,
            "chance_knn": 0.1,
        }
    )
    shown = traces(learned.information(table, measure="cka", mode="light"))
    assert list(shown["events merged, measured"].x) == [1.0, 2.0]
    assert list(shown["events merged, predicted"].y) == [0.51, 1.0]
    assert "events merged, predicted" not in traces(
        learned.information(table, measure="mutual_knn", mode="light")
    )
    widths = traces(
        learned.widths(
            pd.DataFrame({"width": [1, 2], "r2": [0.4, 1.0], "best": [0.5, 1.0]}), mode="light"
        )
    )
    assert list(widths["best of any embedding"].y) == [0.5, 1.0]
    tasks = pd.DataFrame(
        {
            "tasks": [1, 2],
            "cka": [0.5, 0.6],
            "mutual_knn": [0.4, 0.5],
            "predicted": [0.5, 0.6],
            "chance_knn": 0.1,
        }
    )
    assert list(traces(learned.tasks(tasks, mode="light"))["mutual k-NN"].y) == [0.4, 0.5]
    over = learned.over_training(pd.DataFrame({"at": [0, 10], "r2": [0.1, 1.0]}), mode="light")
    assert list(over.data[0].y) == [0.1, 1.0]
