"""More memory than is free is refused before it is taken, with both sizes."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from core.errors import DeviceError
from core.machine import memory
from core.settings import ROOT

LIMITED = """import resource
from core.machine.memory import free_memory
resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, resource.RLIM_INFINITY))
print(free_memory())
"""


def test_what_fits_is_let_through_and_what_does_not_is_refused_with_both_sizes(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 3 * 10**9)
    memory.check_memory(3 * 10**9, "matrices", "make fewer")
    with pytest.raises(
        DeviceError, match=r"^matrices take 3\.1 GB of memory, but only 3 GB is free; make fewer$"
    ):
        memory.check_memory(3_100_000_000, "matrices", "make fewer")


def test_free_memory_is_what_a_container_has(tmp_path, monkeypatch):
    own = tmp_path / "own"
    monkeypatch.setattr(memory, "OWN_GROUPS", own)
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    group = tmp_path / "pod"
    group.mkdir()
    own.write_text("1:name=systemd:/elsewhere\n0::/pod\n")
    unlimited = memory.free_memory()
    assert memory._free_in_groups() == []
    (group / "memory.max").write_text("5000000\n")
    (group / "memory.current").write_text("4000000\n")
    (group / "memory.stat").write_text("anon 3000000\nactive_file 300000\ninactive_file 500000\n")
    assert memory._free_in_groups() == [1_800_000]
    assert memory.free_memory() == 1_800_000 < unlimited
    (group / "memory.max").write_text("max\n")
    assert memory._free_in_groups() == []


@pytest.mark.skipif(not hasattr(psutil, "RLIMIT_AS"), reason="limits of a process are Linux's")
def test_a_limited_process_has_what_its_limit_leaves():
    said = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert 10**9 < int(said.stdout) < 2 * 10**9  # Python itself takes the rest
