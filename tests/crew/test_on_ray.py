"""What Ray's workers do is what this process would have done: the same bytes, the same sentences,
whatever is killed on the way.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
import torch
from huggingface_hub import close_session
from store_fakes import CountedDataset, CountingEncoder, contents

from core.cli import main
from core.crew import open_crew
from core.crew.units import HERE, Crew, Once, Unit, results
from core.embedding.runner import embed
from core.settings import CHECKOUT
from core.store import Store, add_dataset
from core.store.schema import embedding_file
from tests.crew import works
from tests.hub.online import turn_to
from tests.hub.server import LocalHub
from tests.plans.worlds import host_models, write_study
from tests.ports import find_free_port

on_ray = pytest.importorskip(
    "core.crew.on_ray", reason="needs Ray: pip install platoscope[cluster]"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]
WORKERS = {
    "RAY_OVERRIDE_RESOURCES": '{"CPU": 2}',
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "tests")]),
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHub]:
    """Return a hub to which this process and all workers are turned."""
    hub, cache = LocalHub(), tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        turn_to(hub, cache, patch)
        for name, value in environment(hub, cache).items():
            patch.setenv(name, value)
        yield hub
    close_session()
    hub.close()


def environment(hub: LocalHub, cache: Path) -> dict[str, str]:
    own = {"HF_ENDPOINT": hub.address, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "0"}
    return {**WORKERS, **own}


@pytest.fixture(scope="module")
def crew(hub: LocalHub) -> Iterator[Crew]:  # noqa: ARG001 (workers know it from the start)
    """Return two workers; commands of this process that ask for Ray meet them, too."""
    with open_crew("ray", device="cpu") as crew:
        yield crew


def test_units_come_back_in_their_order_and_one_that_fails_stops_no_other(crew: Crew) -> None:
    units = [Unit(f"unit {number}", partial(works.double, number)) for number in range(4)]
    units.insert(2, Unit("wrong", works.fail))
    for one in (HERE, crew):
        begun, heard = list[str](), list[tuple[int, int, str]]()
        outcomes = [
            outcome
            for _, outcome in one.run(
                units,
                report=lambda *state: heard.append(state),  # noqa: B023
                began=lambda unit: begun.append(unit.name),  # noqa: B023
            )
        ]
        assert str(outcomes.pop(2)) == "no number named 'three'; there are: four"
        assert outcomes == [0, 2, 4, 6]
        assert sorted(begun) == sorted(unit.name for unit in units)
        assert heard
    assert heard[-1] == (5, 5, "units of work on Ray")
    assert list(crew.run([])) == []


def test_a_fault_of_the_program_is_no_sentence(crew: Crew) -> None:
    with pytest.raises(ZeroDivisionError):
        list(crew.run([Unit("wrong", works.divide)]))


def test_a_unit_whose_worker_is_lost_every_time_is_a_sentence(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.crew.on_ray.RETRIES", 1)
    units = [Unit("the last", works.vanish), Unit("one", partial(works.double, 1))]
    (_, lost), (_, doubled) = crew.run(units)
    assert str(lost).startswith("the last: its worker was lost 2 times (")
    assert str(lost).endswith("finished work is kept: run the command again to continue")
    assert doubled == 2


def test_what_units_share_is_made_once_in_each_process(crew: Crew, tmp_path: Path) -> None:
    once = Once(partial(works.make, tmp_path / "log"))
    units = [Unit("shared", partial(works.share, once)) for _ in range(6)]
    pairs = set(results(crew, units))
    assert all(worker == maker for worker, maker in pairs)
    made = (tmp_path / "log").read_text().split()
    assert sorted(made) == sorted(str(worker) for worker, _ in pairs)
    assert os.getpid() not in {worker for worker, _ in pairs}
    assert once() == os.getpid()


def test_a_lost_worker_loses_one_batch(crew: Crew, tmp_path: Path) -> None:
    add_dataset(tmp_path, CountedDataset(60))
    whole = embed(tmp_path, CountedDataset(60), CountingEncoder(), batch_size=10)
    log = tmp_path / "log"
    work = partial(works.embed_dying, tmp_path, log)
    assert list(results(crew, [Unit("killed", work)])) == ["killed"]
    assert contents(embedding_file(tmp_path, "counted", "killed")) == contents(whole)
    assert len(log.read_text().splitlines()) == 7  # six batches, the fourth one twice


@pytest.fixture(scope="module")
def study(hub: LocalHub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small study."""
    root = tmp_path_factory.mktemp("study")
    return write_study(root, host_models(hub, root))


