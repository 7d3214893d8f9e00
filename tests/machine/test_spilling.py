"""What a killed process spilled is removed by the next one, and what another uses stays."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

from core.encoders.language import folder
from core.machine import memory
from core.settings import CHECKOUT

HOLDING = """
from core.machine.memory import make_spill_folder
print(make_spill_folder(), flush=True)
input()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_outlives_no_process(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endings = ExitStack()
    monkeypatch.setattr(memory, "endings", endings)
    command = [sys.executable, "-c", HOLDING]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=CHECKOUT, stdin=pipe, stdout=pipe, text=True) as killed:
        spilled = Path(killed.stdout.readline().strip())
        (spilled / "weights.dat").write_bytes(bytes(100))
        own = memory.make_spill_folder()
        assert spilled.is_dir()  # it is still used
        killed.kill()
    again = memory.make_spill_folder()
    left = sorted(path.name for path in place.iterdir() if path.is_dir())
    assert left == sorted([own.name, again.name])
    endings.close()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_spilled_takes_no_room_from_the_next(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = place / f"{memory.SPILLED}left"
    left.mkdir()
    usage = shutil.disk_usage(place)
    monkeypatch.setattr(
        folder.shutil, "disk_usage", lambda _: usage._replace(free=0 if left.exists() else 10**6)
    )
    monkeypatch.setattr(folder, "free_on", lambda _: 100)
    placed = folder.place(4_000, torch.device("cpu"))
    assert Path(placed["offload_folder"]).is_dir()


def test_what_another_person_keeps_there_is_left_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, acquire = place / f"{memory.SPILLED}theirs", memory.FileLock.acquire
    kept.mkdir()

    def refuse(lock: memory.FileLock) -> None:
        if "theirs" in str(lock.lock_file):
            raise PermissionError(13, "Permission denied")
        acquire(lock)

    monkeypatch.setattr(memory.FileLock, "acquire", refuse)
    monkeypatch.setattr(memory, "endings", ExitStack())
    memory.make_spill_folder()
    assert kept.is_dir()
