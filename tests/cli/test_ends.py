"""Whole commands at the ends of their numbers' ranges, in a process with little memory: each ends
with an answer or a sentence, or shows how far it is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.settings import ROOT
from tests.pages.world import SMALL, PaintedDataset, build

MEMORY = 6 * 2**30  # bytes of address space, of which torch and numba take half
RUN = f"""import contextlib, io, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
from core.cli import main
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, said.getvalue()]), flush=True)
"""
QUICK = (  # what no command of the default run may do in a minute is in the slow one
    ("align --k 1000000", "k must lie in 1 … 19 for 20 stimuli; got 1000000"),
    ("align --set k=5.0", "k of mutual_knn is a whole number, such as 10; got 5.0"),
    ("align --set k=10000000000000000000000", "is a whole number, 1 to 1,000,000; got 10"),
    ("align --metric rbf_cka --set bandwidth=NaN", "bandwidth of rbf_cka is a number, such as 1.0"),
    ("align --metric rbf_cka --set bandwidth=Infinity", "such as 1.0; got 'Infinity'"),
    ("align --metric svcca --set rank=1", "rank of svcca is a whole number, 2 to 100,000; got 1"),
    ("align --set x=1", "mutual_knn takes the parameters k; got x"),
    ("align --k 3 --bootstrap 1 --seed 2147483647", ""),
    ("align --k 3 --null 19 --seed 2147483647", ""),
    ("translate --size 11 --k 11", "fewer than k = 11 neighbors each"),
    ("metrics pair --over stimuli --layer-a 10000", "from 0 to 3; got 10000"),
    ("dispersion effect --size 1000000", "got 1000000"),
    ("color agreement --grid 16 --radius 1024 --pairs 0", "at least one pair of pixels"),
    ("theory contrastive --temperature 0", "a temperature is a number above 0, not 0"),
    ("theory deep-linear --rank 64", "has a rank of 1 … 5, not 64"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ends")
    build(root, PaintedDataset(20), **SMALL)
    return root


def run(lines: Sequence[str], store: Path, *, seconds: float) -> list[tuple[int, str]]:
    """Run commands one after the other in one process, and return code and stderr of each."""
    several = [
        [*line.split(), *([] if line.startswith("theory") else ["--store", str(store)])]
        for line in lines
    ]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, json.dumps(several)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_mistaken_numbers_end_in_a_sentence_with_little_memory(store):
    outcomes = run([line for line, _ in QUICK], store, seconds=300)
    assert len(outcomes) == len(QUICK)
    for (line, said), (code, told) in zip(QUICK, outcomes, strict=True):
        assert code == (2 if said else 0), (line, told)
        assert said in told, line
        assert "Traceback" not in told
