"""What jobs run in tests in place of `platoscope`: quick commands, each with an end of its own.

commands.py steps N SECONDS     report N steps
commands.py unending            report all but the last ten of 1000 steps, and rest
commands.py deaf FILE           ignore the wish to stop; FILE appears when it does
commands.py crash | mistake | killed
commands.py embed FILE          embed 40 stimuli, four at a time; after two batches wait for FILE
commands.py worker STORE        be the worker that runs these commands
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SIZE = 40


def steps(count: str, seconds: str) -> None:
    from core.progress import ConsoleProgress

    report = ConsoleProgress()
    for done in range(int(count) + 1):
        report(done, int(count), "steps")
        time.sleep(float(seconds))


def unending() -> None:
    from core.progress import ConsoleProgress

    report = ConsoleProgress()
    for done in range(991):
        report(done, 1000, "steps")
        time.sleep(0.01)
    time.sleep(600)


def deaf(file: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Path(file).touch()
    time.sleep(60)


def crash() -> None:
    raise RuntimeError("a mistake of ours")


def mistake() -> None:
    print("platoscope embed: one: no model; name another", file=sys.stderr)
    print("platoscope: two: no disk; free some", file=sys.stderr)
    sys.exit(2)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def embed(gate: str) -> None:
    from store_fakes import CountedDataset, CountingEncoder

    from core.embedding import runner
    from core.progress import ConsoleProgress

    class GatedEncoder(CountingEncoder):
        batches = 0

        def encode(self, items):
            self.batches += 1
            while self.batches > 2 and not Path(gate).exists():
                time.sleep(0.05)
            return super().encode(items)

    store = Path(os.environ["PLATOSCOPE_STORE"])
    runner.embed(
        store, CountedDataset(SIZE), GatedEncoder(), batch_size=4, report=ConsoleProgress()
    )


def worker(store: str) -> None:
    from core.jobs import worker
    from core.jobs.worker import work

    worker.PROGRAM = PROGRAM
    work(Path(store), idle=30)


PROGRAM = (sys.executable, str(Path(__file__).resolve()))
VERBS = {
    verb.__name__: verb for verb in (steps, unending, deaf, crash, mistake, killed, embed, worker)
}

if __name__ == "__main__":
    sys.path += [str(TESTS), str(TESTS.parent)]
    VERBS[sys.argv[1]](*sys.argv[2:])
