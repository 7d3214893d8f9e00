"""Trainings side by side: processes that end with the command, and are missed in a sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil

from core.errors import INTERRUPTED
from core.settings import ROOT

SLEEPING = """
import signal, sys, time
from core.__main__ import run
from core.cli import train
def sleep(config, **_):
    print(config.name, flush=True)
    time.sleep(600)
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a test's process may lack
    train.train_all = lambda configs, **_: list(train.spread(sleep, configs, processes=2))
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