def words(study: Path, store: Path, *more: str) -> list[str]:
    fixed = ("--store", str(store), "--device", "cpu", "--to", str(store / "out"))
    return ["study", "run", str(study), *fixed, *more]


@pytest.fixture(scope="module")
def alone(study: Path) -> Path:
    """Return the store of the study as this process makes it, with as many threads as a worker."""
    torch.set_num_threads(1)
    store = study.parent / "alone"
    assert main(words(study, store)) == 0
    return store


def check_equal(store: Path, alone: Path) -> None:
    """Check that two stores hold the same vectors, and the same tables next to them."""
    stores = Store(store), Store(alone)
    for entry in stores[1].embeddings("photos"):
        name = entry.card.name
        assert stores[0].model("photos", name).card == entry.card
        for layer in range(len(entry.dims)):
            first, second = (one.space("photos", name, layer) for one in stores)
            assert first.tobytes() == second.tobytes()
    tables = [
        {path.name: path.read_bytes() for path in (one / "out").glob("*.csv")}
        for one in (store, alone)
    ]
    assert len(tables[0]) > 3
    assert tables[0] == tables[1]


def test_a_study_on_ray_ends_as_it_would_have_here(
    crew: Crew,  # noqa: ARG001 (the command meets it)
    study: Path,
    alone: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    store = study.parent / "spread"
    assert main(words(study, store, "--on", "ray")) == 0
    said = capfd.readouterr().err
    assert "units of work on Ray: 3/3 (100%)" in said
    assert len([line for line in said.splitlines() if line.startswith("model ")]) == 6
    check_equal(store, alone)


@pytest.fixture
def head(
    hub: LocalHub,  # noqa: ARG001 (workers know it from the start)
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """Return the address of a cluster of one machine, which nobody of this process has joined."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    port, listener = find_free_port(), find_free_port()
    folder = tempfile.TemporaryDirectory(
        prefix="ray-", dir=on_ray.SHORT, ignore_cleanup_errors=True
    )
    words = f"start --head --block --port={port} --num-cpus=2"
    words += f" --dashboard-agent-listen-port={listener}"
    words += f" --include-dashboard=false --disable-usage-stats --temp-dir={folder.name}"
    command = [str(Path(sys.executable).with_name("ray")), *words.split()]
    with folder:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        family = psutil.Process(server.pid)
        try:
            await_listeners(port, listener)
            yield f"127.0.0.1:{port}"
        finally:
            everyone = [*family.children(recursive=True), family]
            server.terminate()
            psutil.wait_procs(everyone, timeout=180)
            server.wait()
        assert not [one for one in everyone if one.is_running()]


def await_listeners(*ports: int) -> None:
    """Wait until somebody listens on each of these ports, at whatever address."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        sockets = psutil.net_connections("tcp")
        listening = {one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN}
        if listening.issuperset(ports):
            return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens on {set(ports) - listening}")


def test_a_cluster_that_runs_already_does_a_study_as_this_process_does(
    study: Path, alone: Path, head: str
) -> None:
    store = study.parent / "joined"
    command = [sys.executable, "-m", "core", *words(study, store, "--on", head)]
    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert "units of work on Ray: 3/3 (100%)" in ended.stderr
    check_equal(store, alone)
