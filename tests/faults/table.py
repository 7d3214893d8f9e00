"""The table of what writes: a row per command, and per deed of a page that is no command."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

READING = {  # commands that write nothing of their own
    "app": "becomes the dashboard's server",
    "dataset list": "prints",
    "jobs list": "prints",
    "jobs show": "prints",
    "metrics list": "prints",
    "model list": "prints",
    "result list": "prints",
    "score": "needs no store",
    "study list": "prints",
    "study show": "prints",
    "theory attention": "needs no store",
    "theory contrastive": "needs no store",
    "theory deep-linear": "needs no store",
    "theory matrices": "needs no store",
}
LIKE_ALIGN = (  # questions that keep nothing but neighbors and their answer, as `align` does
    *("adapters " + name for name in ("course", "curve", "kernels")),
    *("adapters probes", "benefits bias", "benefits hallucination", "benefits transfer"),
    *("captions " + name for name in ("alignment", "facts", "levels", "scores")),
    *("color " + name for name in ("agreement", "layout", "pixels")),
    *("competence " + name for name in ("bins", "downstream", "list", "tasks", "training")),
    *("competence trends", "convergence anna-karenina", "convergence ceiling"),
    *("convergence " + name for name in ("fine-tuned", "hypotheses", "levels", "summary")),
    *("dispersion " + name for name in ("consensus", "deviations", "drop", "effect", "findings")),
    *("dispersion " + name for name in ("held-out", "parts", "predictors", "rankings")),
    *("dispersion stimuli", "dispersion words", "metrics agreement", "metrics calibrated"),
    *("metrics " + name for name in ("matrix", "neighborhoods", "sample-size", "sweep", "trends")),
    *("modalities", "models map", "models pairs", "models profiles", "models table"),
    *("neurons share", "neurons stimuli", "neurons trend", "overview", "prefix captions"),
    *("published", "reliability", "stimuli list", "stimuli map", "stimuli nearest"),
    *("stimuli neighbors", "stimuli residuals", "stimuli shared", "stitching kinds"),
    *("stitching map", "stitching trend", "translation pairs"),
)
DEEDS = {  # what pages do that writes, beside asking questions: the rows that prove it
    "core.competence.imported.import_scores": ("competence import",),
    "core.jobs.queue.cancel": ("jobs cancel",),
    "core.jobs.queue.retry": ("jobs retry",),
    "core.jobs.queue.submit": ("jobs add",),
    "core.jobs.starting.ensure_worker": ("jobs work",),
    "core.store.deletion.carry_out": ("dataset delete", "model delete"),
    "core.store.deletion.delete_results": ("result delete",),
    "core.store.renaming.rename_dataset": ("dataset rename",),
    "core.store.renaming.rename_model": ("model rename",),
    "core.store.uploads.dataset.keep_dataset": ("upload a dataset",),
    "core.store.uploads.place.find_upload": (),  # sets the time of a folder, if it can
    "core.store.uploads.place.keep_file": ("upload a file",),
}
Deed = Callable[[], int | None]


@dataclass(frozen=True)
class Row:
    """What is done to a copy of a store, again and again.

    words: of a command, with {world} for the folder of what a person has; empty for a deed. base:
    the store it begins with. prepare: makes the process ready for it. quiet: it may end well though
    it kept no result, since it printed or drew its answer, and whoever needs one makes it again;
    datasets, embeddings, reports and jobs must be there all the same. once: done a second time it
    says that it is done. longest: seconds after which it is ended. patient: it waits for a disk to
    be well again, and says so. in_steps: its answer is built on earlier ones, which nobody needs
    once it stands. goes_on: without what has failed, and keeps answers over the rest.
    """

    name: str
    words: str = ""
    base: str = "models"
    prepare: Callable[[], None] = lambda: None
    deed: Deed | None = None
    quiet: bool = False
    once: bool = False
    longest: int = 60
    patient: bool = False
    in_steps: bool = False
    goes_on: bool = False

    def run(self, world: Path) -> int:
        """Do it in this process, in the present folder and over the store that is set."""
        from core.cli import main

        self.prepare()
        if self.deed is None:
            return main(shlex.split(f"{self.name} {self.words}".format(world=world)))
        return _as_command(self.deed)


def _as_command(deed: Deed) -> int:
    from core.errors import PlatoscopeError

    try:
        return deed() or 0
    except PlatoscopeError as error:
        print(f"platoscope: {error}", file=sys.stderr)
        return 2


def _store() -> Path:
    return Path(os.environ["PLATOSCOPE_STORE"])


def _small_demo() -> None:
    """Let the demo have two models and few events, and ask one question first."""
    from functools import partial

    from core.demo import building, first_questions
    from core.encoders.catalog import spec_of_folder
    from core.questions.alignment.question import Alignment
    from core.questions.asking import ask
    from core.settings import CAVE_WEIGHTS
    from core.stimuli import cave

    names = ("gpt2-xs", "vit-multitask-xs")
    building.shipped_specs = lambda _: {name: spec_of_folder(CAVE_WEIGHTS / name) for name in names}
    building.LEVELS = building.LEVELS[:2]
    building.missing_values = lambda _: []
    cave.CaveDataset = partial(cave.CaveDataset, 24)
    first_questions.answer_first = lambda study, _: ask(Alignment(), study)


def _small_training() -> None:
    """Let a model be trained for six steps of four items, with a checkpoint after each."""
    from dataclasses import replace
    from functools import partial

    from core.training import loop, pool
    from core.training.family import CONFIGS

    small = {"steps": 6, "batch": 4, "snapshots": (3,)}
    CONFIGS["gpt2-xs"] = replace(CONFIGS["gpt2-xs"], **small)
    pool.Pool = partial(pool.Pool, images=24, events=32)
    loop.CHECKPOINT_SECONDS = 0


def _no_worker() -> None:
    from core.jobs import queue

    queue.ensure_worker = lambda _: None


def _quick_jobs() -> None:
    from core.jobs import process

    process.PROGRAM = (sys.executable, "-c", "print('done')")


def _upload_file() -> None:
    from core.store.uploads import keep_file

    print(keep_file(_store(), "scores.csv", b"model,task,value,unit\n").name)


def _upload_dataset() -> None:
    from core.store.uploads import keep_dataset

    data = (Path(os.environ["FAULTS_WORLD"]) / "upload.zip").read_bytes()
    print(keep_dataset(_store(), [("tones.zip", data)]).name)


def _write_carelessly() -> None:
    with (_store() / "titles.json").open("w") as file:
        file.write('{"datasets": {}, ')
        file.flush()
        os.fsync(file.fileno())
        file.write('"models": {}}')


_ADAPT = (
    "--dataset cave --x vit-clip-m:2 --y gpt-2-m:2 --ref reality:0 --width 8 --k 3 --seeds 1"
    " --bootstrap 40"
)
TABLE = (
    Row("dataset add", "photos --folder {world}/photos --title Noise", "empty"),
    Row("dataset rename", "photos Noise"),
    Row("dataset delete", "photos --yes", once=True),
    Row("model rename", "--dataset photos vit Smallest"),
    Row("model delete", "--dataset photos gpt2 --yes", once=True),
    Row("result delete", "--dataset photos neighbors-gpt2 --yes", once=True),
    Row(
        "embed",
        "--dataset photos --batch-size 6 --model hf:{world}/models/gpt2"
        " timm:vit_tiny_patch16_224@{world}/models/vit",
        "photos",
    ),
    Row("import", "{world}/features.npy --dataset photos --name mine --modality brain", "photos"),
    Row("competence import", "{world}/scores.csv --dataset photos"),
    Row("summarize", "--dataset photos --model hf:{world}/models/clerk --words 2 3", "photos"),
    Row("probe", "--dataset photos --task {world}/tones --model vit wide"),
    Row("bits-per-byte", "--dataset photos --text {world}/text.txt --tokens 100 --model gpt2"),
    Row("adapt", f"{_ADAPT} --save adapters.safetensors", "painted", quiet=True),
    Row("align", "--dataset cave --k 3 --null 19", "painted", quiet=True),
    Row("color models", "--dataset photos --starts 2 --permutations 9", quiet=True),
    Row("neurons pairs", "--dataset cave --null 19 --rotations 1", "cave", quiet=True),
    Row(
        "prefix bits",
        "--dataset cave --events 16 --passes 1 --seeds 1 --x gpt2-xs --y vit-clip-xs",
        "cave",
        quiet=True,
        in_steps=True,
    ),
    Row(
        "stitch",
        "--dataset cave --x vit-clip-xs --y vit-multitask-xs --events 64 --steps 2",
        "cave",
        quiet=True,
    ),
    Row(
        "swap", "--dataset cave --factors scene --folds 2 --permutations 19", "painted", quiet=True
    ),
    Row(
        "translate",
        "--dataset cave --method qap --sizes 8 --k 3 --starts 1 --draws 1",
        "cave",
        quiet=True,
    ),
    Row("demo", base="empty", prepare=_small_demo, quiet=True),
    Row(
        "study run",
        "{world}/small.toml --to report",
        "photos",
        quiet=True,
        longest=300,
        goes_on=True,
    ),
    Row("train", "gpt2-xs --jobs 1 --runs runs --weights weights", "empty", _small_training),
    Row("jobs add", "align --dataset photos", "photos", _no_worker),
    Row("jobs cancel", "1", "queued", _no_worker),
    Row("jobs retry", "1", "canceled", _no_worker),
    Row("jobs work", "--idle 0.3", "queued", _quick_jobs, quiet=True, longest=6, patient=True),
    Row("upload a file", deed=_upload_file),
    Row("upload a dataset", deed=_upload_dataset),
)
CARELESS = Row("write carelessly", deed=_write_carelessly)  # not as we do: to prove the proof
ROWS = {row.name: row for row in (*TABLE, CARELESS)}
