"""Every kind of file that a person can give: how a valid one is made and damaged, and what reads
it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from core.competence.images.shards import read_shards
from core.competence.imported import read_scores
from core.competence.language.texts import open_texts
from core.embedding.summaries import read_instruction
from core.encoders.checkpoint import read_weights
from core.encoders.language.sentences import read_sentences
from core.encoders.measured.content import read_content
from core.encoders.measured.judgments import read_ratings
from core.encoders.requests import ImportRequest
from core.encoders.zoo import read_zoo
from core.plans.reading import read_plan
from core.questions.adapters.maps.files import load
from core.questions.color.geometry.pictures import read_pictures
from core.stimuli.addition import Addition, open_addition
from core.stimuli.folder import FolderDataset
from core.stimuli.images import check_image, load_image, read_image
from core.stimuli.preview import preview_folder
from core.store.listing import read_titles
from core.store.uploads import keep_dataset
from tests.fuzz import valid
from tests.fuzz.mutations import Mutation, damage, reword, rezip, whole

STIMULI = tuple(f"s{at}" for at in range(valid.N))


@dataclass(frozen=True)
class Kind:
    """A kind of file. file: its name. make: bytes of a valid one. mutations: what damages it, one
    at a time. read: what a person has it read by.
    """

    file: str
    make: Callable[[Random], bytes]
    mutations: tuple[Mutation, ...]
    read: Callable[[Path, Random], object]


def content(path: Path, dice: Random) -> object:
    """Read features, repeats or dissimilarities."""
    ways = ({}, {}, {"repeats": "trials"}, {"repeats": "subjects"}, {"dissimilarities": True})
    way = dice.choice(ways)
    request = ImportRequest(file=str(path), dataset="d", name="n", modality="brain", **way)
    return read_content(request, STIMULI)


def models(path: Path, _: Random) -> object:
    return read_zoo(ImportRequest(file=str(path), dataset="d", name="", modality="vision"))


def dataset(path: Path, dice: Random) -> object:
    """Read a caption table, with images or without, or look at its first rows."""
    alone = dice.random() < 0.5
    table = Path(path.name)
    if dice.random() < 0.2:
        return preview_folder(path.parent, table=table, texts_only=alone)
    broken = dice.random() < 0.5
    return FolderDataset.open(
        path.parent, name="fuzz", table=table, texts_only=alone, skip_broken=broken
    )


def texts(path: Path, _: Random) -> object:
    return list(open_texts(str(path)).read())


def picture(path: Path, dice: Random) -> object:
    data = read_image(path)
    check_image(data, name=path.name)
    return load_image(data, name=path.name, side=dice.choice((None, 8)))


def shards(path: Path, _: Random) -> object:
    train = path.parent / "train"
    train.mkdir(exist_ok=True)
    (train / "nshards.txt").write_text("1")
    shutil.copy(path, train / "0.tar")
    return [sample.image.read() for sample in read_shards(path.parent).train]


def uploaded(path: Path, _: Random) -> object:
    try:
        return keep_dataset(path.parent / "store", [(path.name, memoryview(path.read_bytes()))])
    finally:
        shutil.rmtree(path.parent / "store", ignore_errors=True)


BYTES = (damage, damage, whole)
ZIP = (damage, rezip, rezip, whole)
WORDS = (reword, reword, reword, whole)
KINDS = {
    "npy": Kind("x.npy", valid.npy, BYTES, content),
    "npz": Kind("x.npz", valid.npz, ZIP, content),
    "safetensors": Kind("x.safetensors", valid.safetensors, BYTES, content),
    "pt": Kind("x.pt", valid.pt, ZIP, content),
    "h5": Kind("x.h5", valid.h5, BYTES, content),
    "mat": Kind("x.mat", valid.mat, BYTES, content),
    "txt of features": Kind("x.txt", valid.numbers, WORDS, content),
    "pt of weights": Kind("w.pt", valid.pt, ZIP, lambda path, _: read_weights(path)),
    "parquet of features": Kind("x.parquet", valid.parquet, BYTES, content),
    "parquet of captions": Kind("t.parquet", valid.parquet, BYTES, dataset),
    "parquet of texts": Kind("t.parquet", valid.parquet, BYTES, texts),
    "csv of captions": Kind("t.csv", valid.captions, WORDS, dataset),
    "jsonl of captions": Kind("t.jsonl", valid.lines, WORDS, dataset),
    "tsv of captions": Kind(
        "t.tsv", lambda dice: valid.captions(dice).replace(b",", b"\t"), WORDS, dataset
    ),
    "json of captions": Kind("t.json", valid.document, WORDS, dataset),
    "tar of captions": Kind("t.tar", valid.tar, BYTES, dataset),
    "npz of ids": Kind(
        "x.npz", valid.npz, ZIP, lambda path, _: open_addition(Addition("d", ids=str(path)))
    ),
    "jsonl of texts": Kind("t.jsonl", valid.lines, WORDS, texts),
    "csv of judgments": Kind(
        "x.csv", valid.judgments, WORDS, lambda path, _: read_ratings(path, STIMULI)
    ),
    "csv of scores": Kind(
        "s.csv", valid.scores, WORDS, lambda path, _: read_scores(path.read_bytes(), name=path.name)
    ),
    "csv of models": Kind("m.csv", valid.models, WORDS, models),
    "list of modules": Kind(
        "modules.json", valid.modules, WORDS, lambda path, _: read_sentences(path.parent)
    ),
    "plan": Kind("p.toml", valid.plan, WORDS, lambda path, _: read_plan(path)),
    "instruction": Kind("i.txt", valid.instruction, WORDS, lambda path, _: read_instruction(path)),
    "titles": Kind("titles.json", valid.titles, WORDS, lambda path, _: read_titles(path.parent)),
    "image": Kind("x.png", valid.image, BYTES, picture),
    "pictures": Kind("x.npz", valid.pictures, ZIP, lambda path, _: read_pictures(path, side=2)),
    "CIFAR batch": Kind(
        "data_batch_1.bin", valid.batches, BYTES, lambda path, _: read_pictures(path.parent)
    ),
    "tar of images": Kind("x.tar", valid.tar, BYTES, shards),
    "zip of a dataset": Kind("x.zip", valid.upload, ZIP, uploaded),
    "adapters": Kind(
        "a.safetensors", valid.adapters, BYTES, lambda path, _: load(path.read_bytes())
    ),
}


def make(name: str, seed: str) -> tuple[bytes, Random]:
    """Return one case: the bytes of a file, and the dice that go on to choose how it is read."""
    dice, kind = Random(seed), KINDS[name]
    return dice.choice(kind.mutations)(kind.make(dice), dice), dice
