"""Images come prepared, each batch in order, in threads or processes; errors are sentences, and no
process outlives the one that asked.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from datasets import Dataset as Table
from datasets import Features, Value
from datasets import Image as ImageColumn
from PIL import Image
from store_fakes import contents

from core.cave.world import CaveDataset
from core.embedding import images as module
from core.embedding.images import Images, count_workers, load_images
from core.embedding.runner import embed, encode_fitting
from core.embedding.shards import parts_folder
from core.encoders.catalog import open_encoder, spec_of_folder
from core.encoders.vision import VisionEncoder
from core.errors import DeviceError, StimuliError
from core.machine.processes import count_cores
from core.settings import CAVE_WEIGHTS
from core.stimuli.dataset import Dataset
from core.stimuli.folder import open_folder
from core.stimuli.hub import open_hub
from core.store import Store
from core.store.schema import embedding_file

CPU = torch.device("cpu")
SIZE = 40  # images: three parts, the last one short
BATCHES = [list(range(16)), list(range(16, 39)), [39, 3]]


@pytest.fixture(scope="module")
def encoder() -> VisionEncoder:
    opened = open_encoder(spec_of_folder(CAVE_WEIGHTS / "vit-mae-xs"), device=CPU)
    assert isinstance(opened, VisionEncoder)
    return opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of photographs of noise, wide and high, as JPEG."""
    made, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for index in range(SIZE):
        shape = (60 + index, 90 - index, 3)
        Image.fromarray(rng.integers(0, 256, shape, np.uint8)).save(made / f"{index:02}.jpg")
    return made


def open_kind(kind: str, folder: Path) -> Dataset:
    if kind == "folder":
        return open_folder(folder, name="photos", images_only=True)
    if kind == "cave":
        return CaveDataset(SIZE)
    place = folder.with_name("hub")
    if not place.exists():
        shutil.copytree(folder, place)
        files = [{"image": str(path), "text": path.stem} for path in sorted(place.glob("*.jpg"))]
        columns = Features({"image": ImageColumn(), "text": Value("string")})
        Table.from_list(files, columns).to_parquet(place / "train.parquet")
    return open_hub(str(place), name="photos")


@pytest.fixture(params=["0", pytest.param("2", marks=pytest.mark.slow)])
def _workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATOSCOPE_WORKERS", request.param)


@pytest.mark.usefixtures("_workers")
@pytest.mark.parametrize("kind", ["folder", "cave", "hub"])
def test_every_batch_holds_its_pictures_in_order(
    encoder: VisionEncoder, folder: Path, kind: str
) -> None:
    dataset = open_kind(kind, folder)
    alone = [encoder.prepare(dataset.image(index)) for index in range(SIZE)]
    ready = list(load_images(Images(dataset.image, encoder.prepare), BATCHES, device="cpu"))
    assert [len(batch) for batch in ready] == [len(batch) for batch in BATCHES]
    for batch, indices in zip(ready, BATCHES, strict=True):
        for each, index in zip(batch, indices, strict=True):
            assert torch.equal(each, alone[index])


def test_a_file_is_the_same_whoever_prepares(
    encoder: VisionEncoder, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, files = open_kind("folder", folder), []
    for number in ("0", "2"):
        monkeypatch.setenv("PLATOSCOPE_WORKERS", number)
        files.append(embed(tmp_path, dataset, encoder, batch_size=24, name=f"by-{number}"))
    assert contents(files[0]) == contents(files[1])
    batches = [list(map(dataset.image, part)) for part in (range(24), range(24, SIZE))]
    last = np.concatenate([encoder.encode(batch).layers[-1] for batch in batches])
    layer = len(encoder.card.layers) - 1
    np.testing.assert_array_equal(Store(tmp_path).space("photos", "by-2", layer), last)


def test_prepared_pictures_encode_as_images_do_and_are_halved(encoder: VisionEncoder) -> None:
    images = [CaveDataset(8).image(index) for index in range(8)]
    ready = [encoder.prepare(image) for image in images]
    plain, pieces = (
        encoder.encode(images),
        [encoder.encode(images[i : i + 2]) for i in (0, 2, 4, 6)],
    )
    assert all(map(np.array_equal, encoder.encode(ready).layers, plain.layers))
    halved, limit = encode_fitting(encoder, ready, limit=2)
    assert limit == 2
    for layer, *parts in zip(halved.layers, *(piece.layers for piece in pieces), strict=True):
        np.testing.assert_array_equal(layer, np.concatenate(parts))


@pytest.mark.usefixtures("_workers")
def test_a_run_that_is_interrupted_goes_on_to_the_same_file(
    encoder: VisionEncoder, folder: Path, tmp_path: Path
) -> None:
    def interrupt(done: int, _: int, what: str) -> None:
        if (done, what) == (16, f"{encoder.card.name} over photos"):
            raise KeyboardInterrupt

    dataset = open_kind("folder", folder)
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path, dataset, encoder, batch_size=8, name="stopped", report=interrupt)
    parts = parts_folder(embedding_file(tmp_path, "photos", "stopped"))
    assert len(list(parts.glob("*/*.npz"))) == 2
    files = [
        embed(tmp_path, dataset, encoder, batch_size=8, name=name) for name in ("stopped", "whole")
    ]
    assert contents(files[0]) == contents(files[1])


