"""One process of the fuzz test: reads damaged files of a kind within limits, and prints what became
of them.

python -m tests.fuzz.shard --kind npy --cases 100 [--seed 0] [--case 0.17]
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import resource
import shutil
import sys
import traceback
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

import psutil

from core.errors import PlatoscopeError
from tests.fuzz import valid
from tests.fuzz.kinds import KINDS, make

HEADROOM = 1 << 30  # bytes of memory that a case may ask for beyond what the libraries take
SECONDS = 20  # of a case, after which the process ends with a traceback
LONGEST = 3_000  # characters of a sentence


@dataclass
class Outcome:
    """What became of the cases of one kind. slowest: seconds. failed: cases, and what came out."""

    kind: str
    cases: int = 0
    refused: int = 0
    accepted: int = 0
    slowest: float = 0
    failed: dict[str, str] = field(default_factory=dict)


def run(kind: str, case: str, folder: Path, outcome: Outcome) -> None:
    """Read one case; note a failure where anything but a sentence comes out."""
    data, dice = make(kind, f"{kind} {case}")
    path = folder / KINDS[kind].file
    path.write_bytes(data)
    start = perf_counter()
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        KINDS[kind].read(path, dice)
        outcome.accepted += 1
    except PlatoscopeError as error:
        outcome.refused += 1
        if reason := _no_sentence(error):
            outcome.failed[case] = f"{reason}: {str(error)[:300]}"
    except BaseException:
        outcome.failed[case] = traceback.format_exc(limit=-6)
    faulthandler.cancel_dump_traceback_later()
    outcome.cases += 1
    outcome.slowest = max(outcome.slowest, perf_counter() - start)


def _no_sentence(error: PlatoscopeError) -> str:
    """Return what is wrong with a message, "" where it is a sentence."""
    text = str(error)
    if not text or len(text) > LONGEST:
        return f"a sentence of {len(text):,} characters"
    if "\n" in text and "(rows count from 1" not in text:  # a list of problems has lines
        return "several lines"
    return ""


def limit(cases: int) -> None:
    """Let this process take no more memory and time than its cases may."""
    taken = psutil.Process().memory_info().data
    resource.setrlimit(resource.RLIMIT_DATA, (taken + HEADROOM, taken + HEADROOM))
    seconds = SECONDS + cases  # of the CPU, a second for each case
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Run the cases, and print their outcome as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=list(KINDS), required=True)
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--case", default="", help="one case alone, as a failure names it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    numbers = (
        [options.case] if options.case else [f"{options.seed}.{i}" for i in range(options.cases)]
    )
    folder, outcome = valid.scratch(), Outcome(options.kind)
    run(options.kind, "first", folder, Outcome(options.kind))  # libraries take memory at first
    limit(len(numbers))
    for case in numbers:
        print(case, file=sys.stderr, flush=True)  # the last one is where it ended
        run(options.kind, case, folder, outcome)
    print(json.dumps(asdict(outcome)), flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
