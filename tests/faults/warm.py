"""`python -m tests.faults.warm`: a process that has imported everything, and forks itself for each
case that a line of its input asks for; it prints how each ended.

It starts no thread, of which a fork would have none: whatever computes does so in the forks.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

NEEDED = (
    "core.catalog",
    "core.cli",
    "core.competence.images.transfer",
    "core.competence.language.coding",
    "core.embedding.runner",
    "core.embedding.summaries",
    "core.encoders.language.chat",
    "core.encoders.language.encoder",
    "core.encoders.vision",
    "core.jobs.queue",
    "core.plans.figures",
    "core.questions.adapters.answer",
    "core.training.train",
    "store_fakes",
    "tests.faults.cases",
    "tests.faults.world",
    "transformers.models.bloom.modeling_bloom",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.llama.modeling_llama",
)


def serve() -> None:
    """Do a case per line, one after the other; answers go where output went, output to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in NEEDED:
        importlib.import_module(name)
    for line in sys.stdin:
        number = os.fork()
        if number == 0:
            os._exit(_do(*json.loads(line)))
        _, status = os.waitpid(number, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _do(name: str, world: str, case: str, what: str, more: list[Any]) -> int:
    from tests.faults.cases import run_case
    from tests.faults.table import ROWS
    from tests.faults.world import build_world

    signal.alarm(600 if what == "build" else ROWS[name].longest)
    sys.stdin.close()
    try:
        if what == "build":
            build_world(Path(world), more)
            return 0
        return run_case(name, world, case, what, more)
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    serve()
