"""Trainings side by side: processes that end with the command, and are missed in a sentence."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import torch

from core.cli.train import _side_by_side
from core.errors import DeviceError
from core.settings import ROOT
from core.training.configs import Config
from core.training.family import CONFIGS
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


def test_a_killed_training_is_a_sentence():
    with pytest.raises(DeviceError, match="one of 2 processes was ended from outside"):
        list(_side_by_side(die, SOME, 2))


def test_trainings_end_with_the_command_that_began_them(tmp_path):
    alive = kill_parent(
        tmp_path,
        imported="from core.cli.train import _side_by_side",
        began="list(_side_by_side(sleep, range(4), 2))",
    )
    assert alive == []