@pytest.mark.usefixtures("_workers")
def test_a_broken_picture_is_said_when_its_turn_has_come(
    encoder: VisionEncoder, folder: Path, tmp_path: Path
) -> None:
    dataset = open_folder(shutil.copytree(folder, tmp_path / "p"), name="p", images_only=True)
    (tmp_path / "p" / "30.jpg").write_bytes(b"cut off")
    with closing(
        load_images(Images(dataset.image, encoder.prepare), BATCHES, device="cpu")
    ) as batches:
        assert len(next(batches)) == 16
        with pytest.raises(StimuliError, match=r"^image \S+30.jpg has changed since .* new name$"):
            next(batches)


def test_a_process_that_is_killed_is_said_in_a_sentence(
    encoder: VisionEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATOSCOPE_WORKERS", "1")
    dying = Images(Dying(os.getpid()), encoder.prepare)
    with pytest.raises(
        DeviceError, match="was ended, most likely because memory ran out; set PLATO"
    ):
        list(load_images(dying, BATCHES, device="cpu"))


@dataclass(frozen=True)
class Dying:
    """Gives a picture, and kills any other process that asks for the twentieth."""

    parent: int

    def __call__(self, index: int) -> Image.Image:
        if index == 20 and os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return Image.new("RGB", (48, 48))


STAYING = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a runner of tests may have ignored
from core.embedding.images import Images, load_images
from core.cave.world import CaveDataset
from torchvision.transforms.functional import pil_to_tensor
import psutil

images = Images(CaveDataset().image, pil_to_tensor)
for batch in load_images(images, [list(range(32))] * 200, device="cpu"):
    print(*(child.pid for child in psutil.Process().children(recursive=True)), flush=True)
    while True:
        time.sleep(0.1)  # not once for long: a signal just before it would not end it
"""


@pytest.mark.parametrize(
    "sign", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_no_process_outlives_the_one_that_asked(sign: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STAYING],
        env={**os.environ, "PLATOSCOPE_WORKERS": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches all of the group
    ) as asking:
        assert asking.stdout
        preparing = [psutil.Process(int(pid)) for pid in asking.stdout.readline().split()]
        assert len(preparing) > min(2, count_cores())  # they, and what they are forks of
        (os.killpg if sign == signal.SIGINT else os.kill)(asking.pid, sign)
        _, alive = psutil.wait_procs(preparing, timeout=180)
        assert alive == []
        _, errors = asking.communicate(timeout=180)
    assert asking.returncode == -sign
    assert errors.count("Traceback") == (sign == signal.SIGINT)  # its own


@pytest.mark.parametrize(
    ("setting", "device", "count", "expected"),
    [
        ("", "cpu", 1000, 0),
        ("", "cuda:0", 1000, 7),
        ("", "cuda", 17, 2),
        ("", "mps", 1000, 0),
        ("3", "cpu", 1000, 3),
        ("0", "cuda", 1000, 0),
        ("3", "cuda", 16, 1),
        ("30", "cuda", 1000, 8),
    ],
)
def test_processes_prepare_for_a_gpu_or_as_the_setting_says(
    monkeypatch: pytest.MonkeyPatch, setting: str, device: str, count: int, expected: int
) -> None:
    monkeypatch.setenv("PLATOSCOPE_WORKERS", setting)
    monkeypatch.setattr(module, "count_cores", lambda: 8)
    monkeypatch.setattr(module, "ROOM", 0)
    assert count_workers(device, count) == expected
