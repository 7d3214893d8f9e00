"""Units here, and the sentence of a cluster that does not answer."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from core.crew.units import HERE, Once, Unit, results
from core.errors import PlatoscopeError
from core.settings import CHECKOUT
from tests.crew import works


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


@pytest.mark.slow
def test_an_address_without_a_cluster_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'platoscope[cluster]'")
    words = [
        "bits-per-byte",
        "--dataset",
        "cave",
        "--on",
        "127.0.0.1:1",
        "--store",
        str(tmp_path),
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "core", *words],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("platoscope: no Ray cluster of this version answers at 127.0.0.1:1 (")
    assert "give --on its head, HEAD:6379, and set RAY_AUTH_MODE" in line
