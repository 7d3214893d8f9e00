"""Without Ray: units here, what units ask of machines, their progress added up, and the sentences
of what cannot be.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from core.crew.crew import HERE, results
from core.crew.merging import MergedProgress, Stage
from core.crew.needs import Node, needs_on_cpus, needs_on_gpus
from core.crew.units import Once, Unit
from core.errors import PlatoscopeError
from core.settings import CHECKOUT
from tests.crew import works

GB = 2**30
SMALL, LARGE = Node("a", 8.0, 2.0, 64.0 * GB), Node("b", 64.0, 8.0, 512.0 * GB)


def test_results_end_with_the_first_error() -> None:
    units = [Unit("one", partial(works.double, 1)), Unit("wrong", works.fail)]
    come = results(HERE, units)
    assert next(come) == 2
    with pytest.raises(PlatoscopeError, match="no number named 'three'"):
        next(come)


def test_an_unforeseen_error_ends_its_unit_alone(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    units = [Unit("odd", lambda _: 1 / 0), Unit("one", partial(works.double, 1))]
    (_, odd), (_, one) = HERE.run(units)
    assert isinstance(odd, PlatoscopeError)
    assert "ZeroDivisionError" in str(odd)
    assert one == 2


def test_what_is_shared_is_made_once_here_and_once_where_it_arrives(tmp_path: Path) -> None:
    once = Once(partial(works.make, tmp_path / "log"))
    assert once() == once() == os.getpid()
    arrived = [pickle.loads(pickle.dumps(once)) for _ in range(3)]
    assert {each() for each in arrived} == {os.getpid()}
    assert len((tmp_path / "log").read_text().split()) == 2
    assert Once(partial(works.make, tmp_path / "log"), 7)() == 7


@pytest.mark.parametrize(
    ("weights", "gpus", "cpus"),
    [
        (1 * GB, 1 / 8, 1),
        (10 * GB, 1 / 4, 1),
        (20 * GB, 1 / 2, 2),
        (60 * GB, 1.0, 4),
        (None, 1.0, 4),
        (130 * GB, 3.0, 24),  # which the large node alone has
        (900 * GB, 8.0, 64),  # all that one node has
    ],
)
def test_a_unit_gets_the_gpus_that_its_weights_fill(
    weights: int | None, gpus: float, cpus: int
) -> None:
    needs = needs_on_gpus(weights, [SMALL, LARGE], gpu_bytes=80.0 * GB)
    assert needs == {"num_gpus": gpus, "num_cpus": cpus}


@pytest.mark.parametrize(
    ("units", "weights", "needs"),
    [
        (1, None, {"num_cpus": 8}),
        (4, None, {"num_cpus": 4}),
        (100, 8 * GB, {"num_cpus": 1, "memory": 10 * GB}),
        (100, 900 * GB, {"num_cpus": 1, "memory": 512 * GB}),
    ],
)
def test_a_unit_gets_its_share_of_cores_and_room_for_its_weights(
    units: int, weights: int | None, needs: dict[str, int]
) -> None:
    assert needs_on_cpus(units, weights, [SMALL, LARGE]) == needs


def test_progress_sums_what_runs_and_counts_what_has_ended() -> None:
    heard = list[tuple[int, int, str]]()
    merged = MergedProgress(lambda *state: heard.append(state), 4)
    merged.show()
    merged.note(0, Stage(1, 10, "a"))
    merged.note(1, Stage(2, 20, "b"))
    merged.show()
    merged.show()
    merged.note(2, Stage(3, 30, "c"))
    merged.show()
    merged.end(0)
    merged.note(1, Stage(5, 20, "b"))
    merged.show()
    for unit in (1, 2, 3):
        merged.end(unit)
    merged.show()
    assert heard == [
        (3, 30, "0 of 4 done; now a + b"),
        (6, 60, "0 of 4 done; now a + b + 1 more"),
        (8, 50, "1 of 4 done; now b + c"),
        (4, 4, "all done"),
    ]


@pytest.mark.slow
def test_an_address_without_a_cluster_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'platoscope[cluster]'")
    seconds = {f"RAY_CLIENT_{which}_CONNECTION_TIMEOUT_S": "1" for which in ("INITIAL", "MAX")}
    words = ["probe", "--dataset", "cave", "--on", "ray://127.0.0.1:1", "--store", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-m", "core", *words],
        env=os.environ | seconds,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(
        "platoscope: no Ray cluster of this version answers at ray://127.0.0.1:1"
    )
    assert "give --on the address of its head, ray://HEAD:10001, and set RAY_AUTH_MODE" in line
