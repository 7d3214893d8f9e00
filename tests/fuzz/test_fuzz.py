"""Whatever is done to a file that a person gives, it is read, or refused in a sentence."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import torch
from PIL import Image
from safetensors.torch import save

from core.competence.scores import read_scores
from core.competence.texts import open_texts
from core.embedding.summaries import read_instruction
from core.encoders.checkpoint import read_weights
from core.encoders.measured import read_content
from core.encoders.requests import ImportRequest
from core.encoders.zoo import read_zoo
from core.errors import PlatoscopeError
from core.plans.reading import read_plan, shipped
from core.stimuli.folder import open_folder
from core.store.uploads import keep_dataset

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

X = np.random.default_rng(0).normal(size=(4, 3)).astype("f4")
STIMULI = tuple(f"s{at}" for at in range(4))
IN_PROCESSES = ("parquet", "h5", "mat")  # one for each case
WORDS = (
    *("", " ", ",", '"', "\n", "\r", "\0", "[", "]", "{", "}", ":", "=", "#", "\\"),
    *("-1", "1e999", "NaN", "007", "9" * 5_000, "null", "true", "\ufeff", "\u2028", "🦙"),
    *("../../etc/passwd", "/dev/zero", "a.png", "[" * 3_000, "2021-13-45", '"""'),
)
NUMBERS = (0, 127, 255, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1)


def made(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def h5(file: io.BytesIO) -> None:
    with h5py.File(file, "w") as held:
        held["layer"], held["ids"] = X, list(STIMULI)


def upload(file: io.BytesIO) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("folder/captions.csv", CAPTIONS)
        archive.writestr("folder/a.png", b"x")


CAPTIONS = b'image,caption,mood\na.png,"a red thing, seen",1\na.png,"b\xc3\xa4r",1\n'
LINES = b'{"image": "a.png", "caption": "red", "text": "red"}\n' * 2
MODELS = b"file,title,family,ImageNet (%)\nm0.npy,Model,ViT,71.5\nm1.npy,Other,ViT,7%\n"
SCORES = b"model,task,value,unit,chance,n\nm0,t,0.7,accuracy,0.5,9\nm1,t,0.8,accuracy,0.5,9\n"
TABLE = pd.DataFrame(X, columns=list("abc")).assign(image="a.png", caption="one", text="one")
APART = np.abs(X[:, :1] - X[:, 0])
WEIGHTS = made(lambda file: torch.save({"w": torch.ones(2)}, file))
TORCH = made(lambda file: torch.save({"feats": torch.tensor(X), "loss": 0.1}, file))


class Kind(NamedTuple):
    """file: its name. whole: bytes of a valid one. read: what a person has it read by."""

    file: str
    whole: bytes
    read: Callable[[Path], object]


def content(**way: object) -> Callable[[Path], object]:
    return lambda path: read_content(ImportRequest(str(path), "d", "n", "brain", **way), STIMULI)


def dataset(path: Path) -> object:
    return open_folder(path.parent, name="fuzz", table=Path(path.name), skip_broken=True)


def uploaded(path: Path) -> object:
    return keep_dataset(path.parent / "store", [(path.name, memoryview(path.read_bytes()))])


KINDS = {
    "npy": Kind("x.npy", made(lambda file: np.save(file, X)), content()),
    "npz": Kind("x.npz", made(lambda file: np.savez(file, a=X, ids=STIMULI)), content()),
    "repeats": Kind(
        "x.npz", made(lambda file: np.savez(file, x=[X, X])), content(repeats="trials")
    ),
    "dissimilarities": Kind(
        "x.npy",
        made(lambda file: np.save(file, APART)),
        content(dissimilarities=True),
    ),
    "safetensors": Kind("x.safetensors", save({"layer": torch.tensor(X)}), content()),
    "pt": Kind("x.pt", TORCH, content()),
    "h5": Kind("x.h5", made(h5), content()),
    "mat": Kind("x.mat", made(lambda file: scipy.io.savemat(file, {"x": X})), content()),
    "parquet": Kind("x.parquet", TABLE[["a", "b"]].to_parquet(), content()),
    "csv": Kind("x.csv", TABLE[["a", "b"]].to_csv().encode(), content()),
    "weights": Kind(
        "w.pt", made(lambda file: torch.save({"w": torch.ones(2)}, file)), read_weights
    ),
    "models": Kind("m.csv", MODELS, lambda path: read_zoo(ImportRequest(str(path), "d"))),
    "captions": Kind("t.csv", CAPTIONS, dataset),
    "captions in lines": Kind("t.jsonl", LINES, dataset),
    "parquet of captions": Kind("t.parquet", TABLE[["image", "caption"]].to_parquet(), dataset),
    "texts": Kind("t.jsonl", LINES, lambda path: list(open_texts(str(path)).read())),
    "scores": Kind("s.csv", SCORES, lambda path: read_scores(path.read_bytes(), name=path.name)),
    "plan": Kind("p.toml", next(iter(shipped().values())).read_bytes(), read_plan),
    "instruction": Kind("i.txt", b"Say it in {words} words.\n", read_instruction),
    "zip of a dataset": Kind("x.zip", made(upload), uploaded),
}


def damage(data: bytes, dice: Random) -> bytes:
    """Flip bits, write numbers and words over parts, cut or repeat parts, one to four times."""
    for _ in range(dice.randint(1, 4)):
        at = dice.choice((dice.randrange(len(data) + 1), min(dice.randrange(64), len(data))))
        behind = at + dice.choice((1, 4, 8, len(data)))
        data = dice.choice(
            (
                lambda d, a, _: d[:a] + bytes([(d[a] if a < len(d) else 0) ^ 16]) + d[a + 1 :],
                lambda d, a, _: d[:a] + dice.choice(NUMBERS).to_bytes(8, "little") + d[a + 8 :],
                lambda d, a, _: d[:a] + dice.choice(WORDS).encode() + d[a:],
                lambda d, a, b: d[:a] + d[b:],
                lambda d, a, b: d[:b] + d[a:],
            )
        )(data, at, behind)
    return data


@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_are_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    kind, refused = KINDS[name], list[str]()
    (tmp_path / "a.png").write_bytes(made(lambda file: Image.new("RGB", (9, 7)).save(file, "PNG")))
    (tmp_path / kind.file).write_bytes(kind.whole)
    kind.read(tmp_path / kind.file)
    count = 15 if any(one in name for one in IN_PROCESSES) else 150
    for case in range(count):
        data = damage(kind.whole, Random(f"{name} {case}"))
        (tmp_path / kind.file).write_bytes(data)
        try:
            kind.read(tmp_path / kind.file)
        except PlatoscopeError as error:
            refused.append(f"{error}")
    assert refused
    assert not any("\n" in said for said in refused)
