"""First imports in two threads at once, as two visitors of a fresh dashboard make them.

A thread that imports `package.part` holds the part's lock while it waits for the package's. Where
the package itself imports that part, a second thread that is importing the package then waits for
the first: Python breaks the deadlock by handing out half a module, and what was built on it stays
broken until the process ends.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from core.settings import ROOT

LOOPS = """
import sys, threading, time

def load(name):
    try:
        __import__(name)
    except ImportError as error:
        failures.append(error)

failures = []
names = "core.pairs.loops", "core.pairs.loops"
threads = [threading.Thread(target=load, args=(name,)) for name in names]
for thread in threads:
    thread.start()
    time.sleep(float(sys.argv[1]))
for thread in threads:
    thread.join()
sys.exit(str(failures[0]) if failures else 0)
"""


@pytest.mark.parametrize(
    "seconds", ["0.05", *(pytest.param(one, marks=pytest.mark.slow) for one in ("0.02", "0.1"))]
)
def test_two_threads_load_compiled_loops_at_once(seconds):
    run = subprocess.run(
        [sys.executable, "-c", LOOPS, seconds], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
