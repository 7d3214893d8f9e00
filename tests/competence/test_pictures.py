"""The probe pictures: the same, whoever draws them."""

from __future__ import annotations

import os
import signal

import pytest

from core.cave import tasks as pictures
from core.cave.tasks import draw_pictures
from core.errors import DeviceError
from core.machine.processes import spread
from core.settings import ROOT


def test_worker_processes_draw_the_same_pictures():
    samples = {"plain": 3, "lines": 2}
    heard = []
    alone, together = (
        draw_pictures(samples, jobs=jobs, report=lambda *state: heard.append(state))
        for jobs in (1, 2)
    )
    assert {style: rows.shape for style, rows in alone.items()} == {
        "plain": (3, 48, 48, 3),
        "lines": (2, 48, 48, 3),
    }
    assert all((alone[style] == together[style]).all() for style in samples)
    assert heard[-1][:2] == (1, 1)


def test_chunks_are_joined_in_their_order_whoever_is_done_first(monkeypatch):
    samples = {"plain": 5, "lines": 2}
    whole = draw_pictures(samples, jobs=1)
    monkeypatch.setattr(pictures, "_CHUNK", 2)
    monkeypatch.setattr(pictures, "spread", lambda *given, **more: [*spread(*given, **more)][::-1])
    parts = draw_pictures(samples, jobs=1)
    assert all((whole[style] == parts[style]).all() for style in samples)


def test_a_killed_drawer_is_a_sentence(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))  # workers find this file
    monkeypatch.setattr(pictures, "_draw", die)
    with pytest.raises(DeviceError, match="one of 2 processes was ended from outside"):
        draw_pictures({"plain": 1}, jobs=2)


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
