"""Whatever is done to a file that a person gives, it is read, or refused in a sentence, within
memory and time that the kernel limits.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.settings import ROOT
from tests.fuzz.kinds import KINDS
from tests.fuzz.shard import Outcome
from tests.sources import SOURCES, full_names, module_of, read_tree

FEW, MANY = 30, 100_000
SHARDS = 2
ODD = ("tests/encoders/test_odd_checkpoints.py",)  # changes cards and configs, field by field
READERS = {  # what reads a file that a person names, and the kinds that try it
    "core.cli.competence": ("csv of scores",),
    "core.competence.images.labeled": ("tar of images",),
    "core.competence.images.shards": ("tar of images",),
    "core.competence.language.texts": ("parquet of texts", "jsonl of texts"),
    "core.embedding.summaries": ("instruction",),
    "core.encoders.building": ("pt of weights", "safetensors of weights"),
    "core.encoders.fields": ODD,
    "core.encoders.imported": ("npy", "npz", "safetensors", "pt", "parquet of features"),
    "core.encoders.measured.judgments": ("csv of judgments",),
    "core.plans.reading": ("plan",),
    "core.questions.color.geometry.batches": ("CIFAR batch",),
    "core.questions.color.geometry.pictures": ("pictures",),
    "core.stimuli.hub_files": ("parquet of the hub",),
    "core.stimuli.images": ("image", "png"),
    "core.stimuli.table": ("csv of captions", "jsonl of captions", "parquet of captions"),
    "core.store.notes.file": ("titles",),
}


def run_shard(seed: str, cases: int) -> list[Outcome]:
    """Run cases of every kind in a process of its own; fails where it does not end well."""
    command = [sys.executable, "-m", "tests.fuzz.shard", "--seed", seed, "--cases", str(cases)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, f"ended with {done.returncode} at {done.stderr[-3_000:]}"
    return [Outcome(**json.loads(line)) for line in done.stdout.splitlines()]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def summed(several: list[Outcome]) -> Outcome:
    """Return what became of a kind in all shards together."""
    return Outcome(
        several[0].kind,
        sum(one.cases for one in several),
        sum(one.refused for one in several),
        sum(one.accepted for one in several),
        max(one.slowest for one in several),
        {case: what for one in several for case, what in one.failed.items()},
    )


def failed(outcomes: list[Outcome]) -> dict[str, dict[str, str]]:
    """Return by kind what came out beside sentences; print what became of each."""
    print(f"\n{'kind':22}{'cases':>8}{'refused':>9}{'accepted':>10}{'failed':>8}{'slowest':>10}")
    for one in outcomes:
        numbers = f"{one.cases:8,}{one.refused:9,}{one.accepted:10,}{len(one.failed):8,}"
        print(f"{one.kind:22}{numbers}{one.slowest:8.2f} s")
    cases = sum(one.cases for one in outcomes)
    print(f"{'all':22}{cases:8,}")
    return {one.kind: one.failed for one in outcomes if one.failed}


def test_every_reader_of_a_persons_file_is_tried():
    reading = {
        module_of(source)
        for source in SOURCES
        for node in ast.walk(read_tree(ROOT / source))
        if isinstance(node, ast.Call)
        and "core.files.userfile.UserFile" in full_names(node.func, ROOT / source)
    }
    assert reading == set(READERS)
    assert {kind for kinds in READERS.values() for kind in kinds} <= {*KINDS, *ODD}


def test_a_few_damaged_files_of_every_kind_are_read_or_refused_in_a_sentence():
    outcomes = run_shard("few", FEW)
    assert [one.kind for one in outcomes] == list(KINDS)
    assert failed(outcomes) == {}


@pytest.mark.slow
def test_a_hundred_thousand_damaged_files_are_read_or_refused_in_a_sentence():
    each = -(-MANY // (SHARDS * len(KINDS)))
    with ThreadPoolExecutor(SHARDS) as pool:
        shards = list(pool.map(run_shard, [f"many-{at}" for at in range(SHARDS)], [each] * SHARDS))
    outcomes = [summed(list(several)) for several in zip(*shards, strict=True)]
    assert [one.kind for one in outcomes] == list(KINDS)
    assert failed(outcomes) == {}
