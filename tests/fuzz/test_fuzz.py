"""Whatever is done to a file that a person gives, it is read, or refused in a sentence, within
memory and time that the kernel limits.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys

import pytest

from core.settings import ROOT
from tests.fuzz.kinds import KINDS
from tests.fuzz.shard import Outcome
from tests.sources import SOURCES, full_names, module_of, read_tree

pytestmark = pytest.mark.slow

CASES = {
    kind: 40 if kind.startswith(("parquet", "h5", "mat")) else 400 for kind in KINDS
}  # a process for each
# pyarrow's own pool reserves a gigabyte, and ends a process that may not have it
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
ODD = ("tests/encoders/test_odd_checkpoints.py",)  # changes cards and configs, field by field
READERS = {  # what reads a file that a person names, and the kinds that try it
    "core.cli.competence": ("csv of scores",),
    "core.competence.images.shards": ("tar of images",),
    "core.competence.language.texts": ("parquet of texts", "jsonl of texts", "tsv of captions"),
    "core.embedding.summaries": ("instruction",),
    "core.encoders.building": ODD,
    "core.encoders.checkpoint": ("pt of weights",),
    "core.encoders.fields": ODD,
    "core.encoders.imported": (
        *("npy", "npz", "safetensors", "pt", "h5", "mat"),
        *("txt of features", "parquet of features"),
    ),
    "core.encoders.language.sentences": ("list of modules", "pt of weights"),
    "core.encoders.measured.judgments": ("csv of judgments",),
    "core.encoders.zoo": ("csv of models",),
    "core.plans.reading": ("plan",),
    "core.questions.color.geometry.batches": ("CIFAR batch",),
    "core.questions.color.geometry.pictures": ("pictures",),
    "core.stimuli.addition": ("parquet of captions",),
    "core.stimuli.folder": ("npz of ids",),
    "core.stimuli.images": ("image", "tar of images"),
    "core.stimuli.table": tuple(f"{kind} of captions" for kind in ("csv", "tsv", "json", "jsonl")),
    "core.stimuli.tars": ("tar of captions", "tar of images"),
    "core.store.listing": ("titles",),
}


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


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused_in_a_sentence(kind):
    words = ["--seed", "many", "--cases", str(CASES[kind]), "--kind", kind]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.shard", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, f"ended with {done.returncode} at {done.stderr[-3_000:]}"
    outcome = Outcome(**json.loads(done.stdout))
    print(outcome)
    assert outcome.failed == {}
    assert outcome.refused + outcome.accepted == CASES[kind]
