"""Trainings side by side: processes that end with the command, and are missed in a sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import torch

from core.cave.training.configs import CONFIGS, Config
from core.cli.train import _side_by_side
from core.errors import INTERRUPTED, DeviceError
from core.settings import ROOT
from tests.machine.orphans import kill_parent

SOME = list(CONFIGS.values())[:3]


@pytest.fixture(autouse=True)
def _found_by_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let them import the functions of this file, wherever pytest was started."""
    monkeypatch.syspath_prepend(str(ROOT))


def count_threads(config: Config) -> Path:
    return Path(config.name, str(torch.get_num_threads()))


def die(_: Config) -> Path:
    os.kill(os.getpid(), signal.SIGKILL)
    return Path()


def test_each_training_has_one_thread_and_comes_in_its_order():
    folders = list(_side_by_side(count_threads, SOME, 2))
    assert folders == [Path(config.name, "1") for config in SOME]


@pytest.mark.slow
def test_a_killed_training_is_a_sentence():
    with pytest.raises(DeviceError, match="one of 2 processes was ended from outside"):
        list(_side_by_side(die, SOME, 2))


SLEEPING = """
import signal, sys, time
from core.__main__ import run
from core.cli import train
def sleep(config, **_):
    print(config.name, flush=True)
    time.sleep(600)
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a test's process may lack
    train.train_all = lambda configs, *, jobs, **_: list(train._side_by_side(sleep, configs, jobs))
    sys.argv = ["platoscope", "train", "--core", "--jobs", "2"]
    run()
"""


def test_an_interrupt_ends_what_has_begun_and_begins_nothing(tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(SLEEPING)
    command = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,  # Ctrl-C reaches all of the group
    )
    assert command.stdout
    begun = [command.stdout.readline() for _ in range(2)]
    trainings = psutil.Process(command.pid).children()
    os.killpg(command.pid, signal.SIGINT)
    printed, said = command.communicate(timeout=120)
    assert (command.returncode, printed, all(begun)) == (INTERRUPTED, "", True)
    assert said.strip().startswith("platoscope: stopped; finished batches are kept")
    assert len(said.strip().splitlines()) == 1
    assert psutil.wait_procs(trainings, timeout=120)[1] == []


@pytest.mark.slow
def test_trainings_end_with_the_command_that_began_them(tmp_path):
    alive = kill_parent(
        tmp_path,
        imported="from core.cli.train import _side_by_side",
        began="list(_side_by_side(sleep, range(4), 2))",
    )
    assert alive == []
